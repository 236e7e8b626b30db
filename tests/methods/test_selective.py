"""selective is the loss it names, warms up where it can, and leaves common classes out once it knows them."""

import math

import numpy as np
import pytest
import torch

from tests.oracles import losses as oracle
from tests.support.one_positive import batches, found, linear_model, one_positive_problem, train
from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import Batch, check_method, create_method
from trilabel.models import Output

LABELS = Labels.from_signed([[1, 0, -1, 0], [0, 0, 0, 0], [0, 1, 0, -1]])
ONLY = Labels.from_signed([[1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]])
KNOWN = LABELS.rows(np.arange(3))
LOGITS = 3 * torch.randn(3, 4, generator=torch.Generator().manual_seed(2))


def step(method, warm_up=False, known=KNOWN, epoch=1):
    batch = Batch(LOGITS, None, known, torch.arange(3), epoch, warm_up=warm_up)
    return method.step(lambda images: Output(images, images), batch)


def of_loops(known, top_k, common, gammas=(0, 1, 4), clip=0.0):
    """(loss, as what each label was scored), label by label."""
    x, z = LOGITS.tolist(), known.tolist()
    large = oracle.largest_unknown(x, z, 3 * top_k)
    counted = [[z[i][j] == 0 and not large[i][j] and j not in common for j in range(4)] for i in range(3)]
    targets = [[-1 if counted[i][j] else z[i][j] for j in range(4)] for i in range(3)]
    return oracle.partial_asymmetric(x, z, counted, gammas, clip) / 12, targets


@pytest.mark.parametrize(
    ("settings", "loss"),
    [
        ({}, {"top_k": 1}),
        ({"top_k": "1"}, {"top_k": 1}),
        ({"top_k": 0}, {"top_k": 0}),
        (
            {"top_k": 1, "gamma_pos": "1", "gamma_neg": "2", "gamma_unknown": "3", "clip": "0.1"},
            {"top_k": 1, "gamma_pos": 1, "gamma_neg": 2, "gamma_unknown": 3, "clip": 0.1},
        ),
    ],
)
def test_each_setting_is_the_loss_it_names(settings, loss):
    parts = step(create_method("selective", settings, LABELS))
    assert set(parts) == {"loss", "logits", "targets"}
    assert torch.equal(parts["loss"], losses.partial_asymmetric(LOGITS, KNOWN, "selective", **loss))
    gammas = [loss.get(name, value) for name, value in (("gamma_pos", 0), ("gamma_neg", 1), ("gamma_unknown", 4))]
    value, targets = of_loops(KNOWN, loss.get("top_k", 5), (), gammas, loss.get("clip", 0.0))
    assert parts["loss"].item() == pytest.approx(value, rel=1e-5)
    assert parts["targets"].tolist() == targets and parts["targets"].dtype == torch.int8


@pytest.mark.parametrize(("classes", "top_k"), [(1, 1), (16, 1), (20, 2), (80, 5), (5000, 5)])
def test_how_many_take_no_part_follows_the_number_of_classes(classes, top_k):
    dense = np.zeros((2, classes), np.int8)
    dense[0, 0] = 1
    assert create_method("selective", {}, Labels.from_signed(dense)).top_k == top_k


def test_the_warm_up_learns_from_known_labels_alone():
    method = create_method("selective", {"gamma_neg": 2, "top_k": 1}, LABELS)
    method.priors.fill_(0.9)
    parts = step(method, warm_up=True)
    assert torch.equal(parts["loss"], losses.partial_asymmetric(LOGITS, KNOWN, "ignore", 0, 2))
    assert torch.equal(parts["targets"], KNOWN)  # unknown labels take no part


def test_what_is_common_in_the_warm_up_takes_no_part_afterwards():
    both = Labels.from_signed([[1, 0, -1, 0], [-1, -1, 1, 0], [0, 1, 0, 1]])  # no absent of the last class is known
    method = create_method("selective", {"top_k": 1, "prior_threshold": 0.4}, both)
    assert not method.priors.any()
    method.start_epoch(1)
    step(method, warm_up=True)
    method.start_epoch(2)
    for _ in range(2):
        step(method, warm_up=True)
    method.end_warm_up(lambda value, how: value)
    mean = [sum(oracle.sigmoid(LOGITS[row, c].item()) for row in range(3)) / 3 for c in range(3)]
    assert method.priors.tolist() == pytest.approx([*mean, 0], rel=1e-6)
    common = tuple(c for c in range(3) if mean[c] > 0.4)
    assert 0 < len(common) < 3
    parts = step(method)
    value, targets = of_loops(KNOWN, 1, common=common)
    assert parts["loss"].item() == pytest.approx(value, rel=1e-5) and parts["targets"].tolist() == targets
    assert targets != of_loops(KNOWN, 1, common=())[1]
    again = create_method("selective", {"top_k": 1, "prior_threshold": 0.4}, both)
    again.load_state_dict(method.state_dict())
    assert torch.equal(step(again)["loss"], parts["loss"])


