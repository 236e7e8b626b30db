"""A scorer for `GridSearchCV` and its kin that leaves unknown labels out."""

from typing import Any

import numpy as np

from trilabel import metrics
from trilabel.estimator.inputs import labels_of
from trilabel.metrics.means import mean


def known_map_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Mean average precision over the known labels; nan where no class has known positives and negatives.

    estimator: a fitted one with `decision_function` or `predict_proba`, ours or scikit-learn's. y: see `labels_of`.
    """
    scores = estimator.decision_function(X) if hasattr(estimator, "decision_function") else estimator.predict_proba(X)
    if isinstance(scores, list):  # a forest has samples × (absent, present) for each class
        scores = np.stack([each[:, -1] for each in scores], axis=1)
    return mean(metrics.average_precision(np.asarray(scores, np.float64), labels_of(y)))
