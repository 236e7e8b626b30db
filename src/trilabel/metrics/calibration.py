"""Probabilities that mean what they say: a correction of logits fitted on known labels, and how far off they are."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.metrics.known_scores import KnownScores
from trilabel.metrics.matrices import LabelMatrix, Matrix, check_inputs, check_weights, known_labels

Floats = NDArray[np.float64]

_LARGEST_LOGIT = 50.0
_FEW_LABELS = 1.0  # a class's own shift of one logit costs as much as half a bit of likelihood
_BINS = 15
_AT_ONCE = 1 << 20  # labels


class Calibration(NamedTuple):
    """logit → slope · logit + shift of the class. The order of images within a class stays as it is."""

    slope: float
    shifts: Floats  # C

    def __call__(self, logits: Tensor) -> Tensor:
        """N×C calibrated logits."""
        return logits * self.slope + torch.from_numpy(self.shifts).to(logits)


def fit_calibration(logits: Matrix, labels: LabelMatrix, weights: Floats | None = None) -> Calibration:
    """The slope and the shifts that explain the known labels best; logits and labels are N×C.

    Classes share the slope; their shifts differ as far as their labels say so, and a class without known labels has the
    common one. Needs known positives and negatives. weights: of the known labels, image by image [n]; without, all 1.

    >>> generator = np.random.default_rng(0)
    >>> logits = generator.normal(0, 3, (20000, 2))
    >>> truth = generator.random((20000, 2)) < 1 / (1 + np.exp(-(0.5 * logits + [0, -1])))
    >>> found = fit_calibration(logits, np.where(truth, 1, -1))
    >>> round(found.slope, 1), found.shifts.round(1) + 0
    (0.5, array([ 0., -1.]))
    """
    table, truth = check_inputs(logits, labels)
    _, columns, values, present = known_labels(table, truth, _LARGEST_LOGIT)
    return fit_calibration_to(columns, values, present, table.shape[1], weights)


def fit_calibration_to(
    columns: NDArray[np.int64],
    values: Floats,
    present: NDArray[np.bool_],
    classes: int,
    weights: Floats | None = None,
) -> Calibration:
    """The same for known labels as a list: of each its class, its logit and whether it is present [n]."""
    if not 0 < present.sum() < len(present):
        raise TrilabelError("calibration needs labels that are known to be present and to be absent")
    values = values.clip(-_LARGEST_LOGIT, _LARGEST_LOGIT)
    weights = check_weights(weights, len(values))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        """The penalized negative log-likelihood of (log slope, common shift, own shifts), and its gradient."""
        slope, common, own = np.exp(parameters[0]), parameters[1], parameters[2:]
        z = slope * values + common + own[columns]
        error = weights * (1 / (1 + np.exp(-z)) - present)
        cost = (weights * np.logaddexp(0, z)).sum() - (weights * z)[present].sum()
        gradient = np.concatenate(([slope * (error @ values), error.sum()], np.bincount(columns, error, classes)))
        gradient[2:] += _FEW_LABELS * own
        gradient[0] += _FEW_LABELS * parameters[0]
        return cost + 0.5 * _FEW_LABELS * (own @ own + parameters[0] ** 2), gradient

    with np.errstate(over="ignore"):
        bounds = [(-4, 4), *[(None, None)] * (1 + classes)]
        found = minimize(loss, np.zeros(2 + classes), jac=True, method="L-BFGS-B", bounds=bounds).x
    return Calibration(float(np.exp(found[0])), found[1] + found[2:])


def expected_calibration_error(probabilities: Matrix, labels: LabelMatrix) -> float:
    """Mean distance of a probability from the share that is present among known labels scored alike (15 bins).

    >>> expected_calibration_error(np.array([[0.8], [0.8], [0.8], [0.8]]), np.array([[1], [1], [1], [-1]])).__round__(2)
    0.05
    """
    known = known_labels(*check_inputs(probabilities, labels), _LARGEST_LOGIT)
    if len(known.scores) and not 0 <= known.scores.min() <= known.scores.max() <= 1:
        raise TrilabelError("the calibration error is of probabilities, from 0 to 1; give those, not logits")
    return binned_error(known.scores, known.present, _BINS)


def calibration_error_of_logits(known: KnownScores) -> float:
    """`expected_calibration_error` of the sigmoid of logits that were collected class by class."""
    off, total = np.zeros(_BINS), 0
    for segment in known.all_segments():
        for start in range(0, len(segment.scores), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            probabilities = torch.from_numpy(segment.scores[part]).sigmoid().double().numpy()
            off += _excess_by_bin(probabilities, segment.present[part], _BINS)
            total += len(probabilities)
    return float(np.abs(off).sum() / total) if total else float("nan")


def binned_error(probabilities: Floats, present: NDArray[np.bool_], bins: int) -> float:
    """Mean distance of probabilities [n] from the share that is present in their bin; nan where there are none."""
    if not len(probabilities):
        return float("nan")
    return float(np.abs(_excess_by_bin(probabilities, present, bins)).sum() / len(probabilities))


def _excess_by_bin(probabilities: Floats, present: NDArray[np.bool_], bins: int) -> Floats:
    """For each bin the sum of probability − 1 where present, and of the probability elsewhere."""
    place = np.minimum((probabilities * bins).astype(int), bins - 1)
    return np.asarray(np.bincount(place, probabilities - present, bins), np.float64)
