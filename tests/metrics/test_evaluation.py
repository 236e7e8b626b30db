"""Batch by batch the numbers are those of all scores at once, in any order and from several processes."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.support.metric_cases import DEVICES, Sparse, close, like_real, problems
from trilabel import metrics
from trilabel.errors import TrilabelError
from trilabel.metrics import known_scores


def in_batches(scores, labels, size, order=None, **options):
    evaluation = metrics.Evaluation(scores.shape[1], **options)
    order = np.arange(len(scores)) if order is None else order
    for start in range(0, len(scores), size):
        rows = order[start : start + size]
        evaluation.add(scores[rows], labels[rows], rows)
    return evaluation


@given(problems(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_any_batches_in_any_order_give_what_all_at_once_gives(problem, size, random):
    scores, labels = problem
    order = np.array(random.sample(range(len(scores)), len(scores)))
    expected = metrics.evaluate(scores, Sparse(labels), 0.25)
    assert in_batches(scores, labels, size, order, threshold=0.25).result() == expected


@pytest.mark.parametrize("device", DEVICES)
def test_many_labels_are_sorted_in_several_parts(device, monkeypatch):
    monkeypatch.setattr(known_scores, "_AT_ONCE", 1000)
    scores, labels = like_real(2000, 9, seed=3, rounded=2)
    limits = np.linspace(0.2, 0.8, 9)
    whole = torch.tensor(scores, device=device)
    found = in_batches(whole, labels, 64, threshold=limits, keep_images=True)
    assert len(found.known.all_segments()) > 5
    names = [f"class {number}" for number in range(9)]
    counts = np.arange(9)
    assert found.result(names, counts) == metrics.evaluate(scores, labels, limits, names, counts)
    assert [part.tolist() for part in found.counts_per_class()] == [
        (labels > 0).sum(0).tolist(),
        (labels < 0).sum(0).tolist(),
    ]
    np.testing.assert_array_equal(found.intervals(), metrics.average_precision_intervals(scores, labels))


def test_the_calibration_error_is_of_the_sigmoid():
    scores, labels = like_real(500, 7, seed=1)
    logits = np.log(scores / (1 - scores)).astype(np.float32)
    expected = metrics.expected_calibration_error(torch.from_numpy(logits).sigmoid(), labels)
    assert in_batches(logits, labels, 50).calibration_error() == close(expected)
    assert np.isnan(metrics.Evaluation(3).calibration_error())


def test_what_several_processes_added_is_joined(tmp_path):
    scores, labels = like_real(300, 6, seed=2, rounded=1)
    together = metrics.Evaluation(6, keep_images=True)
    for rank in range(3):
        part = metrics.Evaluation(6, keep_images=True)
        for start in range(40 * rank, 300, 120):
            rows = np.arange(start, min(start + 40, 300))
            part.add(scores[rows], labels[rows], rows)
        part.save(tmp_path / f"{rank}.npz")
        together.merge_file(tmp_path / f"{rank}.npz")
    nothing = metrics.Evaluation(6, keep_images=True)  # a process that had no batch
    nothing.save(tmp_path / "none.npz")
    together.merge_file(tmp_path / "none.npz")
    assert together.images == 300 and together.result() == metrics.evaluate(scores, labels)
    np.testing.assert_array_equal(together.intervals(), metrics.average_precision_intervals(scores, labels))


def test_without_images_and_with_other_classes():
    assert metrics.Evaluation(3).result() == metrics.evaluate(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int8))
    with pytest.raises(TrilabelError, match="scores of 2 classes, but the evaluation is of 3"):
        metrics.Evaluation(3).add(np.zeros((1, 2)), np.zeros((1, 2)))
