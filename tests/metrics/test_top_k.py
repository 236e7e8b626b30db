"""Precision and recall among the highest-scored classes: against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import metrics as oracle
from tests.support.metric_cases import close, problems
from trilabel import metrics
from trilabel.errors import TrilabelError


@settings(max_examples=80, deadline=None)
@given(problems(), st.integers(1, 7))
def test_precision_and_recall_at_k_follow_their_definitions(problem, k):
    scores, labels = problem
    precision, recall = oracle.at_k(scores.double().tolist(), labels, k)
    assert metrics.precision_at_k(scores, labels, k) == close(precision, nan_ok=True)
    assert metrics.recall_at_k(scores, labels, k) == close(recall, nan_ok=True)


def test_no_classes_at_all_are_refused():
    with pytest.raises(TrilabelError, match="top 0 classes"):
        metrics.precision_at_k(np.ones((2, 2)), np.ones((2, 2)), 0)
