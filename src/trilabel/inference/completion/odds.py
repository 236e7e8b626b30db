"""The log-odds that an unknown label is present, from the scores of a model."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.inference.completion.known import KnownLabels
from trilabel.labels import Labels
from trilabel.methods.posterior.calibration import class_biases
from trilabel.methods.posterior.silence import Silence
from trilabel.metrics.calibration import fit_calibration_to
from trilabel.training.out_of_fold import fold_of_each

FOLDS = 5
_MOST_LABELS = 20_000_000  # of images that biases are fitted on


class LogOdds(Protocol):
    """n×C log-odds of being present, given that nobody named it, for these images (rows of the table)."""

    def __call__(
        self, rows: NDArray[np.int64], logits: NDArray[np.float32], signs: NDArray[np.int8]
    ) -> NDArray[np.float32]: ...


@dataclass(frozen=True)
class CalibratedOdds:
    """Calibrated on known labels, those of each part of the images on the labels of the others.

    So no label has a say in its own probability, and thresholds can be tested on the very labels. Known labels are
    like this as well: what is added for being unknown is the same for all labels of a class.
    """

    slopes: NDArray[np.float32]  # F
    shifts: NDArray[np.float32]  # F×C
    fold: NDArray[np.uint8]  # N: the part that each image belongs to
    unknown: NDArray[np.float32]  # C: what being unknown adds

    def __call__(
        self, rows: NDArray[np.int64], logits: NDArray[np.float32], signs: NDArray[np.int8]
    ) -> NDArray[np.float32]:
        fold = self.fold[rows]
        found: NDArray[np.float32] = logits * self.slopes[fold, None]
        found += (self.shifts + self.unknown)[fold]
        return found

    def of_known(self, known: KnownLabels) -> NDArray[np.float64]:
        """n: the log-odds of known labels, before anything is added for being unknown."""
        fold = self.fold[known.rows]
        found: NDArray[np.float64] = known.logits * self.slopes[fold] + self.shifts[fold, known.columns]
        return found

    def line(self) -> tuple[float, list[float]]:
        """(slope, C shifts) of the log-odds of unknown labels, in the mean of the parts."""
        return float(self.slopes.mean()), (self.shifts.mean(0) + self.unknown).tolist()

    def with_unknown(self, added: NDArray[np.float32]) -> "CalibratedOdds":
        """With what being unknown adds, C."""
        return replace(self, unknown=added)


def fit_odds(known: KnownLabels, images: int, classes: int) -> CalibratedOdds:
    """From known labels, of which some are present and some absent."""
    fold = fold_of_each(images, FOLDS).astype(np.uint8)
    slopes, shifts = np.ones(FOLDS, np.float32), np.zeros((FOLDS, classes), np.float32)
    for number in range(FOLDS):
        others = fold[known.rows] != number
        if not 0 < known.present[others].sum() < others.sum():  # a handful of labels
            others[:] = True
        found = fit_calibration_to(known.columns[others], known.logits[others], known.present[others], classes)
        slopes[number], shifts[number] = found.slope, found.shifts
    return CalibratedOdds(slopes, shifts, fold, np.zeros(classes, np.float32))


@dataclass(frozen=True)
class AssumedOdds:
    """By how often labels are said to be known, where none is known to be absent."""

    silence: Silence
    biases: Tensor  # C: what makes expected positives agree with the named ones

    @torch.no_grad()
    def __call__(
        self, rows: NDArray[np.int64], logits: NDArray[np.float32], signs: NDArray[np.int8]
    ) -> NDArray[np.float32]:
        level = torch.tensor(logits) + self.biases  # the file of scores is mapped for reading only
        found: NDArray[np.float32] = (level + self.silence.log_factor(level, torch.tensor(signs))).numpy()
        return found


def assumed_odds(logits: NDArray[np.float32], labels: Labels, silence: Silence) -> AssumedOdds:
    """From the scores and labels of images (N×C); of very many a part is enough."""
    some = np.arange(0, len(labels), max(1, -(-labels.csr.shape[0] * labels.shape[1] // _MOST_LABELS)))
    scores = torch.from_numpy(np.asarray(logits[some], np.float32))
    return AssumedOdds(silence, class_biases(scores, labels[some], silence))
