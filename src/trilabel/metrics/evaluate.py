"""All metrics of a classifier in one pass."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trilabel.metrics.average_precision import Floats, both_average_precisions, map_by_group
from trilabel.metrics.counts import Counts, Threshold, count
from trilabel.metrics.matrices import LabelMatrix, Matrix, check_inputs
from trilabel.metrics.means import mean
from trilabel.metrics.threshold import exact_match_of, macro_f1_of, precision_recall_f1_of
from trilabel.metrics.top_k import precision_recall_at_k_of

_GROUPS = 5  # of Huynh 2020, Kim 2022 and Wang 2023
GROUP_METRICS = tuple(f"mAP_G{number}" for number in range(1, _GROUPS + 1))
CLASSES_WORTH_GROUPS = 50  # with fewer, the AP of each class says more than mAP by groups of classes


def evaluate(
    scores: Matrix,
    labels: LabelMatrix,
    threshold: Threshold = 0.5,
    class_names: Sequence[str] | None = None,
    annotations: ArrayLike | None = None,
) -> dict[str, Any]:
    """Every metric of scores and labels (N×C) as plain numbers that json can write, None where one is undefined.

    Keys: mAP, mAP_interpolated; CP CR CF1 OP OR OF1 at score >= threshold (one, or one per class) and, ending in _top3,
    of each image's 3 highest-scored classes; macro_F1, micro_F1, exact_match; precision_at_k and recall_at_k for k = 1,
    3, 5 up to the number of classes; images, classes, known_share, classes_without_ap, per_class_ap (and class_names,
    where given).
    With `annotations`, the known training labels of each class, also mAP_G1 … mAP_G5 (see `map_by_group`), undefined
    with fewer than five classes.

    >>> result = evaluate(np.array([[0.9, 0.1], [0.4, 0.2]]), np.array([[1, -1], [-1, 0]]))
    >>> result["mAP"], result["known_share"], result["classes_without_ap"]
    (1.0, 0.75, 1)
    """
    table, truth = check_inputs(scores, labels, class_names)
    counts = count(table, truth, threshold, tops_of(table.shape[1]))
    return summary(both_average_precisions(table, truth), counts, class_names, annotations)


def tops_of(classes: int) -> list[int]:
    """How many of an image's highest-scored classes are counted: 3 for what ends in _top3, then each k of at_k."""
    return [3, *(k for k in (1, 3, 5) if k <= classes)]


def summary(
    both: tuple[Floats, Floats],
    counts: Sequence[Counts],
    class_names: Sequence[str] | None = None,
    annotations: ArrayLike | None = None,
) -> dict[str, Any]:
    """The result of `evaluate`, from AP and interpolated AP [C], and counts at the threshold and of `tops_of`."""
    ap, interpolated = both
    at_threshold, top3, *at_tops = counts
    classes, images = len(ap), at_threshold.by_image.shape[1]
    numbers = {"mAP": mean(ap), "mAP_interpolated": mean(interpolated)}
    if annotations is not None:
        groups = map_by_group(ap, annotations, _GROUPS) if classes >= _GROUPS else np.full(_GROUPS, np.nan)
        numbers |= dict(zip(GROUP_METRICS, groups.tolist(), strict=True))
    numbers |= precision_recall_f1_of(at_threshold)
    numbers |= {f"{name}_top3": value for name, value in precision_recall_f1_of(top3).items()}
    numbers |= {
        "macro_F1": macro_f1_of(at_threshold),
        "micro_F1": numbers["OF1"],
        "exact_match": exact_match_of(at_threshold),
    }
    for k, at_top in zip(tops_of(classes)[1:], at_tops, strict=True):
        numbers[f"precision_at_{k}"], numbers[f"recall_at_{k}"] = precision_recall_at_k_of(at_top)
    labels = images * classes
    numbers["known_share"] = at_threshold.by_class[3].sum() / labels if labels else float("nan")
    result: dict[str, Any] = {name: _or_none(value) for name, value in numbers.items()}
    result |= {"images": images, "classes": classes, "classes_without_ap": int(np.isnan(ap).sum())}
    result["per_class_ap"] = [_or_none(value) for value in ap]
    return result | ({"class_names": list(class_names)} if class_names is not None else {})


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
