"""focal and asymmetric are the losses they name, with unknown labels as absent ones or left out."""

import numpy as np
import pytest
import torch

from tests.oracles import losses as oracle
from tests.support.linear_problem import learned, linear_problem, share_ranked_right
from tests.support.one_positive import found, linear_model, one_positive_problem, train
from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import Batch, check_method, create_method

LABELS = Labels.from_signed([[1, 0, -1, 0], [0, 0, 0, 0], [0, 1, 0, -1]])
KNOWN = LABELS.rows(np.arange(3))
AN = torch.where(KNOWN > 0, 1, -1)


def loss_of(name, settings):
    """(the method's loss, logits) of an example batch."""
    model, images = linear_model(5, 4), 3 * torch.randn(3, 5, generator=torch.Generator().manual_seed(2))
    parts = create_method(name, settings, LABELS).step(model, Batch(images, None, KNOWN, torch.arange(3), 1))
    assert set(parts) == {"loss", "logits"} and parts["loss"].shape == ()
    return parts["loss"], model(images).logits


@pytest.mark.parametrize(
    ("name", "settings", "labels", "loss"),
    [
        ("focal", {}, AN, losses.focal),
        ("focal", {"gamma": "0"}, AN, losses.bce),
        ("focal", {"gamma": 0.5}, AN, lambda x, z: losses.focal(x, z, 0.5)),
        ("focal", {"unknown": "ignore", "gamma": "3"}, KNOWN, lambda x, z: losses.focal(x, z, 3)),
        ("asymmetric", {}, AN, losses.asymmetric),
        ("asymmetric", {"unknown": "ignore"}, KNOWN, losses.asymmetric),
        (
            "asymmetric",
            {"gamma_pos": "0.5", "gamma_neg": "2", "clip": "0.1"},
            AN,
            lambda x, z: losses.asymmetric(x, z, 0.5, 2, 0.1),
        ),
        ("asymmetric", {"gamma_pos": 0, "gamma_neg": 0, "clip": 0}, AN, losses.bce),
    ],
)
def test_each_setting_is_the_loss_it_names(name, settings, labels, loss):
    got, logits = loss_of(name, settings)
    assert torch.equal(got, loss(logits, labels))


def test_the_numbers_worked_out_by_hand():
    got, logits = loss_of("asymmetric", {})
    assert got.item() == pytest.approx(oracle.asymmetric(logits.tolist(), AN.tolist(), 1, 4, 0.05) / 12, rel=1e-5)
    got, logits = loss_of("focal", {"unknown": "ignore"})
    assert got.item() == pytest.approx(oracle.asymmetric(logits.tolist(), KNOWN.tolist(), 2, 2, 0) / 12, rel=1e-5)


@pytest.mark.parametrize("name", ["focal", "asymmetric"])
def test_positives_only_cannot_be_learned_from_known_labels_alone(name):
    only = Labels.from_signed([[1, 0], [0, 1]])
    with pytest.raises(
        TrilabelError, match=rf"^{name} with unknown=ignore .*known to be absent.* Use unknown=absent"
    ) as e:
        check_method(name, {"unknown": "ignore"}, only)
    assert "\n" not in str(e.value)
    check_method(name, {"unknown": "absent"}, only)
    check_method(name, {"unknown": "ignore"}, LABELS)


@pytest.mark.parametrize("name", ["focal", "asymmetric"])
@pytest.mark.parametrize("unknown", ["absent", "ignore"])
def test_labels_without_positives_are_refused(name, unknown):
    for dense in ([[-1, 0]], [[0, 0]]):
        with pytest.raises(TrilabelError, match=f"^{name}.*no label here is known to be present"):
            check_method(name, {"unknown": unknown}, Labels.from_signed(dense))


@pytest.mark.parametrize("name", ["focal", "asymmetric"])
def test_a_tenth_of_the_labels_is_enough_to_learn_a_linear_problem(name):
    features, truth = linear_problem()
    kept = np.random.default_rng(5).random(truth.shape) < 0.1
    labels = Labels.from_signed(np.where(kept, truth, 0))
    model = learned(create_method(name, {"unknown": "ignore"}, labels), features, labels)
    unseen, right = linear_problem(400, seed=1)
    assert share_ranked_right(model(unseen).logits.detach().numpy(), right > 0, right < 0) > 0.85


def test_easy_negatives_that_weigh_less_let_more_hidden_positives_be():
    features, truth, labels, _ = one_positive_problem()
    called = {}
    for name in ("assume-negative", "focal", "asymmetric"):
        model = linear_model(features.shape[1], labels.shape[1])
        train(create_method(name, {}, labels), model, features, labels)
        called[name] = found(model, features, truth, labels)
    assert called["assume-negative"][0] < 0.25 and called["asymmetric"][0] > 0.8
    assert called["asymmetric"][1] >= called["assume-negative"][1]
    assert called["focal"][1] == pytest.approx(called["assume-negative"][1], abs=0.03)  # alike on both sides: no gain
