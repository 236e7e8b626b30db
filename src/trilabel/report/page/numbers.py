"""How good scores are, class by class: average precision, decisions, calibration."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logit
from torch import Tensor

from trilabel import metrics
from trilabel.metrics.counts import count
from trilabel.metrics.matrices import check_inputs, known_labels
from trilabel.report.page.judged import Judged
from trilabel.training.decisions import Decisions
from trilabel.training.diagnosis import label_histogram

Floats = NDArray[np.float64]
_MOST_FOR_INTERVALS = 4_000_000  # known labels; drawing 200 times as many takes seconds
_BINS = 10  # of a reliability diagram


class Bin(NamedTuple):
    """Known labels with a probability in one bin: their mean probability, the share that is present, their number."""

    probability: float
    present: float
    labels: int


@dataclass(frozen=True)
class Numbers:
    """What scores are worth; arrays have one value per class, nan where there is none."""

    overall: dict[str, Any]  # `metrics.evaluate` at the thresholds
    ap: Floats
    ap_low: Floats
    ap_high: Floats
    precision: Floats  # at the thresholds
    recall: Floats
    thresholds: Floats
    positives: NDArray[np.int64]  # known, of the judged images
    negatives: NDArray[np.int64]
    before: list[Bin]  # calibration; of probabilities as the network gives them
    after: list[Bin]
    error_before: float | None
    error_after: float | None
    histograms: dict[str, list[int]]  # of calibrated probabilities: positives, negatives, unknown
    has_intervals: bool


def numbers_of(judged: Judged, decisions: Decisions | None) -> Numbers:
    """Everything about these scores; without decisions, a class is present from a probability of a half."""
    truth, labels = judged.truth(), judged.labels
    classes = labels.shape[1]
    calibrated = judged.logits if decisions is None else decisions.logits(judged.logits)
    thresholds = np.array([0.5] * classes if decisions is None else decisions.thresholds)
    overall = metrics.evaluate(calibrated, truth, threshold=logit(thresholds))
    hits, predicted, present, known = count(*check_inputs(calibrated, truth), logit(thresholds))[0].by_class
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where((present > 0) & (known > present) & (predicted > 0), hits / predicted, np.nan)
        recall = np.where(present > 0, hits / present, np.nan)
    bounded = labels.known <= _MOST_FOR_INTERVALS
    low, high = metrics.average_precision_intervals(calibrated, truth) if bounded else np.full((2, classes), np.nan)
    positives, negatives = labels.counts_per_class()
    both = bool(positives.any() and negatives.any())
    return Numbers(
        overall=overall,
        ap=np.array([np.nan if value is None else value for value in overall["per_class_ap"]]),
        ap_low=low,
        ap_high=high,
        precision=precision,
        recall=recall,
        thresholds=thresholds,
        positives=positives,
        negatives=negatives,
        before=reliability(judged, judged.logits) if both else [],
        after=reliability(judged, calibrated) if both else [],
        error_before=_error(judged, judged.logits) if both else None,
        error_after=_error(judged, calibrated) if both else None,
        histograms=label_histogram(calibrated.float(), labels),
        has_intervals=bounded,
    )


def reliability(judged: Judged, logits: Tensor) -> list[Bin]:
    """Known labels in ten bins of their probability, from low to high; empty bins are left out."""
    table, truth = check_inputs(logits.sigmoid(), judged.labels)
    known = known_labels(table, truth, 1.0)
    place = np.minimum((known.scores * _BINS).astype(int), _BINS - 1)
    counts = np.bincount(place, minlength=_BINS)
    probabilities, present = np.bincount(place, known.scores, _BINS), np.bincount(place, known.present, _BINS)
    return [
        Bin(float(probabilities[b] / counts[b]), float(present[b] / counts[b]), int(counts[b]))
        for b in np.flatnonzero(counts).tolist()
    ]


def _error(judged: Judged, logits: Tensor) -> float | None:
    found = metrics.expected_calibration_error(logits.sigmoid(), judged.labels)
    return None if np.isnan(found) else found


def image_losses(judged: Judged, decisions: Decisions | None) -> tuple[Floats, Tensor]:
    """(mean cross-entropy of the known labels of each image, nan where none is known; N×C calibrated probabilities)."""
    logits = judged.logits if decisions is None else decisions.logits(judged.logits)
    signs = judged.labels.rows(np.arange(len(judged.labels)))
    losses = torch.nn.functional.softplus(-signs * logits) * (signs != 0)
    known = (signs != 0).sum(1)
    means = torch.where(known > 0, losses.sum(1) / known.clamp(min=1), torch.nan)
    return means.double().numpy(), logits.sigmoid()
