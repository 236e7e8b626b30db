"""All metrics together: against scikit-learn and released code, on all devices, complete, and what is refused."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from tests.support.metric_cases import DEVICES, Sparse, close, like_real, scikit_learn_ap
from trilabel import metrics
from trilabel.errors import TrilabelError


def test_reference_numbers():
    """AP from scikit-learn, the others from released code: score >= 0.5, all labels known, CF1 from CP and CR."""
    with np.load(Path(__file__).parents[1] / "reference" / "metrics.npz") as stored:
        ref = dict(stored)
    scores, labels = ref["scores"], np.where(ref["true"] == 1, 1, -1)
    assert metrics.average_precision(scores, labels) == close(ref["ap_all"])
    assert metrics.average_precision(scores, labels * ref["known"]) == close(ref["ap_known"], nan_ok=True)
    result = metrics.evaluate(scores, labels)
    assert [result[k] for k in ("OP", "OR", "OF1")] == close(ref["OP_OR_OF1"])
    assert [result[k] for k in ("CP", "CR", "CF1")] == close(ref["CP_CR_CF1"])
    assert result["macro_F1"] == close(float(ref["macro_f1"]))
    assert result["exact_match"] == close(float(ref["exact_match"]))
    # Released code ranks ties as its sort left them. Given that order for the one class with ties, we agree.
    assert result["mAP_interpolated"] < float(ref["map_voc2012_interpolated"]) - 0.004
    scores[ref["order_of_tied_class_5"], 5] = np.linspace(1, 0, len(scores))
    interpolated = metrics.interpolated_average_precision(scores, labels)
    assert metrics.mean(interpolated) == close(float(ref["map_voc2012_interpolated"]))


@pytest.mark.parametrize("device", DEVICES)
def test_devices_agree_on_everything(device):
    scores, labels = like_real(2000, 9, seed=3, rounded=2)
    for form in (labels, Sparse(labels * (np.arange(2000) % 20 == 0)[:, None])):
        expected = metrics.evaluate(scores, form.to_signed() if isinstance(form, Sparse) else form)
        got = metrics.evaluate(torch.tensor(scores, device=device), form)
        assert {k: v for k, v in got.items() if k != "per_class_ap"} == close(
            {k: v for k, v in expected.items() if k != "per_class_ap"}
        )


def test_counts_over_many_blocks_and_sparse_labels():
    scores, labels = like_real(9000, 40, seed=4)
    everything = metrics.evaluate(scores, np.where(labels == 0, -1, labels))
    kept = [c for c in range(40) if c != 1]
    truth, guess = labels[:, kept] == 1, scores[:, kept] >= 0.5
    assert everything["macro_F1"] == close(f1_score(truth, guess, average="macro"))
    assert everything["exact_match"] == close(((scores >= 0.5) == (labels == 1)).all(1).mean())
    few = labels * (np.random.default_rng(0).random(labels.shape) < 0.05)
    assert metrics.evaluate(scores, Sparse(few)) == metrics.evaluate(scores, few.astype(np.int8))


def test_evaluate_is_plain_and_complete():
    scores, labels = like_real(300, 6, seed=6)
    result = json.loads(json.dumps(metrics.evaluate(scores, labels, class_names=list("abcdef")), allow_nan=False))
    six = ["CP", "CR", "CF1", "OP", "OR", "OF1"]
    at_k = [f"{name}_at_{k}" for k in (1, 3, 5) for name in ("precision", "recall")]
    counts = ["images", "classes", "known_share", "classes_without_ap", "per_class_ap", "class_names"]
    others = ["mAP", "mAP_interpolated", "macro_F1", "micro_F1", "exact_match"]
    assert set(result) == {*six, *(f"{name}_top3" for name in six), *at_k, *counts, *others}
    ap = scikit_learn_ap(scores, labels)
    assert result["mAP"] == close(np.nanmean(ap))
    assert result["per_class_ap"] == [None if math.isnan(v) else close(v) for v in ap]
    assert result["known_share"] == close((labels != 0).mean())
    assert (result["images"], result["classes"], result["classes_without_ap"]) == (300, 6, int(np.isnan(ap).sum()))
    assert result["CF1_top3"] == close(metrics.precision_recall_f1(scores, labels, top=3)["CF1"])
    assert result["recall_at_5"] == close(metrics.recall_at_k(scores, labels, 5))


def test_nothing_known_and_nothing_at_all():
    result = metrics.evaluate(np.ones((3, 2), np.float32), np.zeros((3, 2), np.int8))
    assert result["mAP"] is None and result["OF1"] is None and result["exact_match"] is None
    assert (result["classes_without_ap"], result["known_share"], result["per_class_ap"]) == (2, 0.0, [None, None])
    assert "precision_at_3" not in result and result["CP_top3"] is None
    assert metrics.evaluate(np.ones((0, 2)), np.zeros((0, 2)))["known_share"] is None


def test_input_is_not_changed_and_may_be_read_only_or_reversed():
    scores, labels = like_real(50, 5, seed=7)
    before, expected = scores.copy(), metrics.average_precision(scores, labels)
    scores.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metrics.evaluate(scores, labels)
        assert metrics.average_precision(scores[::-1, ::-1], labels[::-1, ::-1])[::-1] == close(expected, nan_ok=True)
    assert np.array_equal(scores, before)
    assert metrics.average_precision(torch.tensor(before, requires_grad=True), labels) == close(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        (np.array([[0.1, 0.2], [0.3, np.nan]]), np.ones((2, 2)), "image row 1, class 1 is NaN"),
        (np.array([[0.1, np.nan], [0.3, 0.4]]), Sparse(np.zeros((2, 2))), "row 0, class 1 ('class 1') is NaN"),
        (np.ones((2, 2)), np.ones((2, 3)), "scores are (2, 2), labels (2, 3)"),
        (np.ones((2, 2), int), np.ones((2, 2)), "torch.int64 of shape (2, 2); give floats"),
        (np.ones(2), np.ones(2), "of shape (2,); give floats, images × classes"),
        (np.ones((2, 2)), np.array([[1, -1], [2, 0]]), "label value 2 at (1, 0)"),
        (np.ones((2, 2)), np.array([[1, 0.5], [1, 0]]), "label value 0.5 at (0, 1)"),
        (np.ones((2, 2)), np.array([[1, 1], [1, np.nan]]), "label value nan at (1, 1)"),
        (np.ones((2, 2)), np.ones((2, 2), bool), "cannot express unknown"),
    ],
)
def test_faulty_input_is_refused(scores, labels, message):
    with pytest.raises(TrilabelError) as caught:
        metrics.average_precision(scores, labels)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_names_are_checked():
    with pytest.raises(TrilabelError, match="1 class names for scores of 2 classes"):
        metrics.evaluate(np.ones((2, 2)), np.ones((2, 2)), class_names=["cat"])
    with pytest.raises(TrilabelError, match=r"class 1 \('dog'\) is NaN"):
        metrics.evaluate(np.array([[1, np.nan]]), np.ones((1, 2)), class_names=["cat", "dog"])


def test_map_by_groups_of_classes_with_few_to_many_annotations():
    draw = np.random.default_rng(0)
    scores, labels = draw.random((40, 12)), draw.choice([-1, 0, 1], (40, 12))
    annotations = draw.permutation(12)
    found = metrics.evaluate(scores, labels, annotations=annotations)
    ap = np.array(found["per_class_ap"], float)
    order = sorted(range(12), key=lambda column: annotations[column])
    sizes = (3, 3, 2, 2, 2)
    for number, size in enumerate(sizes, 1):
        group, order = order[:size], order[size:]
        assert found[f"mAP_G{number}"] == close(ap[group].mean())
    assert "mAP_G1" not in metrics.evaluate(scores, labels)
    assert metrics.evaluate(scores[:, :4], labels[:, :4], annotations=annotations[:4])["mAP_G1"] is None
