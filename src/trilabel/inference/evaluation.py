"""Every number about scores and labels that `Model.evaluate` gives."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from trilabel import metrics
from trilabel.labels import Labels


def evaluate(
    logits: Tensor,
    truth: Labels,
    limits: float | Sequence[float],
    annotations: NDArray[np.int64] | None,
    intervals: bool,
) -> dict[str, Any]:
    """`metrics.evaluate` of logits (N×C), with what each class rests on and how far probabilities are off.

    limits: the probability from which a class counts as present, one or one per class. annotations: known training
    labels of each class. intervals: also of each AP.
    """
    present, absent = truth.counts_per_class()
    result = metrics.evaluate(logits, truth, threshold=_logit(limits), annotations=annotations) | {
        "threshold": limits,
        "calibration_error": _or_none([metrics.expected_calibration_error(logits.sigmoid(), truth)])[0],
        "class_names": list(truth.classes),
        "per_class_positives": present.tolist(),
        "per_class_negatives": absent.tolist(),
    }
    if intervals:
        low, high = metrics.average_precision_intervals(logits, truth)
        result |= {"per_class_ap_low": _or_none(low), "per_class_ap_high": _or_none(high)}
    return result


def _or_none(values: Iterable[float]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _logit(probability: float | Sequence[float]) -> NDArray[np.float64]:
    """The logit at a probability; infinite at or beyond 0 and 1."""
    inside = np.clip(np.asarray(probability, dtype=np.float64), 0, 1)
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(inside) - np.log1p(-inside)
    return found
