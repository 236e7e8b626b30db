"""Average precision of every class over its known labels, with ties counted as one step of the ranking.

For one class, with P known positives, and for each of them its score s:

    precision(s) = #(positives scored >= s) / #(known labels scored >= s)
    AP = mean of precision(s) over the P positives

which is what scikit-learn's `average_precision_score` computes. The interpolated AP (VOC 2010 and later) replaces a
precision by the best one at the same or a higher recall, that is at the same or a lower score.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.metrics.average_precision_cpu import both_on_cpu
from trilabel.metrics.average_precision_cuda import both_on_cuda
from trilabel.metrics.matrices import LabelMatrix, Matrix, check_inputs
from trilabel.metrics.means import mean

Floats = NDArray[np.float64]


def average_precision(scores: Matrix, labels: LabelMatrix) -> Floats:
    """Average precision of each class [C] over its known labels; scores and labels are N×C.

    Tied scores count as one step, as in scikit-learn; nan where a class has no known positive or no known negative:
    with positives alone every ranking would be perfect.

    >>> average_precision(np.array([[0.9, 0.1], [0.4, 0.2], [0.7, 0.3]]), np.array([[1, -1], [1, 0], [-1, -1]]))
    array([0.83333333,        nan])
    """
    return both_average_precisions(*check_inputs(scores, labels))[0]


def mean_average_precision(scores: Matrix, labels: LabelMatrix) -> float:
    """Mean over classes of `average_precision`, the mAP; nan where no class has one.

    >>> mean_average_precision(np.array([[0.9, 0.1], [0.4, 0.2], [0.7, 0.3]]), np.array([[1, -1], [1, 0], [-1, -1]]))
    0.8333333333333333
    """
    return mean(average_precision(scores, labels))


def interpolated_average_precision(scores: Matrix, labels: LabelMatrix) -> Floats:
    """Area [C] under the precision envelope, which never rises with recall; scores and labels are N×C.

    The AP of PASCAL VOC from 2010 on.

    Tied scores are one step here too; released VOC scripts rank them in the order a sort happens to leave.
    """
    return both_average_precisions(*check_inputs(scores, labels))[1]


def map_by_group(ap: ArrayLike, annotations: ArrayLike, groups: int = 5) -> Floats:
    """Mean AP of G1, G2, … [groups]: classes ordered by their number of training annotations, G1 the fewest.

    ap and annotations hold one number per class. Groups differ by at most one class in size, the first ones are larger;
    classes with equally many annotations keep their order.

    >>> map_by_group([0.9, 0.4, 0.6], annotations=[5, 70, 60], groups=2)
    array([0.75, 0.4 ])
    """
    values, amounts = np.asarray(ap, dtype=np.float64), np.asarray(annotations)
    if values.ndim != 1 or values.shape != amounts.shape:
        raise TrilabelError(f"AP has shape {values.shape} and annotations {amounts.shape}; give one number per class")
    if not 1 <= groups <= len(values):
        raise TrilabelError(f"{groups} groups of {len(values)} classes; ask for 1 to {len(values)}")
    return np.array([mean(values[part]) for part in np.array_split(np.argsort(amounts, kind="stable"), groups)])


def both_average_precisions(scores: Tensor, truth: Tensor | sp.csr_array) -> tuple[Floats, Floats]:
    """AP and interpolated AP [C] of scores N×C, free of NaN, against +1/−1/0 N×C (dense int8 or sparse).

    nan where a class has no known positive, or no known negative.
    """
    columns = truth if isinstance(truth, Tensor) else truth.tocsc()
    return both_on_cuda(scores, columns) if scores.is_cuda else both_on_cpu(scores, columns)
