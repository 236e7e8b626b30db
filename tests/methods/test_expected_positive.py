"""expected-positive is EPR plus the known negatives, says where its k comes from, and finds hidden positives."""

import math

import numpy as np
import pytest
import torch

from tests.support.one_positive import found, linear_model, one_positive_problem, train
from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import Batch, check_method, create_method

LABELS = Labels.from_signed([[1, 0, -1, 0], [0, 0, 0, 0], [0, 1, 0, -1]])
FULL = Labels.from_signed([[1, 1, -1, -1], [1, 1, 1, -1], [1, 0, 0, 0]])


def result_of(settings, labels=LABELS, validation=None):
    """(what a step returns, logits, the method) of an example batch."""
    model, images = linear_model(5, labels.shape[1]), torch.randn(len(labels), 5)
    rows = torch.arange(len(labels))
    method = create_method("expected-positive", settings, labels, validation=validation)
    parts = method.step(model, Batch(images, None, labels.rows(rows.numpy()), rows, 1))
    assert set(parts) == {"loss", "logits"}
    logits = model(images).logits
    assert torch.equal(parts["logits"], logits) and not parts["logits"].requires_grad
    return parts, logits, method


@pytest.mark.parametrize(
    ("settings", "k", "strength"),
    [
        ({}, 1.5, 1.0),
        ({"expected_positives": "2.5"}, 2.5, 1.0),
        ({"expected_positives": 4}, 4, 1.0),
        ({"expected_positives": "none", "strength": "0.5"}, 1.5, 0.5),
        ({"strength": 0}, 1.5, 0.0),
    ],
)
def test_each_setting_is_the_loss_it_names(settings, k, strength):
    parts, logits, _ = result_of(settings)
    labels = LABELS.rows(np.arange(3))
    expected = losses.expected_positive(logits, labels, k, strength) + losses.bce(logits, labels.clamp(max=0))
    assert torch.equal(parts["loss"], expected)


def test_the_numbers_worked_out_by_hand():
    parts, logits, _ = result_of({"expected_positives": 2.5, "strength": 3.0})
    x, total, scores = logits.tolist(), 0.0, 0.0
    for i, row in enumerate(LABELS.to_signed().tolist()):
        for j, z in enumerate(row):
            total += math.log1p(math.exp(-z * x[i][j])) if z else 0.0
            scores += 1 / (1 + math.exp(-x[i][j]))
    expected = total / 12 + 3.0 * ((scores / 3 - 2.5) / 4) ** 2
    assert parts["loss"].item() == pytest.approx(expected, rel=1e-5)


def test_the_printed_form_has_no_1_over_c_on_known_labels():
    parts, logits, _ = result_of({"expected_positives": 2.5, "form": "printed"})
    signs = LABELS.rows(np.arange(3)).float()
    known = torch.where(signs != 0, torch.nn.functional.softplus(-signs * logits), 0).sum() / 3
    excess = ((torch.sigmoid(logits).sum(1).mean() - 2.5) / 4) ** 2
    torch.testing.assert_close(parts["loss"], known + excess)


def test_it_says_where_its_k_comes_from():
    assert "A GUESS" in result_of({})[2].notes[0] and result_of({})[2].expected.value == 1.5
    method = result_of({}, validation=FULL)[2]
    assert method.expected.value == 2.5 and "2 fully labelled images" in method.notes[0]
    assert result_of({}, labels=FULL)[2].expected.value == 2.5
    method = result_of({"expected_positives": 3}, validation=FULL)[2]
    assert method.notes == ("positives per image: 3 (given)",)


@pytest.mark.parametrize("method", ["expected-positive", "role"])
def test_what_cannot_work_is_refused_in_one_line(method):
    for dense in ([[-1, 0]], [[0, 0]]):
        with pytest.raises(TrilabelError, match=f"^{method}: no label here is known to be present"):
            check_method(method, {}, Labels.from_signed(dense))
    for k in (0, -1, 4.1, math.nan, math.inf):
        says = rf"^{method}: expected_positives .*at most 4.* not {float(k)}$|expected_positives' .* must be a finite"
        with pytest.raises(TrilabelError, match=says):
            check_method(method, {"expected_positives": k}, LABELS)
    check_method(method, {"expected_positives": 4}, LABELS)


def test_a_strength_below_nothing_is_refused():
    for strength in (-0.1, math.nan, math.inf):
        with pytest.raises(TrilabelError, match=r"strength is a number from 0|'strength' .* must be a finite number"):
            check_method("expected-positive", {"strength": strength}, LABELS)


@pytest.mark.parametrize("dense", [[[0, 0, 0], [1, 0, 0]], [[1], [0]], [[1, -1], [-1, 1]], [[1]]])
def test_rows_without_names_one_class_and_full_labels(dense):
    labels = Labels.from_signed(dense)
    parts, _, _ = result_of({}, labels)
    model = linear_model(5, labels.shape[1])
    assert torch.isfinite(parts["loss"])
    with torch.autocast("cpu", torch.bfloat16):
        rows = torch.arange(len(labels))
        batch = Batch(torch.randn(len(labels), 5), None, labels.rows(rows.numpy()), rows, 1)
        parts = create_method("expected-positive", {}, labels).step(model, batch)
    assert parts["logits"].dtype == torch.bfloat16 and parts["loss"].dtype == torch.float32
    parts["loss"].backward()
    assert all(torch.isfinite(weight.grad).all() for weight in model.parameters())


def test_it_calls_more_hidden_positives_than_assuming_absence():
    features, truth, labels, sample = one_positive_problem()
    results = {}
    for name in ("assume-negative", "expected-positive"):
        model = linear_model(features.shape[1], labels.shape[1])
        train(create_method(name, {}, labels, validation=sample), model, features, labels)
        results[name] = found(model, features, truth, labels)
    (few, wrong), (many, right) = results.values()
    assert few < 0.4 and many > 0.8
    assert right > wrong + 0.05 and right > 0.85
