"""posterior is known-only and assume-negative where these are right, and better than both in between."""

import numpy as np
import pytest
import torch

from tests.support.linear_problem import share_ranked_right
from tests.support.logistic_problem import CLASSES, FEATURES, logistic_problem, observed, one_named
from trilabel import metrics
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import Batch, check_method, create_method
from trilabel.models import FeatureClassifier
from trilabel.models.heads.gap import GapHead

RATES = np.linspace(0.1, 0.9, CLASSES)[[3, 0, 6, 1, 7, 4, 2, 5]]  # of tags, in no order of how common a class is
FULL = Labels.from_signed(logistic_problem(300, seed=7)[1].astype(np.int8))  # of validation images


def new_model():
    torch.manual_seed(0)
    return FeatureClassifier(GapHead(FEATURES, CLASSES))


def batch_of(features, labels, epoch=2, warm_up=False):
    rows = torch.arange(len(features))
    return Batch(features, None, labels.rows(rows.numpy()), rows, epoch, warm_up=warm_up)


def train(method, features, labels, steps=120, warm_up=False):
    """A linear layer that starts where the method wants it, trained on all images at once."""
    model = new_model()
    if not warm_up and (logits := method.initial_logits()) is not None:
        model.head.start_at(logits)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for step in range(steps):
        method.start_epoch(1)
        optimizer.zero_grad()
        batch = batch_of(features, labels, epoch=1 if step < steps // 5 else 2, warm_up=warm_up)
        method.step(model, batch)["loss"].backward()
        optimizer.step()
    return model


def learned(name, settings, features, labels, validation=None):
    return train(create_method(name, settings, labels, FEATURES, validation), features, labels)


@torch.no_grad()
def test_map(model, seed=50):
    """mAP on images not learned from."""
    features, truth = logistic_problem(2000, seed)
    return metrics.evaluate(model(features).logits, Labels.from_signed(truth.astype(np.int8)))["mAP"]


test_map.__test__ = False


@torch.no_grad()
def hidden_found(model, features, truth, labels):
    """Average precision, over all unknown labels at once, of finding those that are present."""
    unknown = labels.to_signed() == 0
    scores, right = model(features).logits.numpy()[unknown], truth[unknown] > 0
    order = np.argsort(-scores)
    hits = np.cumsum(right[order])
    return float((hits / np.arange(1, len(hits) + 1))[right[order]].mean())


def gradient(name, settings, features, labels):
    """Of the head's weights, in one step."""
    model = new_model()
    create_method(name, settings, labels).step(model, batch_of(features, labels))["loss"].backward()
    return model.head.linear.weight.grad


def test_labels_missing_at_random_make_it_known_only():
    """The same gradients, to the bit where the rates are equal, if both divide by all labels."""
    features, truth = logistic_problem(200)
    labels = observed(truth, 0.3, 0.3)
    ours = gradient("posterior", {"positives_known": 0.3, "negatives_known": 0.3}, features, labels)
    torch.testing.assert_close(ours, gradient("known-only", {"normalize": "all"}, features, labels))


def test_positives_that_are_always_named_make_it_assume_negative():
    features, truth = logistic_problem(200)
    labels = observed(truth, 1.0, 0.2)
    settings = {"positives_known": 1, "negatives_known": 0.2, "smoothing": 0.1, "smoothing_until": None}
    ours = gradient("posterior", settings, features, labels)
    torch.testing.assert_close(ours, gradient("assume-negative", {"smoothing": 0.1}, features, labels))


def test_tags_are_learned_better_than_by_reading_unknown_as_absent_and_targets_are_calibrated():
    """With the rates of each class, found by class shares; one rate for all classes ranks worse."""
    features, truth = logistic_problem()
    labels = observed(truth, RATES, 0.0)
    method = create_method("posterior", {}, labels, FEATURES, FULL)
    assert np.abs(method.rates[0].numpy() - RATES).mean() < 0.1 and not method.rates[1].any()
    model = train(method, features, labels)
    found = hidden_found(model, features, truth, labels)
    for other in ("assume-negative", "role"):
        assert found > hidden_found(learned(other, {}, features, labels, FULL), features, truth, labels) + 0.1
    same_for_all = learned("posterior", {"positives_known": RATES.mean()}, features, labels)
    assert found > hidden_found(same_for_all, features, truth, labels) + 0.1
    parts, unknown = method.step(model, batch_of(features, labels)), labels.to_signed() == 0
    assert parts["unknown_target"].item() == pytest.approx((truth[unknown] > 0).mean(), rel=0.1)
    shares, named = (truth > 0).mean(0), (labels.to_signed() > 0).mean(0)
    predicted = torch.sigmoid(parts["logits"]).mean(0).numpy()
    assert np.abs(predicted - shares).mean() < np.abs(named - shares).mean() / 4  # assume-negative predicts those named


def test_known_negatives_do_not_help_known_only_where_positives_are_named_more_often():
    features, truth = logistic_problem()
    labels = observed(truth, RATES, 0.02)
    ours, theirs = learned("posterior", {}, features, labels, FULL), learned("known-only", {}, features, labels, FULL)
    assert hidden_found(ours, features, truth, labels) > hidden_found(theirs, features, truth, labels) + 0.05


def test_one_positive_per_image_is_learned_better_than_by_reading_unknown_as_absent():
    features, truth = logistic_problem()
    labels = one_named(truth)
    method = create_method("posterior", {}, labels, FEATURES)
    assert method.kind == "one-of-k"
    ours, theirs = train(method, features, labels), learned("assume-negative", {}, features, labels)
    assert test_map(ours) > test_map(theirs) + 0.005
    unknown = torch.from_numpy(labels.to_signed() == 0)
    hidden = (torch.from_numpy(truth) > 0) & unknown
    called = [(torch.sigmoid(model(features).logits) > 0.5)[hidden].float().mean().item() for model in (ours, theirs)]
    assert called[0] > 2 * called[1]  # of the hidden positives


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("right", "positives", "negatives"), [("known-only", 0.15, 0.15), ("assume-negative", 0.97, 0.0)]
)
def test_it_is_no_worse_than_what_is_right(right, positives, negatives, seed):
    features, truth = logistic_problem(seed=seed)
    labels = observed(truth, positives, negatives, seed)
    ours, theirs = (test_map(learned(name, {}, features, labels, FULL)) for name in ("posterior", right))
    assert ours > theirs - 0.004


