"""Labels drawn at random from all that are proposed alike: the same sequence for everybody and after every start.

A sequence is drawn beforehand, not from what is left: that would leave out what people chose to answer, and say nothing
about all. What comes up and was answered already counts as it was answered.
"""

import hashlib
import threading
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trilabel.review.proposals import Proposals, Recent
from trilabel.review.survey import Survey

_DRAWN_AT_ONCE = 1 << 20  # a larger population is drawn from bit by bit
_CLASSES_KEPT = 64


class Draws:
    """Sequences of labels that are proposed as present (+1) or absent (−1), of all classes or of one."""

    def __init__(self, proposals: Proposals, survey: Survey) -> None:
        self._proposals, self._survey = proposals, survey
        self._ends = {sign: np.cumsum(survey.proposed_of_image[sign]) for sign in (1, -1)}
        self._ranks = {sign: _Ranks(survey.total(sign), self._seed(sign)) for sign in (1, -1)}
        self._of_class: Recent[NDArray[np.int64]] = Recent(_CLASSES_KEPT)

    def sequence(self, sign: int, column: int | None = None, start: int = 0) -> Iterator[tuple[int, int]]:
        """(row, column) of labels in the order in which they are drawn, without the first `start`."""
        if column is None:
            return (self._locate(sign, rank) for rank in self._ranks[sign].after(start))
        rows = self._of_class.get((sign, column), lambda: self._shuffled(sign, column))
        return ((row, column) for row in map(int, rows[start:]))

    def _locate(self, sign: int, rank: int) -> tuple[int, int]:
        """The label of this number among those that are proposed so, counted image by image."""
        ends = self._ends[sign]
        row = int(np.searchsorted(ends, rank, "right"))
        columns = np.flatnonzero(self._chosen(sign, *self._proposals.row(row)))
        return row, int(columns[rank - (ends[row - 1] if row else 0)])

    def _shuffled(self, sign: int, column: int) -> NDArray[np.int64]:
        rows = np.flatnonzero(self._chosen(sign, *self._proposals.column(column), column))
        shuffled: NDArray[np.int64] = np.random.default_rng(self._seed(sign, column)).permutation(rows)
        return shuffled

    def _chosen(
        self, sign: int, values: NDArray[np.float32], known: NDArray[np.int8], column: int | slice = slice(None)
    ) -> NDArray[np.bool_]:
        given = self._proposals
        proposed = values >= given.present_from[column] if sign > 0 else values <= given.absent_to[column]
        chosen: NDArray[np.bool_] = (known == 0) & proposed
        return chosen

    def _seed(self, *of: int) -> int:
        """Of the population: whoever asks later about the same goes on with the same sequence."""
        text = f"{self._survey.population} {of}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


class _Ranks:
    """The numbers below a total in a random order, drawn when they are needed; for several threads."""

    def __init__(self, total: int, seed: int) -> None:
        self._total, self._generator = total, np.random.default_rng(seed)
        self._drawn = self._generator.permutation(total).tolist() if total <= _DRAWN_AT_ONCE else list[int]()
        self._seen, self._lock = set(self._drawn), threading.Lock()

    def after(self, place: int) -> Iterator[int]:
        """From this place of the order on."""
        while place < self._total:
            with self._lock:
                while len(self._drawn) <= place:
                    rank = int(self._generator.integers(self._total))
                    if rank not in self._seen:
                        self._seen.add(rank)
                        self._drawn.append(rank)
                rank = self._drawn[place]
            yield rank
            place += 1
