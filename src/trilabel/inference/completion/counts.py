"""How many labels of each class have which log-odds: all that thresholds need to know of the scores."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.labels.fitted_rates import BINS as RATE_BINS
from trilabel.labels.fitted_rates import COUNTS as RATE_COUNTS

Whole = NDArray[np.int64]

PER_UNIT = 20  # bins of the log-odds
LARGEST = 12  # log-odds beyond it are in the outermost bins
BINS = 2 * LARGEST * PER_UNIT
EVEN = LARGEST * PER_UNIT  # the bin in which log-odds of 0 lie, and the first of those that are more likely than not


@dataclass(frozen=True)
class Counts:
    """C×B each, from the lowest log-odds to the highest."""

    unknown: Whole
    positives: Whole
    negatives: Whole

    @classmethod
    def zeros(cls, classes: int) -> "Counts":
        """Of no labels."""
        return cls(*np.zeros((3, classes, BINS), np.int64))

    def add(self, odds: NDArray[np.float32], signs: NDArray[np.int8]) -> None:
        """Counts labels, both n×C."""
        classes = odds.shape[1]
        place = bins_of(odds)
        place += np.arange(classes, dtype=np.int32) * BINS
        place += (signs.astype(np.int32) % 3) * (classes * BINS)  # unknown, present, absent
        found = np.bincount(place.ravel(), minlength=3 * classes * BINS).reshape(3, classes, BINS)
        for counts, more in zip((self.unknown, self.positives, self.negatives), found, strict=True):
            counts += more

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.unknown + other.unknown, self.positives + other.positives, self.negatives + other.negatives)

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(self.unknown - other.unknown, self.positives - other.positives, self.negatives - other.negatives)

    def shifted(self, bins: Whole) -> "Counts":
        """With so many bins (C) added to the log-odds of each class."""
        source = np.arange(BINS) - bins[:, None]
        return Counts(*(_moved(counts, source) for counts in (self.unknown, self.positives, self.negatives)))

    def for_rates(self) -> Tensor:
        """4 × (C·32), what `labels.fitted_rates` needs."""
        p = 1 / (1 + np.exp(-centers()))
        coarse = np.minimum((p * RATE_BINS).astype(int), RATE_BINS - 1)
        all_labels = self.unknown + self.positives + self.negatives
        fine = np.stack((all_labels, all_labels * p, self.positives + self.negatives, self.positives))
        found = np.zeros((RATE_COUNTS, len(self.unknown), RATE_BINS))
        for place in range(RATE_BINS):
            found[:, :, place] = fine[:, :, coarse == place].sum(2)
        return torch.from_numpy(found.reshape(RATE_COUNTS, -1))


def total(parts: Iterable[Counts]) -> Counts:
    """All together; at least one."""
    first, *others = parts
    for part in others:
        first = first + part
    return first


def bins_of(odds: NDArray[np.float32]) -> NDArray[np.int32]:
    """The bins of log-odds."""
    scaled = odds * np.float32(PER_UNIT)
    scaled += np.float32(EVEN)
    np.clip(scaled, 0, BINS - 1, out=scaled)
    return scaled.astype(np.int32)


def centers() -> NDArray[np.float64]:
    """B: the log-odds in the middle of each bin."""
    return (np.arange(BINS) + 0.5) / PER_UNIT - LARGEST


def _moved(counts: Whole, source: Whole) -> Whole:
    """Counts by the bins that they come from [C×B]; what would leave is in the outermost bins."""
    found = np.where((source >= 0) & (source < BINS), np.take_along_axis(counts, source.clip(0, BINS - 1), 1), 0)
    running = counts.cumsum(1)
    rows = np.arange(len(counts))
    # The first bin also has what was below its source, the last one what was above.
    first, last = source[:, 0].clip(-1, BINS - 1), source[:, -1].clip(0, BINS - 1)
    found[:, 0] = np.where(first < 0, 0, running[rows, first])
    above = running[:, -1] - np.where(last > 0, running[rows, last - 1], 0)
    found[:, -1] = np.where(source[:, -1] >= BINS, 0, above)
    return found