def test_half_of_the_images_full_and_half_tags():
    """Shares are counted in the full half, rates in the other; better than either half's own method."""
    features, truth = logistic_problem()
    dense = observed(truth, RATES, 0.0).to_signed()
    dense[::2] = truth[::2]
    labels = Labels.from_signed(dense)
    method = create_method("posterior", {}, labels, FEATURES)
    assert np.abs(method.rates[0].numpy() - RATES).mean() < 0.1
    found = hidden_found(train(method, features, labels), features, truth, labels)
    assert found > hidden_found(learned("assume-negative", {}, features, labels), features, truth, labels) + 0.02
    assert found > hidden_found(learned("known-only", {}, features, labels), features, truth, labels) - 0.005


def test_rates_are_fitted_where_negatives_are_known():
    """Without any fully labelled image, from a warm-up on every second image."""
    features, truth = logistic_problem(4000)
    labels = observed(truth, 0.5, 0.1)
    method = create_method("posterior", {}, labels, FEATURES)
    assert method.kind == "fit" and method.warm_up_epochs == 3
    train(method, features, labels, steps=60, warm_up=True)
    method.end_warm_up(lambda value, how: value)
    positives, negatives = method.rates.numpy()
    assert np.abs(positives - 0.5).mean() < 0.1 and np.abs(negatives - 0.1).mean() < 0.02
    assert not method.fit_counts.any()


