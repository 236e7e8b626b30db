"""hill and splc are the losses they name, splc says what it scored, and both find positives that were missed."""

import math

import numpy as np
import pytest
import torch

from tests.oracles import losses as oracle
from tests.support.one_positive import found, linear_model, one_positive_problem, train
from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import Batch, check_method, create_method
from trilabel.models import Output

LABELS = Labels.from_signed([[1, 0, -1, 0], [0, 0, 0, 0], [0, 1, 0, -1]])
KNOWN = LABELS.rows(np.arange(3))


def step(name, settings, epoch=1):
    """(what a step returns, logits) of an example batch."""
    logits = 3 * torch.randn(3, 4, generator=torch.Generator().manual_seed(2))
    batch = Batch(logits, None, KNOWN, torch.arange(3), epoch)
    return create_method(name, settings, LABELS).step(lambda images: Output(images, images), batch), logits


@pytest.mark.parametrize(
    ("settings", "chosen"),
    [
        ({}, (1.5, 1.0, 2.0)),
        ({"weight": "2", "margin": "0.5", "gamma": "1"}, (2, 0.5, 1)),
        ({"weight": 1, "margin": 0, "gamma": 0}, (1, 0, 0)),
    ],
)
def test_hill_is_the_loss_it_names(settings, chosen):
    parts, logits = step("hill", settings)
    assert set(parts) == {"loss", "logits"}
    assert torch.equal(parts["loss"], losses.hill(logits, KNOWN, "mean", *chosen))
    slow = oracle.hill(logits.tolist(), KNOWN.tolist(), *chosen) / 12
    assert parts["loss"].item() == pytest.approx(slow, rel=1e-5)


@pytest.mark.parametrize("epoch", [1, 2, 3, 9])
@pytest.mark.parametrize(
    ("settings", "tau", "change", "margin", "gamma"),
    [
        ({}, 0.6, 2, 1.0, 2.0),
        ({"change_epoch": "3", "tau": "0.5"}, 0.5, 3, 1.0, 2.0),
        ({"change_epoch": 1, "tau": 0.9, "margin": "0", "gamma": "1.5"}, 0.9, 1, 0.0, 1.5),
    ],
)
def test_splc_is_the_loss_it_names_and_says_what_it_scored(epoch, settings, tau, change, margin, gamma):
    parts, logits = step("splc", settings, epoch)
    expected = losses.splc(logits, KNOWN, epoch, tau, change_epoch=change, margin=margin, gamma=gamma)
    assert set(parts) == {"loss", "logits", "targets"} and torch.equal(parts["loss"], expected)
    slow = oracle.splc(logits.tolist(), KNOWN.tolist(), epoch >= change, tau, margin, gamma) / 12
    assert parts["loss"].item() == pytest.approx(slow, rel=1e-5)
    for x, z, target in zip(logits.flatten().tolist(), KNOWN.flatten(), parts["targets"].flatten(), strict=True):
        corrected = z == 0 and epoch >= change and oracle.sigmoid(x) > tau
        assert target == (1 if z > 0 or corrected else -1)
    unknown = parts["targets"][KNOWN == 0]
    assert bool((unknown > 0).any()) == (epoch >= change) and (unknown < 0).any()


def test_splc_may_leave_unknown_labels_out_until_they_pass():
    for epoch in (1, 2):
        parts, logits = step("splc", {"unknown": "ignore"}, epoch)
        corrected = (KNOWN == 0) & (torch.sigmoid(logits) > 0.6) & (epoch > 1)
        each = losses.splc(logits, KNOWN, epoch, reduction="none")
        torch.testing.assert_close(parts["loss"], each[(KNOWN != 0) | corrected].sum() / 12)
        assert torch.equal(parts["targets"], torch.where(corrected, 1, KNOWN)) and bool(corrected.any()) == (epoch > 1)
    with pytest.raises(TrilabelError, match=r"splc with unknown=ignore .* Use unknown=absent"):
        check_method("splc", {"unknown": "ignore"}, Labels.from_signed([[1, 0]]))


@pytest.mark.parametrize("name", ["hill", "splc"])
def test_labels_without_positives_are_refused(name):
    for dense in ([[-1, 0]], [[0, 0]]):
        with pytest.raises(TrilabelError, match=f"^{name}: no label here is known to be present"):
            check_method(name, {}, Labels.from_signed(dense))
    check_method(name, {}, Labels.from_signed([[1, 0]]))


@pytest.mark.parametrize("tau", [-0.1, 1.1, math.nan])
def test_a_threshold_that_is_no_probability_is_refused(tau):
    with pytest.raises(TrilabelError, match=r"^splc: tau is a probability, not|'tau' .* must be a finite number"):
        check_method("splc", {"tau": tau}, LABELS)


@pytest.mark.parametrize("name", ["hill", "splc"])
def test_they_call_more_hidden_positives_than_assuming_absence(name):
    features, truth, labels, _ = one_positive_problem()
    results = {}
    for each in ("assume-negative", name):
        model = linear_model(features.shape[1], labels.shape[1])
        train(create_method(each, {}, labels), model, features, labels)
        results[each] = found(model, features, truth, labels)
    (few, wrong), (many, right) = results.values()
    assert few < 0.25 and many > 0.7
    assert right > wrong + 0.05
