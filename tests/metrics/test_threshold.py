"""Precision, recall, F1 and exact matches: against their definitions."""

import warnings

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import metrics as oracle
from tests.support.metric_cases import close, problems
from trilabel import metrics


@settings(max_examples=80, deadline=None)
@given(problems(), st.sampled_from([0.5, 0.0, -1.5, 10.0, -10.0]), st.integers(1, 7))
def test_counts_follow_their_definitions(problem, threshold, k):
    scores, labels = problem
    wide = scores.double().tolist()
    predicted = oracle.at_threshold(wide, threshold)
    six, macro = oracle.precision_recall_f1(predicted, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="the labels are 1 and 0")
        assert metrics.precision_recall_f1(scores, labels, threshold) == close(six, nan_ok=True)
        assert metrics.macro_f1(scores, labels, threshold) == close(macro, nan_ok=True)
        assert metrics.micro_f1(scores, labels, threshold) == close(six["OF1"], nan_ok=True)
        expected = oracle.exact_match(predicted, labels)
        assert metrics.exact_match(scores, labels, threshold) == close(expected, nan_ok=True)
        six, _ = oracle.precision_recall_f1(oracle.at_top(wide, k), labels)
        assert metrics.precision_recall_f1(scores, labels, top=k) == close(six, nan_ok=True)


def test_threshold_is_compared_exactly_in_half_precision():
    scores = torch.tensor([[0.546875]], dtype=torch.bfloat16)  # bfloat16 would round the threshold down to the score
    assert metrics.precision_recall_f1(scores, torch.tensor([[1]]), threshold=0.548)["OR"] == 0
    assert metrics.precision_recall_f1(scores, torch.tensor([[1]]), threshold=0.546875)["OR"] == 1