def test_the_warm_up_counts_only_images_that_it_does_not_learn_from():
    features, truth = logistic_problem(40)
    labels = observed(truth, 0.5, 0.5)
    method, model = create_method("posterior", {"rates": "fit"}, labels), new_model()
    method.step(model, batch_of(features, labels, warm_up=True))["loss"].backward()
    of_all = model.head.linear.weight.grad.clone()
    images, _, known, _ = method.fit_counts.view(4, CLASSES, -1).sum(2)
    assert (images == 20).all() and known.sum() == (labels.to_signed()[1::2] != 0).sum()
    model.zero_grad()
    even = batch_of(features, labels, warm_up=True)
    even = even._replace(**{part: getattr(even, part)[::2] for part in ("images", "labels", "rows")})
    method.step(model, even)["loss"].backward()
    torch.testing.assert_close(model.head.linear.weight.grad, of_all)


def test_several_passes_over_the_images_count_as_one():
    """As a fitted head makes them in an epoch: otherwise what few labels say would hardly be shrunk."""
    features, truth = logistic_problem(300)
    labels, found = observed(truth, 0.4, 0.2), []
    for passes in (1, 17):
        method, model = create_method("posterior", {"rates": "fit"}, labels), new_model()
        for _ in range(passes):
            method.step(model, batch_of(features, labels, warm_up=True))
        assert "rates as fitted: present labels are known" in method.end_warm_up(lambda value, how: value)
        found.append(method.rates)
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fitted_rates_cost_little_where_labels_are_missing_at_random(seed):
    """With 400 images, of which the fit sees half."""
    features, truth = logistic_problem(400, seed=seed)
    labels = observed(truth, 1 / 3, 1 / 3, seed)
    method = create_method("posterior", {"rates": "fit"}, labels, FEATURES)
    train(method, features, labels, steps=60, warm_up=True)
    method.end_warm_up(lambda value, how: value)
    ours, theirs = train(method, features, labels), learned("known-only", {}, features, labels)
    assert test_map(ours) > test_map(theirs) - 0.01


def test_a_fit_is_about_images_that_were_not_labelled_in_full():
    features, truth = logistic_problem(4000)
    dense = observed(truth, 0.4, 0.1).to_signed()
    dense[::3] = truth[::3]
    labels = Labels.from_signed(dense)
    method = create_method("posterior", {"rates": "fit"}, labels, FEATURES)
    train(method, features, labels, steps=60, warm_up=True)
    method.end_warm_up(lambda value, how: value)
    positives, negatives = method.rates.numpy()
    assert np.abs(positives - 0.4).mean() < 0.1 and np.abs(negatives - 0.1).mean() < 0.02


def test_the_first_epoch_of_one_of_k_counts_unknown_as_absent():
    features, truth = logistic_problem(60)
    labels = one_named(truth)
    labels = labels[labels.counts_per_image()[0] > 0]
    features = features[: len(labels)]
    absent = create_method("assume-negative", {}, labels).step(new_model(), batch_of(features, labels))["loss"]
    for settings, epoch, same in (({}, 1, True), ({}, 2, False), ({"warm_up": 0}, 1, False), ({"warm_up": 2}, 2, True)):
        method = create_method("posterior", {"smoothing": 0, **settings}, labels)
        loss = method.step(new_model(), batch_of(features, labels, epoch))["loss"]
        assert torch.allclose(loss, absent) == same


@pytest.mark.parametrize(
    ("until", "epoch", "share", "expected"),
    [(0.5, 1, 0, 0.2), (0.5, 3, 0, 0.1), (0.5, 3, 0.5, 0.075), (0.5, 5, 0, 0), (1.0, 5, 0, 0.1), (None, 8, 0.9, 0.2)],
)
def test_smoothing_fades_over_the_first_half_of_a_stage(until, epoch, share, expected):
    features, truth = logistic_problem(60)
    labels = observed(truth, 0.5, 0.1)
    rates = {"positives_known": 0.5, "negatives_known": 0.1}
    batch = batch_of(features, labels, epoch)._replace(share=share, epochs=8)
    method = create_method("posterior", {**rates, "smoothing": 0.2, "smoothing_until": until}, labels)
    constant = create_method("posterior", {**rates, "smoothing": expected, "smoothing_until": None}, labels)
    ours, theirs = (each.step(new_model(), batch)["loss"] for each in (method, constant))
    torch.testing.assert_close(ours, theirs)


