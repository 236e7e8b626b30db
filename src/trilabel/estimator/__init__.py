"""The scikit-learn face: a classifier of feature vectors that learns from present, absent and unknown labels."""

from trilabel.estimator.checks import EXPECTED_FAILED_CHECKS
from trilabel.estimator.classifier import TriLabelClassifier
from trilabel.estimator.inputs import labels_of
from trilabel.estimator.scoring import known_map_scorer

__all__ = ["EXPECTED_FAILED_CHECKS", "TriLabelClassifier", "known_map_scorer", "labels_of"]
