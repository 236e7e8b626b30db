"""What more labels would bring, seen with fewer: heads fitted to parts of what is known, tested on other images."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.log import progress
from trilabel.planning.curves import Interval, PowerLaw, expected_gains, mean_interval
from trilabel.planning.fewer_labels import labels_per_image, spread, whole_images
from trilabel.planning.refits import prepare_refits

SHARES = (0.125, 0.25, 0.5, 1.0)  # of the known labels of the images that are learned from
_SPLITS = 6
_TEST_SHARE = 0.25
_FEWEST = 40  # images with known labels, below which nothing can be seen
_SEVERAL = 2.0  # known labels of an image, from which on whole images differ from labels spread


@dataclass(frozen=True)
class Expectations:
    """What to expect of more labels."""

    labels: list[float]  # how many labels heads were fitted to, mean over splits of the images
    scores: list[float]  # mAP of other images by them
    law: PowerLaw
    gains: list[Interval]  # in mAP, from the labels that are known now to each number of them later
    spread: Interval | None  # mAP of labels spread over images above as many of whole images; None: cannot be seen
    method: str  # that the heads were fitted with
    unknown_as_absent: bool  # in the test, since nothing is known to be absent


def expectations(features: Tensor, labels: Labels, config: Config, now: int, after: list[int]) -> Expectations:
    """features: N×D, of images of which something is known; labels: N×C; config: of the run.

    now, after: how many labels are known of all images, and how many may be later.
    """
    count, chosen = len(labels), range(_SPLITS)
    if count < _FEWEST:
        raise TrilabelError(
            f"{count} images have known labels, too few to see what more would bring; label {_FEWEST} or more"
        )
    orders = [np.random.default_rng(split).permutation(count) for split in chosen]
    tests = [np.sort(order[: round(_TEST_SHARE * count)]) for order in orders]
    learners = [labels[np.sort(order[round(_TEST_SHARE * count) :])] for order in orders]
    fewest = spread(learners[0], round(SHARES[0] * learners[0].known), 0)
    refits = prepare_refits(features, labels, config, fewest)
    several = labels_per_image(labels) >= _SEVERAL
    counts, scores = np.zeros((2, _SPLITS, len(SHARES)))
    whole = np.full((_SPLITS, len(SHARES) - 1), np.nan)
    with progress("fitting to fewer labels", _SPLITS * (len(SHARES) + several * (len(SHARES) - 1))) as advance:
        for split in chosen:
            for level, share in enumerate(SHARES):
                known = round(share * learners[split].known)
                fewer = spread(learners[split], known, split)
                counts[split, level], scores[split, level] = fewer.known, refits.score(fewer, tests[split])
                advance(1)
                if several and share < 1:
                    whole[split, level] = refits.score(whole_images(learners[split], known, split), tests[split])
                    advance(1)
    if not np.isfinite(scores).all():
        raise TrilabelError("no class has enough known labels to be tested; label more images before planning")
    law, gains = expected_gains(counts.mean(0), scores, now, after)
    better = mean_interval((scores[:, :-1] - whole).mean(1)) if several else None
    means = counts.mean(0).tolist(), scores.mean(0).tolist()
    one_sided = not labels.counts_per_class()[1].any()
    return Expectations(*means, law, gains, better, refits.config.method, one_sided)
