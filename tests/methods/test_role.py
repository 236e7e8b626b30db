"""role is ROLE plus the known negatives; its estimates move as Adam would move them, and find hidden positives."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from tests.support.linear_problem import CLASSES, FEATURES, share_ranked_right
from tests.support.one_positive import batches, found, linear_model, one_positive_problem, train
from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import Batch, check_method, create_method

ESTIMATORS = ("table", "factorized", "network")
LABELS = Labels.from_signed([[1, 0, -1, 0], [0, 0, 0, 0], [0, 1, 0, -1], [0, 0, 1, 0], [1, 0, 0, 1]])
SURE, UNSURE = math.log(0.995 / 0.005), math.log(0.6 / 0.4)


def role(settings=None, labels=LABELS, validation=None, features=5):
    torch.manual_seed(3)
    return create_method("role", settings or {}, labels, features, validation)


def batch_of(labels, rows=None, lr=1e-3, features=5, seed=4):
    rows = torch.arange(len(labels)) if rows is None else torch.as_tensor(rows)
    images = torch.randn(len(rows), features, generator=torch.Generator().manual_seed(seed))
    return Batch(images, None, labels.rows(rows.numpy()), rows, 1, lr)


def estimate_logits(method, batch):
    return torch.logit(method.estimates(batch.rows, batch.labels, batch.images).double()).float()


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("k", [1.5, 2.25])
def test_each_setting_is_the_loss_it_names(estimator, k):
    method, model = role({"estimator": estimator, "expected_positives": k, "rank": 3, "hidden": 7}), linear_model(5, 4)
    batch = batch_of(LABELS, rows=[3, 0, 2])
    logits, estimate = model(batch.images).logits, estimate_logits(method, batch)
    parts = method.step(model, batch)
    assert set(parts) == {"loss", "logits"}
    absent = batch.labels.clamp(max=0)
    of_negatives = (losses.bce(logits, absent) + losses.bce(estimate, absent)) / 2
    torch.testing.assert_close(parts["loss"], losses.role(logits, batch.labels, estimate, k) + of_negatives)
    assert torch.equal(parts["logits"], logits) and not parts["logits"].requires_grad


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_printed_form_weighs_known_labels_by_the_number_of_classes(estimator):
    settings = {"estimator": estimator, "expected_positives": 1.5, "rank": 3, "hidden": 7}
    method, model = role({**settings, "form": "printed"}), linear_model(5, 4)
    batch = batch_of(LABELS, rows=[3, 0, 2])
    logits, estimate = model(batch.images).logits, estimate_logits(method, batch)
    parts = method.step(model, batch)
    absent = batch.labels.clamp(max=0)
    of_negatives = 4 * (losses.bce(logits, absent) + losses.bce(estimate, absent)) / 2
    expected = losses.role(logits, batch.labels, estimate, 1.5, known_weight=4) + of_negatives
    torch.testing.assert_close(parts["loss"], expected)
    (of_step,) = torch.autograd.grad(parts["loss"], model.head.linear.bias)
    (of_loss,) = torch.autograd.grad(expected, model.head.linear.bias)
    torch.testing.assert_close(of_step, of_loss)
    once = losses.role(logits, batch.labels, estimate, 1.5)
    present = batch.labels.clamp(min=0)
    more = 3 * (losses.bce(logits, present) + losses.bce(estimate, present)) / 2
    torch.testing.assert_close(expected - of_negatives, once + more)


def test_the_numbers_worked_out_by_hand():
    method, model, batch = role({"expected_positives": 1.75}), linear_model(5, 4), batch_of(LABELS)
    f = torch.sigmoid(model(batch.images).logits).tolist()
    g = method.estimates(batch.rows, batch.labels).tolist()
    total, sums = 0.0, [0.0, 0.0]
    for i, row in enumerate(LABELS.to_signed().tolist()):
        for j, z in enumerate(row):
            for which, (p, other) in enumerate(((f[i][j], g[i][j]), (g[i][j], f[i][j]))):
                total -= math.log(p) if z == 1 else math.log(1 - p) if z == -1 else 0.0
                total -= other * math.log(p) + (1 - other) * math.log(1 - p)
                sums[which] += p
    held = sum(((of / 5 - 1.75) / 4) ** 2 for of in sums)
    assert method.step(model, batch)["loss"].item() == pytest.approx((total / 20 + held) / 2, rel=1e-4)


# ---- how estimates start and move


def test_the_table_starts_sure_of_what_is_known_and_undecided_otherwise():
    labels = Labels.from_signed(np.random.default_rng(0).choice([-1, 0, 1], (400, 30)).astype(np.int8))
    values, dense = role(labels=labels).table.values, torch.from_numpy(labels.to_signed())
    assert values.dtype == torch.float32
    torch.testing.assert_close(values[dense == 1], torch.full_like(values[dense == 1], SURE))
    torch.testing.assert_close(values[dense == -1], torch.full_like(values[dense == -1], -SURE))
    unknown = torch.sigmoid(values[dense == 0])
    assert unknown.min() == pytest.approx(0.4, abs=1e-3) and unknown.max() == pytest.approx(0.6, abs=1e-3)
    assert unknown.mean() == pytest.approx(0.5, abs=0.01) and unknown.std() == pytest.approx(0.2 / 12**0.5, rel=0.05)
    assert torch.equal(values, role(labels=labels).table.values)  # by torch's seed
    torch.manual_seed(8)
    assert not torch.equal(values, create_method("role", {}, labels).table.values)


@pytest.mark.parametrize("estimator", ["factorized", "network"])
def test_the_others_start_in_the_same_range(estimator):
    labels = Labels.from_signed(np.random.default_rng(0).choice([-1, 0, 1], (300, 40)).astype(np.int8))
    method, batch = role({"estimator": estimator}, labels), batch_of(labels)
    logits = estimate_logits(method, batch) - SURE * batch.labels
    assert logits.abs().max() <= UNSURE + 1e-3
    assert (logits.std() > 0.005) == (estimator == "factorized")


@pytest.mark.parametrize("estimator", ["table", "factorized"])
def test_it_is_the_paper_s_adam_over_all_estimates(estimator):
    """The same training with the whole table as one dense parameter under torch's Adam."""
    features, _, labels, _ = one_positive_problem()
    features, labels = features[:96], labels[:96]
    method = role({"estimator": estimator, "expected_positives": 2.0, "rank": 4, "lr_scale": 10}, labels)
    dense = nn.Parameter(method.table.values.clone())
    ours, theirs = linear_model(FEATURES, CLASSES), linear_model(FEATURES, CLASSES)
    shared = {name: nn.Parameter(value.detach().clone()) for name, value in method.estimator.named_parameters()}
    groups = [{"params": theirs.parameters(), "lr": 0.003}, {"params": [dense, *shared.values()], "lr": 0.03}]
    adam = torch.optim.Adam(groups)
    for _, rows in batches(96, epochs=8, size=8):
        signs = labels.rows(rows.numpy())
        estimate = dense[rows]
        if estimator == "factorized":
            estimate = estimate @ shared["of_classes"] + shared["bias"] + SURE * signs
        adam.zero_grad()
        losses.role(theirs(features[rows]).logits, signs, estimate, 2.0).backward()
        adam.step()
    start = method.table.values.clone()
    optimizer = torch.optim.Adam(
        [{"params": ours.parameters(), "lr": 0.003}, {"params": method.parameters(), "lr": 0.03}]
        if shared
        else [{"params": ours.parameters(), "lr": 0.003}]
    )
    for _, rows in batches(96, epochs=8, size=8):
        optimizer.zero_grad()
        batch = Batch(features[rows], None, labels.rows(rows.numpy()), rows, 1, 0.003)
        method.step(ours, batch)["loss"].backward()
        optimizer.step()
    moved = (dense.detach() - start).abs().mean()
    assert moved > 0.1
    assert (method.table.current() - dense.detach()).abs().max() < 0.01 * moved
    assert (method.table.values - dense.detach()).abs().max() > 0.05 * moved
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("estimator", ["table", "factorized"])
def test_a_step_moves_the_rows_of_its_batch_and_no_others(estimator):
    method, model = role({"estimator": estimator}), linear_model(5, 4)
    before = method.table.values.clone()
    method.step(model, batch_of(LABELS, rows=[4, 1]))
    assert (method.table.values[[4, 1]] != before[[4, 1]]).any(1).all()
    assert torch.equal(method.table.values[[0, 2, 3]], before[[0, 2, 3]])


