"""assume-negative is AN, WAN or AN-LS by its settings, and finds hidden positives."""

import numpy as np
import pytest
import torch

from tests.support.linear_problem import learned, linear_problem, share_ranked_right
from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import Batch, check_method, create_method
from trilabel.models import FeatureClassifier
from trilabel.models.heads.gap import GapHead

LABELS = Labels.from_signed([[1, 0, -1, 0], [0, 0, 0, 0], [0, 1, 0, 0]])


def loss_of(settings):
    """(the method's loss, logits) of an example batch."""
    torch.manual_seed(1)
    model, images = FeatureClassifier(GapHead(5, 4)), torch.randn(3, 5)
    batch = Batch(images, None, LABELS.rows(np.arange(3)), torch.arange(3), 1)
    parts = create_method("assume-negative", settings, LABELS).step(model, batch)
    assert set(parts) == {"loss", "logits"} and parts["loss"].shape == ()
    return parts["loss"], model(images).logits


@pytest.mark.parametrize(
    ("settings", "loss"),
    [
        ({}, losses.assume_negative),
        ({"weight": None}, losses.weak_assume_negative),
        ({"weight": "none"}, losses.weak_assume_negative),
        ({"weight": 0.2}, lambda x, z: losses.weak_assume_negative(x, z, weight=0.2)),
        ({"weight": "0"}, lambda x, z: losses.weak_assume_negative(x, z, weight=0)),
        ({"smoothing": 0.1}, lambda x, z: losses.assume_negative(x, z, smoothing=0.1)),
        (
            {"smoothing": 0.1, "smoothing_negatives": 0.0},
            lambda x, z: losses.assume_negative(x, z, smoothing=(0.1, 0.0)),
        ),
        ({"smoothing_negatives": "0.3"}, lambda x, z: losses.assume_negative(x, z, smoothing=(0.0, 0.3))),
    ],
)
def test_each_setting_is_the_loss_it_names(settings, loss):
    got, logits = loss_of(settings)
    assert torch.equal(got, loss(logits, LABELS.rows(np.arange(3))))


def test_the_numbers_worked_out_by_hand():
    logits = loss_of({})[1].detach().double().numpy()
    targets = (LABELS.to_signed() == 1).astype(float)

    def cross_entropy(targets):
        return targets * np.log1p(np.exp(-logits)) + (1 - targets) * np.log1p(np.exp(logits))

    assert loss_of({})[0].item() == pytest.approx(cross_entropy(targets).mean(), rel=1e-5)
    weighted = (np.where(targets > 0, 1, 1 / 3) * cross_entropy(targets)).mean()
    assert loss_of({"weight": None})[0].item() == pytest.approx(weighted, rel=1e-5)
    smooth = cross_entropy(np.where(targets > 0, 0.9, 0.1)).mean()
    assert loss_of({"smoothing": 0.1})[0].item() == pytest.approx(smooth, rel=1e-5)


def test_labels_without_positives_are_refused():
    for dense in ([[-1, 0]], [[0, 0]]):
        with pytest.raises(TrilabelError, match="no label here is known to be present"):
            create_method("assume-negative", {}, Labels.from_signed(dense))
    create_method("assume-negative", {}, Labels.from_signed([[1, 0]]))


@pytest.mark.parametrize("weight", [None, 0.5])
def test_a_weight_and_smoothing_exclude_each_other(weight):
    for smoothing in ({"smoothing": 0.1}, {"smoothing_negatives": 0.1}):
        with pytest.raises(TrilabelError, match="a weight or smoothing, not both"):
            check_method("assume-negative", {"weight": weight, **smoothing}, LABELS)
    check_method("assume-negative", {"weight": weight, "smoothing": 0.0}, LABELS)


@pytest.mark.parametrize("settings", [{}, {"weight": None}, {"smoothing": 0.1}])
def test_hidden_positives_rank_above_true_negatives(settings):
    features, truth = linear_problem()
    some = np.flatnonzero((truth > 0).any(1))
    features, truth = features[some], truth[some]
    draw = np.random.default_rng(5)
    chosen = np.array([draw.choice(np.flatnonzero(row > 0)) for row in truth])
    dense = np.zeros_like(truth)
    dense[np.arange(len(truth)), chosen] = 1
    labels = Labels.from_signed(dense)
    model = learned(create_method("assume-negative", settings, labels), features, labels)
    scores = model(features).logits.detach().numpy()
    hidden = (truth > 0) & (dense == 0)
    assert hidden.any(0).all()
    assert share_ranked_right(scores, hidden, truth < 0) > 0.8
    if not settings:  # what AN is known for: it learns the order, and calls most positives absent
        assert (scores[hidden] < 0).mean() > 0.5
