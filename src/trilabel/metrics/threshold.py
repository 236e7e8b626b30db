"""Metrics of decisions: precision, recall and F1, over classes and over all labels, and exact matches."""

from math import nan

import numpy as np
from numpy.typing import NDArray

from trilabel.metrics.counts import Counts, Threshold, count
from trilabel.metrics.matrices import LabelMatrix, Matrix, check_inputs
from trilabel.metrics.means import fraction, harmonic_mean, mean


def precision_recall_f1(
    scores: Matrix, labels: LabelMatrix, threshold: Threshold = 0.5, top: int | None = None
) -> dict[str, float]:
    """CP CR CF1 (means over classes) and OP OR OF1 (all labels together) of scores and labels N×C.

    Predicted present is a score >= threshold (one, or one per class) or, with `top`, each image's `top` highest-scored
    classes, known or not (among equal scores the first classes). CF1 is the harmonic mean of CP and CR. Nothing
    predicted is precision 0.
    CP leaves out classes without a known negative, where no prediction could be wrong; OP is nan where there is none.

    >>> import numpy as np
    >>> scores, labels = np.array([[0.9, 0.1], [0.4, 0.2], [0.7, 0.6]]), np.array([[1, -1], [1, 0], [-1, 1]])
    >>> result = precision_recall_f1(scores, labels)
    >>> {name: round(value, 2) for name, value in result.items()}
    {'CP': 0.75, 'CR': 0.75, 'CF1': 0.75, 'OP': 0.67, 'OR': 0.67, 'OF1': 0.67}
    """
    table, truth = check_inputs(scores, labels)
    counts = count(table, truth, threshold) if top is None else count(table, truth, tops=[top])
    return precision_recall_f1_of(counts[0])


def macro_f1(scores: Matrix, labels: LabelMatrix, threshold: Threshold = 0.5) -> float:
    """Mean over classes of each class's F1 at score >= threshold; scores and labels are N×C."""
    return macro_f1_of(count(*check_inputs(scores, labels), threshold)[0])


def micro_f1(scores: Matrix, labels: LabelMatrix, threshold: Threshold = 0.5) -> float:
    """F1 of all known labels together at score >= threshold, the same number as OF1; scores and labels are N×C."""
    return precision_recall_f1(scores, labels, threshold)["OF1"]


def exact_match(scores: Matrix, labels: LabelMatrix, threshold: Threshold = 0.5) -> float:
    """Share of images with every known label right at score >= threshold; scores and labels are N×C.

    Images without a known label are left out; nan where no label is known to be absent.
    """
    return exact_match_of(count(*check_inputs(scores, labels), threshold)[0])


def precision_recall_f1_of(counts: Counts) -> dict[str, float]:
    """`precision_recall_f1` of what was counted."""
    hits, predicted, present, known = counts.by_class
    cp, cr = mean(fraction(hits, predicted)[_judged(counts)]), mean(fraction(hits, present)[present > 0])
    total = present.sum()
    or_ = float(fraction(hits.sum(), total)) if total else nan
    op = float(fraction(hits.sum(), predicted.sum())) if 0 < total < known.sum() else nan
    return {"CP": cp, "CR": cr, "CF1": harmonic_mean(cp, cr), "OP": op, "OR": or_, "OF1": harmonic_mean(op, or_)}


def macro_f1_of(counts: Counts) -> float:
    """`macro_f1` of what was counted."""
    hits, predicted, present, _ = counts.by_class
    return mean(fraction(2 * hits, predicted + present)[_judged(counts)])


def exact_match_of(counts: Counts) -> float:
    """`exact_match` of what was counted."""
    hits, predicted, present, known = counts.by_image
    return mean((predicted + present == 2 * hits)[known > 0]) if (known > present).any() else nan


def _judged(counts: Counts) -> NDArray[np.bool_]:
    """The classes of which a positive and a negative are known."""
    _, _, present, known = counts.by_class
    judged: NDArray[np.bool_] = (present > 0) & (known > present)
    return judged
