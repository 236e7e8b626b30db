"""Average precision: against its definition, scikit-learn, and released code."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings

from tests.oracles import metrics as oracle
from tests.support.metric_cases import DEVICES, DTYPES, OnlySigned, Sparse, close, like_real, problems, scikit_learn_ap
from trilabel import metrics
from trilabel.errors import TrilabelError
from trilabel.metrics.average_precision import both_average_precisions
from trilabel.metrics.average_precision_cuda import rank_together


@settings(max_examples=80, deadline=None)
@given(problems())
def test_average_precision_follows_its_definition(problem):
    scores, labels = problem
    wide = scores.double().tolist()
    expected = oracle.average_precision(wide, labels)
    envelope = oracle.average_precision(wide, labels, interpolated=True)
    for form in (labels, torch.tensor(labels), OnlySigned(labels), labels.astype(np.float32)):
        assert metrics.average_precision(scores, form) == close(expected, nan_ok=True)
    assert metrics.interpolated_average_precision(scores, labels) == close(envelope, nan_ok=True)
    sparse = both_average_precisions(scores, sp.csr_array(labels.astype(np.int8)))
    assert np.stack(sparse) == close(np.array([expected, envelope]), nan_ok=True)
    together = rank_together(scores.T, torch.tensor(labels).T).numpy()
    assert together == close(np.array([expected, envelope]), nan_ok=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rounded", [None, 2, 1, 0])
def test_average_precision_is_scikit_learns(rounded, device):
    scores, labels = like_real(4000, 12, seed=1, rounded=rounded)
    expected = scikit_learn_ap(scores, labels)
    assert np.isnan(expected).tolist() == [c == 1 for c in range(12)]
    given = torch.tensor(scores, device=device)
    assert metrics.average_precision(given, labels) == close(expected, abs=1e-12, nan_ok=True)
    assert metrics.average_precision(scores.astype(np.float64), labels) == close(expected, abs=1e-12, nan_ok=True)
    few = labels * (np.random.default_rng(0).random(labels.shape) < 0.1)
    expected = scikit_learn_ap(scores, few)
    assert metrics.average_precision(given, few) == close(expected, abs=1e-12, nan_ok=True)
    assert metrics.average_precision(given, Sparse(few)) == close(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    "bend",
    [
        lambda s: s,
        lambda s: np.log(s / (1 - s)),
        lambda s: s**40,  # crowded near 0
        lambda s: s * 1e-38,  # the smallest float32 there are
        lambda s: (s - 0.5) * 6e38,  # a range that float32 cannot hold
        lambda s: np.where(s > 0.9, np.inf, np.where(s < 0.02, -np.inf, s)),
        lambda s: 1 + s * 1e-6,  # neighbouring float32
        lambda s: np.where(s < 0.5, -0.0, 0.0),
        lambda s: np.zeros_like(s),
    ],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_way_of_counting_agrees(bend, dtype):
    scores, labels = like_real(3000, 8, seed=2)
    table = torch.tensor(bend(scores.astype(np.float64))).to(dtype)
    signs = torch.tensor(labels, dtype=torch.int8)
    # Ranks have the same order and the same ties as the scores, and are finite, so scikit-learn takes them.
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in table.double().numpy().T], axis=1)
    expected = scikit_learn_ap(ranks, labels)
    for ap, interpolated in (
        both_average_precisions(table, signs),
        both_average_precisions(table, sp.csr_array(labels.astype(np.int8))),
        rank_together(table.T, signs.T).numpy(),
    ):
        assert ap == close(expected, abs=1e-12, nan_ok=True)
        assert interpolated == close(both_average_precisions(table.double(), signs)[1], abs=1e-12, nan_ok=True)
        assert np.all((interpolated >= ap) | np.isnan(ap))


def test_threads_agree(monkeypatch):
    scores, labels = like_real(500, 50, seed=8)
    expected = metrics.average_precision(scores, labels)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert np.array_equal(metrics.average_precision(scores, labels), expected, equal_nan=True)


def test_groups_hold_equally_many_classes_from_rare_to_common():
    ap = [0.1, 0.2, 0.3, math.nan, 0.5, 0.6, 0.7]
    annotations = [70, 60, 50, 40, 30, 20, 10]
    assert metrics.map_by_group(ap, annotations, groups=3) == close([0.6, 0.3, 0.15])
    assert np.isnan(metrics.map_by_group([0.5, math.nan], [1, 2], groups=2)).tolist() == [False, True]
    with pytest.raises(TrilabelError, match="5 groups of 2 classes"):
        metrics.map_by_group([0.5, 0.5], [1, 2])
    with pytest.raises(TrilabelError, match="one number per class"):
        metrics.map_by_group([0.5, 0.5], [1], groups=1)
