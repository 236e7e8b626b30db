"""Scores of a classifier against labels that are present (+1), absent (−1) or unknown (0).

Everywhere: scores are N×C floats (NumPy or torch, on the CPU or on CUDA), the higher the more likely present; labels
are N×C in +1/−1/0 (NumPy, torch, or `Labels`). Unknown labels are left out of every count. A class without a known
positive has neither AP nor recall, one without a known negative neither AP nor precision: every mean over classes
leaves it out. Results are in 0..1; nan where undefined.
"""

from trilabel.metrics.accumulator import Accumulator
from trilabel.metrics.average_precision import (
    average_precision,
    interpolated_average_precision,
    map_by_group,
    mean_average_precision,
)
from trilabel.metrics.calibration import Calibration, expected_calibration_error, fit_calibration
from trilabel.metrics.evaluate import CLASSES_WORTH_GROUPS, GROUP_METRICS, evaluate
from trilabel.metrics.evaluation import Evaluation
from trilabel.metrics.fitted_thresholds import fit_thresholds
from trilabel.metrics.intervals import average_precision_intervals
from trilabel.metrics.matrices import LabelMatrix, Matrix
from trilabel.metrics.means import mean
from trilabel.metrics.pointing import HasBoxes, pointing_counts, pointing_game
from trilabel.metrics.threshold import exact_match, macro_f1, micro_f1, precision_recall_f1
from trilabel.metrics.top_k import precision_at_k, recall_at_k

__all__ = [
    "CLASSES_WORTH_GROUPS",
    "GROUP_METRICS",
    "Accumulator",
    "Calibration",
    "Evaluation",
    "HasBoxes",
    "LabelMatrix",
    "Matrix",
    "average_precision",
    "average_precision_intervals",
    "evaluate",
    "exact_match",
    "expected_calibration_error",
    "fit_calibration",
    "fit_thresholds",
    "interpolated_average_precision",
    "macro_f1",
    "map_by_group",
    "mean",
    "mean_average_precision",
    "micro_f1",
    "pointing_counts",
    "pointing_game",
    "precision_at_k",
    "precision_recall_f1",
    "recall_at_k",
]
