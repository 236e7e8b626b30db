"""Metrics of each image's k highest-scored classes."""

from math import nan

from trilabel.metrics.counts import Counts, count
from trilabel.metrics.matrices import LabelMatrix, Matrix, check_inputs
from trilabel.metrics.means import fraction, mean


def precision_at_k(scores: Matrix, labels: LabelMatrix, k: int) -> float:
    """Share of present among the known of an image's k highest-scored classes; scores and labels are N×C.

    Averaged over the images with a known label among these classes; nan where no label is known to be absent.
    """
    return precision_recall_at_k_of(count(*check_inputs(scores, labels), tops=[k])[0])[0]


def recall_at_k(scores: Matrix, labels: LabelMatrix, k: int) -> float:
    """Share of an image's known present classes that are among its k highest-scored; scores and labels are N×C.

    Averaged over the images with a known present class.
    """
    return precision_recall_at_k_of(count(*check_inputs(scores, labels), tops=[k])[0])[1]


def precision_recall_at_k_of(counts: Counts) -> tuple[float, float]:
    """(`precision_at_k`, `recall_at_k`) of what was counted among the k best classes."""
    hits, predicted, present, known = counts.by_image
    precision = mean(fraction(hits, predicted)[predicted > 0]) if (known > present).any() else nan
    return precision, mean(fraction(hits, present)[present > 0])