def test_labels_missing_at_random_are_not_smoothed():
    features, truth = logistic_problem(60)
    labels = observed(truth, 0.5, 0.5)
    losses = []
    for smoothing in (0.0, 0.2):
        rates = {"positives_known": 0.5, "negatives_known": 0.5}
        method = create_method("posterior", {**rates, "smoothing": smoothing}, labels)
        losses.append(method.step(new_model(), batch_of(features, labels, 1)._replace(epochs=8))["loss"])
    assert losses[0] == losses[1]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_smoothing_at_first_helps_where_a_model_can_learn_its_images_by_heart(seed):
    """150 features, of which 8 say something, and 300 images."""

    def drawn(count, seed):
        draw, directions = np.random.default_rng(seed), np.random.default_rng(99).standard_normal((150, 6))
        features = draw.standard_normal((count, 150))
        logits = 1.2 * features[:, :8] @ directions[:8] - 2
        truth = np.where(draw.random(logits.shape) < 1 / (1 + np.exp(-logits)), 1, -1).astype(np.int8)
        return torch.from_numpy(features.astype(np.float32)), truth

    (features, truth), (unseen, right), epochs = drawn(300, seed), drawn(2000, 1000), 40
    labels = observed(truth, 0.5, 0.0, seed)
    rows, known = torch.arange(300), labels.rows(np.arange(300))
    scored = []
    for settings in ({}, {"smoothing": 0}):
        method = create_method("posterior", {"positives_known": 0.5, **settings}, labels)
        torch.manual_seed(0)
        model = FeatureClassifier(GapHead(150, 6))
        model.head.start_at(method.initial_logits())
        optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
        for epoch in range(1, epochs + 1):
            optimizer.zero_grad()
            method.step(model, Batch(features, None, known, rows, epoch, epochs=epochs))["loss"].backward()
            optimizer.step()
        with torch.no_grad():
            scored.append(metrics.evaluate(model(unseen).logits, Labels.from_signed(right))["mAP"])
    assert scored[0] > scored[1] + 0.005


def test_what_it_reports():
    labels = Labels.from_signed([[1, 0, 0, 0], [0, -1, 0, 1]])
    method = create_method("posterior", {"positives_known": 0.5, "smoothing": 0, "warm_up": 0}, labels)
    model = FeatureClassifier(GapHead(2, 4))
    with torch.no_grad():
        model.head.linear.weight.zero_()
        model.head.linear.bias.copy_(torch.tensor([2.0, 0.5, 3.0, -1.0]))
    parts = method.step(model, Batch(torch.zeros(2, 2), None, labels.rows([0, 1]), torch.arange(2), 1))
    assert parts["targets"].tolist() == [[1, -1, 1, -1], [1, -1, 1, 1]] and parts["targets"].dtype == torch.int8
    odds = 0.5 * np.exp([0.5, 3.0, -1.0, 2.0, 3.0])  # of unknown labels
    assert parts["unknown_target"].item() == pytest.approx((odds / (1 + odds)).mean(), rel=1e-5)
    known = torch.from_numpy(labels.to_signed() != 0)
    torch.testing.assert_close(parts["soft_targets"][~known].double(), torch.from_numpy(odds / (1 + odds)))
    assert parts["soft_targets"][known].tolist() == [1, 0, 1]
    assert parts["positives_known"].item() == 0.5
    at_random = create_method("posterior", {"positives_known": 0.5, "negatives_known": 0.5}, labels)
    parts = at_random.step(model, Batch(torch.zeros(2, 2), None, labels.rows([0, 1]), torch.arange(2), 1))
    assert parts["targets"].tolist() == labels.to_signed().tolist()  # others take no part


def test_it_reports_the_range_of_its_rates():
    features, truth = logistic_problem(500)
    labels = observed(truth, RATES, 0.0)
    method = create_method("posterior", {}, labels, FEATURES, FULL)
    parts = method.step(new_model(), batch_of(features, labels))
    found = [parts[f"positives_known{part}"].item() for part in ("_lowest", "", "_highest")]
    assert found == [getattr(method.rates[0], name)().item() for name in ("min", "mean", "max")]
    assert parts["negatives_known"].item() == parts["negatives_known_highest"].item() == 0
    one = one_named(truth)
    assert "positives_known" not in create_method("posterior", {}, one).step(new_model(), batch_of(features, one))


