"""One pass over all proposals before the first page: how many there are of each kind, and which images are in doubt."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilabel.log import progress
from trilabel.review import orders
from trilabel.review.proposals import Proposals

LEAST = 0.05  # questions with a lower probability are not counted as worth asking
MOST_MISTAKES = 10_000
_LABELS_AT_ONCE = 1 << 21
IMAGE_ORDERS: tuple[orders.Order, ...] = ("uncertain", "valuable", "positives")


@dataclass(frozen=True)
class Survey:
    """What a pass over all proposals found; known labels count as mistakes only."""

    worth_asking: NDArray[np.int64]  # C: unknown labels with a probability of LEAST or more
    proposed: dict[int, NDArray[np.int64]]  # +1 and −1: C, unknown labels that are proposed so
    proposed_of_image: dict[int, NDArray[np.int64]]  # the same by image, N
    image_worth: dict[orders.Order, NDArray[np.float32]]  # of an image's unknown labels together, N
    mistakes: NDArray[np.int64]  # known labels more likely wrong than right, the worst first: row · C + column
    population: str  # names what is proposed; other scores, labels or limits have another

    def total(self, sign: int) -> int:
        """How many labels are proposed so."""
        return int(self.proposed[sign].sum())


def survey(proposals: Proposals) -> Survey:
    """Looks at every label once; blocks of images at a time."""
    images, classes = proposals.shape
    worth_asking = np.zeros(classes, np.int64)
    proposed = {sign: np.zeros(classes, np.int64) for sign in (1, -1)}
    of_image = {sign: np.zeros(images, np.int64) for sign in (1, -1)}
    worth = {order: np.zeros(images, np.float32) for order in IMAGE_ORDERS}
    mistakes, chances = np.zeros(0, np.int64), np.zeros(0, np.float32)
    step = max(1, _LABELS_AT_ONCE // max(1, classes))
    scarcity = orders.value_for_class(np.array(0.5, np.float32), proposals.positives) * 2
    with progress("looking at proposals, images", images) as advance:
        for start in range(0, images, step):
            rows = slice(start, min(start + step, images))
            values, known = proposals.rows(rows.start, rows.stop)
            if proposals.held_out[rows].any() and known.any():
                chance = orders.worth("mistakes", values, np.where(proposals.held_out[rows, None], known, 0))
                found = orders.best_first(chance, MOST_MISTAKES)
                mistakes = np.concatenate((mistakes, found + rows.start * classes))
                chances = np.concatenate((chances, chance.ravel()[found].astype(np.float32)))
                best = np.argsort(-chances, kind="stable")[:MOST_MISTAKES]
                best = best[chances[best] > 0.5]
                mistakes, chances = mistakes[best], chances[best]
            values[known != 0] = np.nan  # nothing is asked about these
            worth_asking += np.count_nonzero(values >= LEAST, 0)
            for sign, chosen in ((1, values >= proposals.present_from), (-1, values <= proposals.absent_to)):
                proposed[sign] += np.count_nonzero(chosen, 0)
                of_image[sign][rows] = np.count_nonzero(chosen, 1)
            values = np.nan_to_num(values, copy=False, nan=0.0)
            doubt = orders.uncertainty(values)
            worth["uncertain"][rows], worth["positives"][rows] = doubt.sum(1), values.sum(1)
            # value_for_class, summed over the classes of an image
            worth["valuable"][rows] = (doubt * values) @ scarcity
            proposals.let_go()
            advance(rows.stop - rows.start)
    parts: tuple[Any, ...] = (*proposed.values(), *of_image.values(), proposals.present_from, proposals.absent_to)
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts))
    digest.update(proposals.ids.buffer.tobytes() + repr(proposals.classes).encode())
    return Survey(worth_asking, proposed, of_image, worth, mistakes, digest.hexdigest()[:16])
