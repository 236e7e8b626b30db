"""known-only divides as it says, refuses one-sided labels, and learns from a tenth of the labels."""

import numpy as np
import pytest
import torch

from tests.support.linear_problem import learned, linear_problem, share_ranked_right
from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import METHODS, Batch, check_method, create_method
from trilabel.models import FeatureClassifier
from trilabel.models.heads.gap import GapHead

LABELS = Labels.from_signed([[1, 0, -1, 0], [0, 0, 0, 0], [-1, -1, 1, 1], [0, 1, 0, 0]])


def batch_of(labels, features=5):
    images = torch.randn(len(labels), features, generator=torch.Generator().manual_seed(0))
    return Batch(images, None, labels.rows(np.arange(len(labels))), torch.arange(len(labels)), 1)


def model_of(labels, features=5):
    torch.manual_seed(1)
    return FeatureClassifier(GapHead(features, labels.shape[1]))


def loss_of(settings, labels=LABELS):
    """(the method's loss, logits) of an example batch."""
    model, batch = model_of(labels), batch_of(labels)
    parts = create_method("known-only", settings, labels).step(model, batch)
    assert set(parts) == {"loss", "logits"} and parts["loss"].shape == ()
    return parts["loss"], model(batch.images).logits


@pytest.mark.parametrize(
    ("settings", "loss"),
    [
        ({}, losses.known_mean_bce),
        ({"normalize": "batch"}, losses.known_mean_bce),
        ({"normalize": "all"}, losses.bce),
        ({"normalize": "image"}, losses.per_image_bce),
        ({"normalize": "share"}, losses.partial_bce),
        (
            {"normalize": "share", "gamma": "-1", "at": "0.2", "value": "4"},
            lambda logits, labels: losses.partial_bce(logits, labels, gamma=-1, at=0.2, value=4),
        ),
    ],
)
def test_each_normalization_is_the_loss_it_names(settings, loss):
    got, logits = loss_of(settings)
    assert torch.equal(got, loss(logits, LABELS.rows(np.arange(4))))


def test_the_divisors_worked_out_by_hand():
    logits, signs = loss_of({})[1].detach().double().numpy(), LABELS.to_signed().astype(float)
    parts = np.where(signs == 0, 0, np.log1p(np.exp(-signs * logits)))
    known = (signs != 0).sum(1)
    assert loss_of({"normalize": "all"})[0].item() == pytest.approx(parts.sum() / 16, rel=1e-5)
    assert loss_of({"normalize": "batch"})[0].item() == pytest.approx(parts.sum() / 7, rel=1e-5)
    by_image = (parts.sum(1) / np.maximum(known, 1)).mean()
    assert loss_of({"normalize": "image"})[0].item() == pytest.approx(by_image, rel=1e-5)
    weight = 1 + (5 - 1) * (1 - known / 4) / 0.9  # a straight line through (1, 1) and (0.1, 5)
    by_share = (weight * parts.sum(1) / 4).mean()
    assert loss_of({"normalize": "share"})[0].item() == pytest.approx(by_share, rel=1e-5)


def test_unknown_labels_move_nothing():
    model, batch = model_of(LABELS), batch_of(LABELS)
    method = create_method("known-only", {}, LABELS)
    method.step(model, batch._replace(labels=torch.zeros(4, 4, dtype=torch.int8)))["loss"].backward()
    assert all((weight.grad == 0).all() for weight in model.parameters())
    assert not list(method.parameters()) and method.views == 1


@pytest.mark.parametrize(
    ("dense", "says"),
    [
        ([[1, 0], [0, 1]], r"no label here is known to be absent.*every class in every image.*assume-negative"),
        ([[-1, 0], [0, -1]], "no label here is known to be present"),
        ([[0, 0]], "no label here is known to be present"),
    ],
)
def test_one_sided_labels_are_refused_with_a_suggestion(dense, says):
    with pytest.raises(TrilabelError, match=says) as caught:
        create_method("known-only", {}, Labels.from_signed(dense))
    assert "\n" not in str(caught.value)


def test_settings_and_names_that_do_not_exist_are_refused():
    with pytest.raises(
        TrilabelError, match="'normalize' of method 'known-only' must be one of all, batch, image, share;"
    ):
        check_method("known-only", {"normalize": "sum"}, LABELS)
    with pytest.raises(TrilabelError, match=r"has no setting 'normalise'; it has: normalize, gamma, at, value"):
        check_method("known-only", {"normalise": "all"}, LABELS)
    with pytest.raises(TrilabelError, match=f"no method named 'guess'; there are: {', '.join(METHODS)}"):
        create_method("guess", {}, LABELS)


@pytest.mark.parametrize("normalize", ["all", "batch", "image", "share"])
def test_a_tenth_of_the_labels_is_enough_to_learn_a_linear_problem(normalize):
    features, truth = linear_problem()
    kept = np.random.default_rng(5).random(truth.shape) < 0.1
    labels = Labels.from_signed(np.where(kept, truth, 0))
    model = learned(create_method("known-only", {"normalize": normalize}, labels), features, labels)
    unseen, right = linear_problem(400, seed=1)
    scores = model(unseen).logits.detach().numpy()
    assert share_ranked_right(scores, right > 0, right < 0) > 0.85
    assert ((scores > 0) == (right > 0)).mean() > 0.75