def test_it_says_which_rates_it_knows():
    truth = logistic_problem(400)[1]
    given = {"positives_known": 0.5, "negatives_known": 0.25}
    found = create_method("posterior", given, observed(truth, 0.5, 0.25), FEATURES).known_rates()
    assert (found.positives == 0.5).all() and (found.negatives == 0.25).all()
    assert create_method("posterior", {"rates": "one-of-k"}, one_named(truth), FEATURES).known_rates() is None
    assert create_method("known-only", {}, observed(truth, 0.5, 0.25), FEATURES).known_rates() is None


def test_it_starts_at_the_shares_that_follow_from_the_rates():
    _, truth = logistic_problem(3000)
    labels = observed(truth, RATES, 0.0)
    for settings, validation in (({}, FULL), ({"positives_known": 0.5}, None)):
        method = create_method("posterior", settings, labels, FEATURES, validation)
        started = torch.sigmoid(method.initial_logits()).numpy()
        expected = labels.counts_per_class()[0] / 3000 / method.rates[0].numpy()
        np.testing.assert_allclose(started, expected, rtol=1e-3)
    ranked = share_ranked_right(np.stack([started] * 2), np.ones((2, 8), bool), np.ones((2, 8), bool))
    assert ranked == 0  # the same for every image


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"positives_known": 0}, "positives_known is a share above 0"),
        ({"negatives_known": 1}, "negatives_known is a share below 1"),
        ({"fit_epochs": 0}, "fit_epochs of 1 or more"),
        ({"warm_up": -1}, "warm_up of 0 or more"),
        ({"smoothing": 2}, "smoothing a share"),
        ({"smoothing_until": 0}, "smoothing_until is a share of the epochs above 0, or none, not 0"),
        ({"rates": "given"}, "needs numbers. Use --set positives_known"),
        ({"rates": "fit", "positives_known": 0.3}, "rates=fit takes neither"),
        ({"rates": "shares", "positives_known": 0.3}, "rates=shares takes no positives_known"),
        ({"table": "a.csv", "positives_known": 0.3}, "not both"),
    ],
)
def test_settings_at_odds_are_refused(settings, match):
    with pytest.raises(TrilabelError, match=match) as caught:
        check_method("posterior", settings, Labels.from_signed([[1, 0, -1]]))
    assert "\n" not in str(caught.value)


def test_the_first_quarter_of_the_epochs_counts_unknown_as_absent_where_no_negative_is_known() -> None:
    labels = one_named(logistic_problem(40, seed=1)[1])
    method = create_method("posterior", {"rates": "one-of-k"}, labels, FEATURES)
    assert [method.absent_epochs(epochs) for epochs in (1, 4, 7, 12, 20)] == [1, 1, 1, 3, 5]
    some, rows = labels.rows(np.arange(2)), torch.arange(2)
    inputs = torch.randn(2, FEATURES, generator=torch.Generator().manual_seed(0))
    model = FeatureClassifier(GapHead(FEATURES, CLASSES))
    batches = [Batch(inputs, None, some, rows, epoch, epochs=12) for epoch in (3, 4)]
    absent, then, later = (
        method.step(model, batch)["soft_targets"][some == 0]
        for batch in (*batches, batches[0]._replace(goes_on=True))  # a stage before has taught the model
    )
    smoothed = method.smoothing(batches[0])
    assert torch.equal(absent, torch.full_like(absent, smoothed))
    assert (then != smoothed).all() and (later > absent).all()
    assert create_method("posterior", {"warm_up": 2}, labels, FEATURES).absent_epochs(20) == 2
    given = {"positives_known": 0.3}
    assert create_method("posterior", given, labels, FEATURES).absent_epochs(20) == 5
    assert create_method("posterior", {**given, "negatives_known": 0.1}, labels, FEATURES).absent_epochs(20) == 0
