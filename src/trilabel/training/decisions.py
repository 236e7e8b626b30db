"""From logits to probabilities and decisions: fitted once on the validation images of a run, kept in its folder."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel import metrics
from trilabel.errors import TrilabelError, one_line
from trilabel.files import write_text
from trilabel.input_files import read_input
from trilabel.labels import Labels
from trilabel.labels.expected_positives import ExpectedPositives
from trilabel.labels.known_weights import known_weights
from trilabel.labels.rates import Rates
from trilabel.settings import filled


@dataclass(frozen=True)
class Decisions:
    """How logits become probabilities, slope · logit + shift, and from which one a class counts as present."""

    slope: float
    shifts: list[float]  # of each class
    thresholds: list[float]  # of each class, probabilities
    basis: str  # what they rest on, a sentence for people

    def logits(self, logits: Tensor) -> Tensor:
        """N×C calibrated logits."""
        return metrics.Calibration(self.slope, np.array(self.shifts))(logits)

    def save(self, path: Path) -> None:
        """Writes a JSON file."""
        write_text(path, json.dumps(asdict(self), indent=1))

    @classmethod
    def load(cls, path: Path, classes: int) -> "Decisions":
        """What `save` wrote, for a model of so many classes; anything else is refused."""
        try:
            return cls.from_json(json.loads(read_input(path)), classes)
        except (OSError, ValueError, RecursionError) as error:
            raise TrilabelError(f"{path}: damaged ({one_line(error)}); restore or remove it") from error

    @classmethod
    def from_json(cls, values: Any, classes: int) -> "Decisions":
        """From a dictionary of the fields; one that is not for a model of so many classes is refused."""
        found: Decisions = filled(cls, values, "decisions")
        numbers = (found.slope, *found.shifts, *found.thresholds)
        if not (found.slope > 0 and all(map(math.isfinite, numbers))):
            raise TrilabelError("a number is missing or infinite")
        if {len(found.shifts), len(found.thresholds)} != {classes}:
            raise TrilabelError(f"it is not for {classes} classes")
        return found


def fit_decisions(
    logits: Tensor,
    labels: Labels,
    expected: ExpectedPositives,
    images: str = "validation images",
    rates: Rates | None = None,
) -> Decisions | None:
    """By the known labels of scored images (N×C); None where no label is known to be present.

    expected: positives per image, for labels of which none is known to be absent. images: what they are, for people.
    rates: how often labels are known, where that is known; each then counts as the inverse of that.
    """
    positives, negatives = labels.counts_per_class()
    if not positives.any():
        return None
    logits = logits.double().clamp(-50, 50)
    if negatives.any():
        weights = None if rates is None else known_weights(labels, rates)
        calibration = metrics.fit_calibration(logits, labels, weights)
        calibrated = calibration(logits)
        limits = np.maximum(metrics.fit_thresholds(calibrated, labels, weights=weights), _least(labels, weights))
        basis = f"fitted on {labels.known:,} known labels of {len(labels):,} {images}"
        if weights is not None:
            basis += ", which weigh the more, the more rarely such labels are known"
        return _decisions(calibration.slope, calibration.shifts, limits, basis)
    wanted = min(expected.value, labels.shape[1]) * len(labels)
    shift = _shift(logits, wanted)
    highest_first = (logits + shift).flatten().sort(descending=True).values
    place = min(max(1, round(wanted)), len(highest_first) - 1)
    limit = float(highest_first[place - 1 : place + 1].mean())
    basis = (
        "no label to fit them on is known to be absent, so that as many classes count as present as images are "
        f"expected to have ({expected.describe()}); some fully labelled images would settle it"
    )
    return _decisions(1.0, [shift] * labels.shape[1], np.full(labels.shape[1], limit), basis)


def _least(labels: Labels, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """C: the lowest thresholds (logits) that can be right of calibrated probabilities.

    The best threshold is half of the best F1, and calling everything present has 2π ÷ (1 + π) already, π the share that
    is present. Below π ÷ (1 + π), whose logit is log π, a class of few known labels would be called present everywhere.
    """
    columns, present = labels.csr.indices, labels.csr.data > 0
    each = np.ones(labels.known) if weights is None else weights
    there, known = (np.bincount(columns[of], each[of], labels.shape[1]) for of in (present, slice(None)))
    with np.errstate(divide="ignore"):
        return np.log(np.divide(there, known, out=np.zeros(labels.shape[1]), where=known > 0))


def _decisions(slope: float, shifts: Iterable[float], limits: Any, basis: str) -> Decisions:
    thresholds = torch.as_tensor(np.asarray(limits)).sigmoid().tolist()
    return Decisions(slope, [float(shift) for shift in shifts], thresholds, basis)


def _shift(logits: Tensor, wanted: float) -> float:
    """What to add to logits so that their probabilities add up to a number of positives."""
    low, high = -100.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float((logits + middle).sigmoid().sum()) < wanted else (low, middle)
    return (low + high) / 2
