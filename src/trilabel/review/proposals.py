"""What a run proposes for each label: probabilities from the memory-mapped scores, a column or a row at a time."""

import mmap
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.labels import Labels
from trilabel.labels.names import Names

Floats = NDArray[np.float32]
T = TypeVar("T")


class Proposals:
    """Images × classes: the probability that each label is present, what is known of it, and what is proposed."""

    def __init__(
        self,
        labels: Labels,
        logits: NDArray[Any],
        slope: float,
        shifts: NDArray[np.floating[Any]],
        present_from: NDArray[np.floating[Any]],
        absent_to: NDArray[np.floating[Any]],
        held_out: NDArray[np.bool_],
        run: str = "",
    ) -> None:
        """logits: N×C, memory-mapped, NaN for images that could not be read; slope · logit + shift is calibrated.

        present_from, absent_to: C probabilities from which, and up to which, a label is proposed as present and as
        absent (inf and −inf: never). held_out: N, whether the model did not learn from the image. run: its name.
        """
        self.labels, self.logits, self.slope, self.shifts = labels, logits, np.float32(slope), shifts.astype(np.float32)
        self.present_from, self.absent_to = present_from.astype(np.float32), absent_to.astype(np.float32)
        self.held_out, self.run = held_out, run
        self.ids: Names = labels.ids
        self.classes = [str(name) for name in labels.classes]
        self.positives, self.negatives = labels.counts_per_class()
        self._by_class = sp.csc_array(labels.csr)

    @property
    def shape(self) -> tuple[int, int]:
        """(images, classes)."""
        return self.labels.shape

    def column(self, column: int) -> tuple[Floats, NDArray[np.int8]]:
        """(N probabilities, N known labels) of a class."""
        logits = np.array(self.logits[:, column], np.float32)
        self.let_go()
        known = np.zeros(len(logits), np.int8)
        for sign in (1, -1):
            known[self.known_rows(column, sign)] = sign
        return sigmoid(logits * self.slope + self.shifts[column]), known

    def row(self, row: int) -> tuple[Floats, NDArray[np.int8]]:
        """(C probabilities, C known labels) of an image."""
        probabilities, known = self.rows(row, row + 1)
        return probabilities[0], known[0]

    def rows(self, start: int, end: int) -> tuple[Floats, NDArray[np.int8]]:
        """(B×C probabilities, B×C known labels) of these images."""
        logits = np.array(self.logits[start:end], np.float32)
        logits *= self.slope
        logits += self.shifts
        return sigmoid(logits), self.labels.csr[start:end].toarray()

    def probability(self, row: int, column: int) -> float | None:
        """That a label is present; None where the image could not be read."""
        logit = np.float32(self.logits[row, column]) * self.slope + self.shifts[column]
        return None if np.isnan(logit) else float(sigmoid(np.array([logit], np.float32))[0])

    def proposed(self, row: int, column: int) -> int:
        """+1, −1, or 0 where nothing is proposed."""
        value = self.probability(row, column)
        if value is None:
            return 0
        return int(value >= self.present_from[column]) or -int(value <= self.absent_to[column])

    def known(self, row: int, column: int) -> int:
        """What the data says of a label."""
        start, end = self.labels.csr.indptr[row : row + 2]
        place = start + np.flatnonzero(self.labels.csr.indices[start:end] == column)
        return int(self.labels.csr.data[place[0]]) if len(place) else 0

    def known_rows(self, column: int, sign: int) -> NDArray[np.integer[Any]]:
        """Images that are known to have a class (+1), or not to have it (−1)."""
        part = slice(self._by_class.indptr[column], self._by_class.indptr[column + 1])
        rows: NDArray[np.integer[Any]] = self._by_class.indices[part][self._by_class.data[part] == sign]
        return rows

    def let_go(self) -> None:
        """Gives back the memory of pages that were read: the system keeps them as long as it has room."""
        mapped = getattr(self.logits, "_mmap", None)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


def sigmoid(logits: Floats) -> Floats:
    """Probabilities; computed in place of the logits."""
    np.negative(np.clip(logits, -80, 80, out=logits), out=logits)
    np.exp(logits, out=logits)
    logits += 1
    np.reciprocal(logits, out=logits)
    return logits


class Recent(Generic[T]):
    """The values that were asked for last, made when they are asked for the first time; for several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of this key."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()  # outside the lock: others need not wait for it
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value