@pytest.mark.parametrize(
    ("labels", "settings", "epochs"),
    [
        (Labels.from_signed([[1, 0], [-1, 1]]), {}, 3),
        (Labels.from_signed([[1, 0], [-1, 1]]), {"prior_epochs": "none"}, 3),
        (LABELS, {"prior_epochs": "5"}, 5),
        (LABELS, {"prior_epochs": 0}, 0),
        (ONLY, {}, 0),
        (ONLY, {"prior_epochs": 0}, 0),
    ],
)
def test_it_warms_up_where_positives_and_negatives_are_known(labels, settings, epochs):
    method = create_method("selective", settings, labels)
    assert method.warm_up_epochs == epochs
    noted = labels is ONLY and not settings  # where prior_epochs=0 was asked for, nobody need be noted
    assert bool(method.notes) == noted
    if noted:
        assert len(method.notes) == 1 and "no class has known positives and negatives" in method.notes[0]


def test_a_warm_up_on_positives_only_is_refused_with_a_way_out():
    with pytest.raises(TrilabelError, match=r"warm-up of selective .*known to be absent.* Use prior_epochs=0$") as e:
        check_method("selective", {"prior_epochs": 2}, ONLY)
    assert "\n" not in str(e.value)
    for dense in ([[-1, 0]], [[0, 0]]):
        with pytest.raises(TrilabelError, match=r"^selective: no label here is known to be present"):
            check_method("selective", {}, Labels.from_signed(dense))


@pytest.mark.parametrize(
    "settings",
    [{"top_k": -1}, {"prior_epochs": -1}, {"prior_threshold": 1.1}, {"prior_threshold": math.nan}],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(
        TrilabelError, match=r"^selective: top_k and prior_epochs are 0 or more|must be a finite number"
    ):
        check_method("selective", settings, LABELS)


def warm_up_on(method, features, labels, epochs):
    model = linear_model(features.shape[1], labels.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    started = 0
    for epoch, rows in batches(len(features), epochs):
        if epoch > started:
            method.start_epoch(epoch)
            started = epoch
        optimizer.zero_grad()
        batch = Batch(features[rows], None, labels.rows(rows.numpy()), rows, epoch, 0.01, warm_up=True)
        method.step(model, batch)["loss"].backward()
        optimizer.step()
    method.end_warm_up(lambda value, how: value)


def test_it_finds_hidden_positives_above_all_of_a_common_class():
    """A tenth of the labels, and a class that most images have: taking unknown for absent denies it to all of them."""
    features, truth, _, _ = one_positive_problem()
    truth[:, 0] *= -1
    assert (truth > 0).mean(0)[0] > 0.6 and (truth > 0).mean(0)[1:].max() < 0.5
    kept = np.random.default_rng(1).random(truth.shape) < 0.1
    labels, called, common = Labels.from_signed(np.where(kept, truth, 0)), {}, {}
    for name, settings in (
        ("assume-negative", {}),
        ("selective", {"prior_epochs": 0, "top_k": 0}),  # the same focus, but nothing is left out
        ("selective", {"top_k": 1}),
    ):
        method, model = create_method(name, settings, labels), linear_model(features.shape[1], labels.shape[1])
        if method.warm_up_epochs:
            warm_up_on(method, features, labels, 9)
            assert method.priors.argmax() == 0 and method.priors[0] == pytest.approx((truth > 0).mean(0)[0], abs=0.05)
        train(method, model, features, labels)
        called[name, len(settings)] = found(model, features, truth, labels)[0]
        common[name, len(settings)] = ((model(features).logits.detach().numpy() > 0) == (truth > 0))[:, 0].mean()
    nothing, some, more = called.values()
    assert nothing < 0.1 and some < 0.5 and more > 0.7
    nothing, some, more = common.values()
    assert nothing < 0.4 and more > some + 0.1 and more > 0.8