@pytest.mark.parametrize("estimator", ["table", "factorized"])
@pytest.mark.parametrize(
    ("settings", "lr", "rate"),
    [({}, 1e-5, 0.05), ({"table_lr": 0.2}, 0.5, 0.2), ({"lr_scale": 10}, 1e-3, 0.01), ({"lr_scale": 2}, 0.01, 0.02)],
)
def test_the_rows_learn_at_a_rate_of_their_own_or_a_multiple_of_the_models(estimator, settings, lr, rate):
    method = role({"estimator": estimator, **settings})
    before = method.table.values.clone()
    method.step(linear_model(5, 4), batch_of(LABELS, lr=lr))
    # The first step of Adam is the learning rate, whatever the gradient.
    torch.testing.assert_close((method.table.values - before).abs().max(), torch.tensor(rate), rtol=1e-3, atol=0)


@pytest.mark.parametrize("lr", [5e-5, 0.01])
def test_the_weights_of_an_estimator_learn_at_a_rate_of_their_own_or_a_multiple_of_the_models(lr):
    for estimator, count, rates in (
        ("factorized", 2, (({}, 0.05), ({"table_lr": 0.2}, 0.2), ({"lr_scale": 7}, 7 * lr))),
        ("network", 4, (({}, min(10 * lr, 0.002)), ({"lr_scale": 7}, 7 * lr))),
    ):
        for settings, rate in rates:
            ((own, scale),) = role({"estimator": estimator, **settings}).parameter_groups(lr)
            assert len(own) == count and scale * lr == pytest.approx(rate)
    assert role().parameter_groups(lr) == [] and not list(role().parameters())


@pytest.mark.parametrize("estimator", ["table", "factorized"])
def test_the_rows_learn_without_a_backward_pass_of_the_model(estimator):
    backward_passes = []

    class Watched(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = linear_model(5, 4)

        def forward(self, images):
            output = self.model(images)
            output.logits.register_hook(backward_passes.append)
            return output

    method = role({"estimator": estimator})
    loss = method.step(Watched(), batch_of(LABELS))["loss"]
    assert method.table.step == 1 and not backward_passes
    assert all(parameter.grad is None for parameter in method.parameters())
    loss.backward()
    assert len(backward_passes) == 1


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_without_gradients_nothing_is_learned(estimator):
    method, model, batch = role({"estimator": estimator}), linear_model(5, 4), batch_of(LABELS)
    before = {name: value.clone() for name, value in method.state_dict().items()}
    with torch.no_grad():
        loss = method.step(model, batch)["loss"]
    assert all(torch.equal(value, before[name]) for name, value in method.state_dict().items())
    assert torch.equal(loss, method.step(model, batch)["loss"].detach())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_gets_a_gradient_and_the_features_none(estimator):
    method, model, batch = role({"estimator": estimator}), linear_model(5, 4), batch_of(LABELS)
    images = batch.images.clone().requires_grad_()
    method.step(model, batch._replace(images=images))["loss"].backward()
    assert all(parameter.grad is not None for parameter in method.parameters())
    # What reaches the images comes through the classifier alone: the network reads features as they are.
    with torch.no_grad():
        estimate = estimate_logits(role({"estimator": estimator}), batch)
    again = batch.images.clone().requires_grad_()
    negatives = losses.bce(logits := model(again).logits, batch.labels.clamp(max=0)) / 2
    (losses.role(logits, batch.labels, estimate, 1.875) + negatives).backward()
    assert method.expected.value == 1.875
    torch.testing.assert_close(images.grad, again.grad, rtol=1e-4, atol=1e-7)


def test_a_new_stage_keeps_the_estimates_and_resets_the_momentum():
    for estimator in ("table", "factorized"):
        method, model = role({"estimator": estimator}), linear_model(5, 4)
        for seed in range(5):
            method.step(model, batch_of(LABELS, rows=[seed], lr=0.01, seed=seed))
        before = {name: value.clone() for name, value in method.state_dict().items()}
        current = method.table.current()
        method.start_epoch(2)
        assert all(torch.equal(value, before[name]) for name, value in method.state_dict().items())
        method.start_epoch(1)
        assert torch.equal(method.table.values, current) and not torch.equal(current, before["table.memory"][:, 0])
        assert not method.table.memory[:, 1:].any() and method.table.step == 0
    role({"estimator": "network"}).start_epoch(1)


def test_syncing_is_that_of_the_table():
    calls = []

    def all_reduce(tensor, how):
        calls.append(how)
        return tensor

    role({"estimator": "network"}).sync(all_reduce)
    assert not calls
    method = role()
    method.step(linear_model(5, 4), batch_of(LABELS))
    assert method.table.updated.all()
    method.sync(all_reduce)
    assert set(calls) == {"sum", "max"} and not method.table.updated.any()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_it_continues_from_what_was_saved(estimator):
    method, model = role({"estimator": estimator}), linear_model(5, 4)
    batch = batch_of(LABELS, rows=[0, 3])
    method.step(model, batch)
    torch.manual_seed(77)
    again = create_method("role", {"estimator": estimator}, LABELS, 5)
    again.load_state_dict(method.state_dict())
    for _ in range(3):
        assert torch.equal(method.step(model, batch)["loss"], again.step(model, batch)["loss"])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_nothing_waits_for_the_device(estimator):
    # On the meta device there are no values: reading one fails.
    method, model, batch = role({"estimator": estimator}).to("meta"), linear_model(5, 4).to("meta"), batch_of(LABELS)
    batch = batch._replace(**{name: getattr(batch, name).to("meta") for name in ("images", "labels", "rows")})
    method.step(model, batch)["loss"].backward()


# ---- what it is for


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_it_finds_more_hidden_positives_than_assume_negative(estimator):
    features, truth, labels, sample = one_positive_problem()
    plain, model = linear_model(FEATURES, CLASSES), linear_model(FEATURES, CLASSES)
    train(create_method("assume-negative", {}, labels), plain, features, labels)
    method = role({"estimator": estimator, "rank": 4, "hidden": 32}, labels, sample, FEATURES)
    train(method, model, features, labels)
    (few, wrong), (many, right) = (found(which, features, truth, labels) for which in (plain, model))
    assert few < 0.4 and many > 0.75
    assert right > wrong + 0.02 and right > 0.83
    rows = torch.arange(len(labels))
    estimates = method.estimates(rows, labels.rows(rows.numpy()), features).numpy()
    hidden, absent = (truth > 0) & (labels.to_signed() == 0), truth < 0
    assert estimates[hidden].mean() > estimates[absent].mean() + 0.2
    if estimator == "table":
        assert (estimates[hidden] > 0.5).mean() > 0.8 and (estimates[absent] < 0.5).mean() > 0.8


@pytest.mark.parametrize(
    ("estimator", "rank", "apart"),
    [("table", 1, 0.2), ("factorized", 32, 0.2), ("factorized", 4, 0.2), ("network", 1, 0.05)],
)
def test_at_the_rate_of_fine_tuning_too_the_estimates_find_hidden_positives(estimator, rank, apart):
    features, truth, labels, sample = one_positive_problem()
    method, model = (
        role({"estimator": estimator, "rank": rank}, labels, sample, FEATURES),
        linear_model(FEATURES, CLASSES),
    )
    # The estimates have the rate of a fine-tuned network; the model's is raised so that a linear one learns at all.
    train(method, model, features, labels, epochs=10, lr=5e-5, model_scale=200)
    rows = torch.arange(len(labels))
    estimates = method.estimates(rows, labels.rows(rows.numpy()), features).numpy()
    hidden, absent = (truth > 0) & (labels.to_signed() == 0), truth < 0
    assert estimates[hidden].mean() > estimates[absent].mean() + apart
    assert share_ranked_right(estimates, hidden, absent) > 0.85


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_known_negatives_anchor_classifier_and_estimates(estimator):
    features, truth, labels, sample = one_positive_problem()
    dense, draw = labels.to_signed().copy(), np.random.default_rng(2)
    dense[(truth < 0) & (draw.random(truth.shape) < 0.3)] = -1
    mixed = Labels.from_signed(dense)
    method, model = role({"estimator": estimator}, mixed, sample, FEATURES), linear_model(FEATURES, CLASSES)
    train(method, model, features, mixed)
    rows = torch.arange(len(mixed))
    estimates = method.estimates(rows, mixed.rows(rows.numpy()), features).numpy()
    # Where the classifier says f, the loss is least at an estimate of (1 + f)/2 for a positive and f/2 for a negative.
    assert estimates[dense == 1].mean() > 0.85 and estimates[dense == -1].mean() < 0.15
    assert (estimates[dense == 1] > 0.5).mean() > 0.98 and (estimates[dense == -1] < 0.5).mean() > 0.98
    scores = model(features).logits.detach().numpy()
    assert (scores[dense == -1] < 0).mean() > 0.9 and (scores[dense == 1] > 0).mean() > 0.9


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("dense", [[[0, 0, 0], [1, 0, 0]], [[1], [0]], [[1, -1], [-1, 1]], [[1]]])
def test_unlabeled_rows_one_class_and_full_labels_also_in_half_precision(estimator, dense):
    labels = Labels.from_signed(dense)
    method, model = role({"estimator": estimator}, labels), linear_model(5, labels.shape[1])
    optimizer = torch.optim.SGD([*model.parameters(), *method.parameters()], lr=0.1)
    for half in (False, True, True):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            parts = method.step(model, batch_of(labels))
        assert parts["loss"].dtype == torch.float32 and torch.isfinite(parts["loss"])
        assert parts["logits"].dtype == (torch.bfloat16 if half else torch.float32)
        parts["loss"].backward()
        optimizer.step()
    tensors = [*model.parameters(), *method.state_dict().values()]
    assert all(torch.isfinite(tensor).all() for tensor in tensors)


# ---- what it knows, and what it refuses


def test_hidden_labels_are_never_counted():
    truth = np.where(np.arange(8) < 5, 1, -1) * np.ones((30, 1), np.int8)
    single = np.zeros_like(truth)
    single[:, 0] = 1
    method = role(labels=Labels.from_signed(single.astype(np.int8)))
    assert method.expected.value == 1.5 and "A GUESS" in method.notes[0]
    sample = Labels.from_signed(truth.astype(np.int8))
    method = role(labels=Labels.from_signed(single.astype(np.int8)), validation=sample)
    assert method.expected.value == 5 and "30 fully labelled images" in method.notes[0]
    assert role({"expected_positives": 2}).notes == ("positives per image: 2 (given)",)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"estimator": "tree"}, "estimator.* must be one of table, factorized, network"),
        ({"rank": 0}, "rank must be at least 1, not 0"),
        ({"hidden": "-3"}, "hidden must be at least 1, not -3"),
        ({"lr_scale": 0}, "lr_scale is a number above 0, not 0"),
        ({"table_lr": 0}, "table_lr is a number above 0, not 0"),
        ({"lr_scale": math.nan}, "'lr_scale' of method 'role' must be a finite number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, says):
    with pytest.raises(TrilabelError, match=says):
        check_method("role", settings, LABELS)


def test_a_network_needs_features():
    with pytest.raises(TrilabelError, match="estimator=network needs a model with features"):
        role({"estimator": "network"}, features=0)
