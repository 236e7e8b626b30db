"""TriLabelClassifier as its users see it."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import trilabel as tl
from tests.estimator.conftest import Toy, toy
from tests.support.logistic_problem import logistic_problem, observed
from trilabel.errors import TrilabelError
from trilabel.estimator import EXPECTED_FAILED_CHECKS, TriLabelClassifier, known_map_scorer
from trilabel.methods.known_only import KnownOnly

QUICK = {"hidden": (), "epochs": 5, "reach": 1.0, "thresholds": 0.5, "random_state": 0}


def quick(**changes: object) -> TriLabelClassifier:
    return TriLabelClassifier(**{**QUICK, **changes})


@pytest.fixture(scope="module")
def fitted(half_planes: Toy) -> TriLabelClassifier:
    return TriLabelClassifier(random_state=0).fit(half_planes.X, half_planes.y)


# ---- what it learns


def test_the_default_learns_and_decides(half_planes: Toy, fitted: TriLabelClassifier) -> None:
    X, truth = half_planes.others, half_planes.other_truth
    assert fitted.score(X, truth) > 0.85
    assert (fitted.predict(X) == truth).mean() > 0.8
    assert fitted.method_ == "known-only" and "known labels" in fitted.decisions_.basis


def test_scores_probabilities_and_decisions_agree(half_planes: Toy, fitted: TriLabelClassifier) -> None:
    X = half_planes.others
    above, probabilities, decided = fitted.decision_function(X), fitted.predict_proba(X), fitted.predict(X)
    assert above.shape == probabilities.shape == decided.shape == (200, 6)
    assert ((above >= 0) == decided).all() and (np.unique(decided) == [0, 1]).all()
    np.testing.assert_array_equal(decided, probabilities >= fitted.thresholds_)
    assert len(set(fitted.thresholds_)) > 1


def test_probabilities_are_calibrated(half_planes: Toy, fitted: TriLabelClassifier) -> None:
    signed = np.where(half_planes.other_truth > 0, 1, -1)
    assert tl.metrics.expected_calibration_error(fitted.predict_proba(half_planes.others), signed) < 0.08


def test_one_positive_per_sample_is_enough(half_planes: Toy) -> None:
    full = tl.Labels.from_signed(np.where(half_planes.truth > 0, 1, -1))
    y = tl.simulate.single_positive(full, seed=0).to_signed()
    y = np.where(y > 0, 1.0, np.nan)
    found = quick(hidden="fourier", thresholds="fitted").fit(half_planes.X, y)
    assert found.method_ == "posterior"
    absent = MultiOutputClassifier(LogisticRegression()).fit(half_planes.X, np.where(y > 0, 1, 0))
    peer = known_map_scorer(absent, half_planes.others, half_planes.other_truth)
    assert found.score(half_planes.others, half_planes.other_truth) > peer - 0.02
    assert 0 < found.predict(half_planes.others).sum(1).mean() < 5


def test_a_network_and_waves_learn_what_no_line_can_tell(rings: Toy) -> None:
    scores = {
        hidden: quick(hidden=hidden, epochs=25).fit(rings.X, rings.y).score(rings.others, rings.other_truth)
        for hidden in ((), "fourier", (32,), (32, 16))
    }
    assert scores[()] < 0.6 and min(scores["fourier"], scores[32,], scores[32, 16]) > 0.7, scores


def test_the_default_sees_whether_a_line_is_enough(half_planes: Toy, rings: Toy) -> None:
    assert quick(hidden="auto").fit(rings.X, rings.y).hidden_ == "fourier"
    many = toy(samples=800, share=1.0)
    assert quick(hidden="auto").fit(many.X, many.y).hidden_ == ()


# ---- forms of X and y


def test_forms_of_labels_are_the_same_labels(half_planes: Toy) -> None:
    X, y = half_planes.X, half_planes.y
    signed = np.where(np.isnan(y), 0, np.where(y > 0, 1, -1)).astype(np.int8)
    table = pd.DataFrame(y, columns=list("abcdef"), index=[7] * len(y))
    forms = [y, y.tolist(), table, table.astype("Int8"), sp.csr_array(signed), tl.Labels.from_signed(signed)]
    scores = [quick().fit(X, form).decision_function(half_planes.others) for form in forms]
    for each in scores[1:]:
        np.testing.assert_array_equal(each, scores[0])
    assert list(quick().fit(X, table).classes_) == list("abcdef")


def test_scaling_and_shifting_columns_changes_nothing(half_planes: Toy) -> None:
    scale, shift = 10.0 ** np.arange(-4, 4), 1e4 * np.arange(8)
    moved = quick().fit(half_planes.X * scale + shift, half_planes.y)
    plain = quick().fit(half_planes.X, half_planes.y)
    np.testing.assert_allclose(
        moved.decision_function(half_planes.others * scale + shift),
        plain.decision_function(half_planes.others),
        atol=1e-2,
    )


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix])
def test_sparse_features(kind: type) -> None:
    draw = np.random.default_rng(0)
    words = (draw.random((300, 500)) < 0.03).astype(np.float32)
    truth = np.stack([words[:, i : i + 15].sum(1) > 0 for i in range(0, 90, 15)], 1).astype(int)
    y = np.where(draw.random((200, 6)) < 0.5, truth[:200], np.nan)
    found = quick(hidden="auto", epochs=20).fit(kind(words[:200]), y)
    assert found.hidden_ == () and found.score(kind(words[200:]), truth[200:]) > truth[200:].mean() + 0.15


def test_few_columns_few_samples_and_constant_columns() -> None:
    X = np.linspace(-1, 1, 30)[:, None]
    y = (X > 0).astype(int)
    assert TriLabelClassifier(random_state=0).fit(X, y).score(X, y) > 0.99
    wide = np.hstack([X, np.ones_like(X), np.zeros((30, 1))])
    assert quick().fit(wide, y).score(wide, y) > 0.99
    assert quick(thresholds="fitted").fit(X[::6], y[::6]).predict(X).shape == (30, 1)


# ---- unknown labels filled in


def test_transduction_keeps_what_is_known(half_planes: Toy, fitted: TriLabelClassifier) -> None:
    y, filled = half_planes.y, fitted.transduction_
    known = ~np.isnan(y)
    assert (filled[known] == y[known]).all() and filled.dtype == np.int8
    assert (filled[~known] == half_planes.truth[~known]).mean() > 0.8
    np.testing.assert_array_equal(filled[~known], fitted.predict(half_planes.X)[~known])


def test_transduction_of_sparse_labels_is_sparse(half_planes: Toy) -> None:
    signed = np.where(np.isnan(half_planes.y), 0, np.where(half_planes.y > 0, 1, -1))
    found = quick().fit(half_planes.X, sp.csr_array(signed)).transduction_
    assert sp.issparse(found)
    np.testing.assert_array_equal(found.toarray(), quick().fit(half_planes.X, half_planes.y).transduction_)


# ---- in scikit-learn's company


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_s_checks_but_for_those_that_are_listed() -> None:
    found = check_estimator(quick(epochs=1), expected_failed_checks=EXPECTED_FAILED_CHECKS, on_fail=None, on_skip=None)
    status = {each["check_name"]: each["status"] for each in found}
    assert {name for name, each in status.items() if each == "failed"} == set()
    assert {name for name, each in status.items() if each == "xfail"} == EXPECTED_FAILED_CHECKS.keys()  # none too many


def test_grid_search_with_unknown_labels(half_planes: Toy) -> None:
    grid = {"reach": [0.01, 1.0], "method": ["known-only", "asymmetric"]}
    search = GridSearchCV(quick(), grid, scoring=known_map_scorer, cv=2).fit(half_planes.X, half_planes.y)
    assert search.best_params_["reach"] == 1.0 and np.isfinite(search.cv_results_["mean_test_score"]).all()
    alone = GridSearchCV(quick(), {"reach": [1.0]}, cv=2).fit(half_planes.X, sp.csr_array(2 * half_planes.truth - 1))
    assert alone.best_score_ > 0.8  # its own score


def test_in_a_pipeline(half_planes: Toy) -> None:
    pipeline = make_pipeline(PCA(6), quick())
    scores = cross_val_score(pipeline, half_planes.X, half_planes.y, scoring=known_map_scorer, cv=2)
    assert scores.min() > 0.6
    pipeline.fit(half_planes.X, half_planes.y, trilabelclassifier__sample_weight=np.ones(200))
    assert pipeline.predict_proba(half_planes.others).shape == (200, 6)


def test_a_clone_is_unfitted_and_equal(fitted: TriLabelClassifier) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params() and not hasattr(copy, "network_")


def test_it_can_be_pickled_and_goes_on(half_planes: Toy, fitted: TriLabelClassifier) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(half_planes.X), fitted.predict_proba(half_planes.X))
    again.partial_fit(half_planes.X[:50], half_planes.y[:50])


def test_the_seed_decides_and_other_draws_are_left_alone(half_planes: Toy) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, again, other = (
        quick(hidden=(8,), random_state=seed).fit(half_planes.X, half_planes.y).predict_proba(half_planes.X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(torch.rand(3), expected)
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


# ---- weights of samples


def test_samples_of_weight_zero_take_no_part(half_planes: Toy) -> None:
    X, y = half_planes.X, half_planes.y
    weights = np.repeat([1.0, 0.0], 100)
    wrong = np.vstack([y[:100], 1 - y[100:]])
    found, alone = quick().fit(X, wrong, sample_weight=weights), quick().fit(X[:100], y[:100])
    np.testing.assert_allclose(found.predict_proba(X), alone.predict_proba(X), atol=1e-5)
    assert found.transduction_.shape == y.shape


def test_a_heavier_sample_counts_for_more(half_planes: Toy) -> None:
    X, y = np.vstack([half_planes.X] * 2), np.vstack([half_planes.truth, 1 - half_planes.truth])
    weights = np.repeat([1.0, 0.1], 200)
    for form in (weights, weights.tolist(), pd.Series(weights)):
        assert quick().fit(X, y, sample_weight=form).score(half_planes.others, half_planes.other_truth) > 0.8
    assert (weights == np.repeat([1.0, 0.1], 200)).all()
    assert quick().fit(X, y, sample_weight=weights[::-1]).score(half_planes.others, half_planes.other_truth) < 0.4


def test_weights_are_checked(half_planes: Toy) -> None:
    for weights in (np.ones(3), -np.ones(200), np.zeros(200), np.ones((200, 2))):
        with pytest.raises(ValueError, match=r"[Ss]ample|zero|negative"):
            quick().fit(half_planes.X, half_planes.y, sample_weight=weights)
    with pytest.raises(TrilabelError, match=r"latent-noise.*takes no sample_weight"):
        quick(method="latent-noise").fit(half_planes.X, half_planes.y, sample_weight=np.arange(200))


# ---- in parts


def test_parts_teach_nearly_as_much_as_all_at_once() -> None:
    data = toy(samples=600, share=0.5)
    first = quick(thresholds="fitted").partial_fit(data.X[:60], data.y[:60])
    before = first.score(data.others, data.other_truth)
    for start in range(60, 600, 60):
        first.partial_fit(data.X[start : start + 60], data.y[start : start + 60])
    whole = quick().fit(data.X, data.y).score(data.others, data.other_truth)
    assert first.score(data.others, data.other_truth) > max(before + 0.01, whole - 0.03)
    assert (first.predict(data.others) == data.other_truth).mean() > 0.8
    assert "540 validation images" in first.decisions_.basis  # scored before they were learned
    assert first.transduction_.shape == (60, 6)


def test_a_part_is_learned_as_the_last_epoch_was(half_planes: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods that count unknown as absent at first would otherwise never do more."""
    seen, step = set[tuple[int, int]](), KnownOnly.step
    found = quick(method="known-only").fit(half_planes.X, half_planes.y)
    monkeypatch.setattr(
        KnownOnly, "step", lambda self, model, batch: seen.add((batch.epoch, batch.epochs)) or step(self, model, batch)
    )
    found.partial_fit(half_planes.X, half_planes.y)
    assert seen == {(5, 5)}


def test_a_network_learns_in_parts(rings: Toy) -> None:
    found = quick(hidden=(32,)).partial_fit(rings.X[:200], rings.y[:200])
    before = found.score(rings.others, rings.other_truth)
    for _ in range(20):
        found.partial_fit(rings.X[200:], rings.y[200:])
    assert found.score(rings.others, rings.other_truth) > before


def test_a_part_may_have_no_positive_but_other_classes_are_refused(half_planes: Toy) -> None:
    found = quick(thresholds="fitted").partial_fit(half_planes.X, half_planes.y)
    found.partial_fit(half_planes.X[:3], np.full((3, 6), np.nan))
    with pytest.raises(TrilabelError, match="y has 2 classes, and the first part had 6"):
        found.partial_fit(half_planes.X, half_planes.y[:, :2])
    with pytest.raises(ValueError, match="features"):
        found.partial_fit(half_planes.X[:, :2], half_planes.y)


def test_a_method_that_remembers_samples_cannot_go_on(half_planes: Toy) -> None:
    found = quick(method="role").partial_fit(half_planes.X, half_planes.y)
    with pytest.raises(TrilabelError, match=r"'role' .* remembers each sample"):
        found.partial_fit(half_planes.X, half_planes.y)
    quick(method="role", settings={"estimator": "network"}).fit(half_planes.X, half_planes.y).partial_fit(
        half_planes.X, half_planes.y
    )


# ---- what is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "known"}, "no method named 'known'"),
        ({"settings": {"delta": 1}, "method": "role"}, "method 'role' has no setting 'delta'"),
        ({"hidden": "deep"}, "hidden is"),
        ({"hidden": (8, 0)}, "a layer of hidden is at least 1, not 0"),
        ({"epochs": 0}, "epochs is at least 1"),
        ({"batch_size": 2.5}, "batch_size must be a whole number"),
        ({"reach": 0}, "reach is above 0"),
        ({"thresholds": 1.5}, "thresholds is"),
        ({"device": "tpu!"}, "no device named"),
    ],
)
def test_parameters_are_checked_when_it_is_fitted(half_planes: Toy, changes: dict, message: str) -> None:
    wrong = quick(**changes)
    with pytest.raises(TrilabelError, match=message):
        wrong.fit(half_planes.X, half_planes.y)


@pytest.mark.gpu
def test_on_a_gpu(half_planes: Toy) -> None:
    found = TriLabelClassifier(random_state=0, device="cuda").fit(half_planes.X, half_planes.y)
    again = pickle.loads(pickle.dumps(found)).set_params(device="cpu")
    assert next(again.network_.parameters()).device.type == "cpu"
    np.testing.assert_allclose(again.predict_proba(half_planes.X), found.predict_proba(half_planes.X), atol=1e-3)
    assert found.score(half_planes.others, half_planes.other_truth) > 0.85


# ---- what it decides where known labels are no fair sample


def test_decisions_follow_the_rates_that_a_method_knows() -> None:
    """Positives are named five times as often; in parts, too, of which each is scored before it is learned."""
    X, truth = logistic_problem(1500)
    y = observed(truth, 0.5, 0.1).to_signed().astype(float)
    y = np.where(y == 0, np.nan, y > 0)
    new, wanted = logistic_problem(2000, seed=5)
    settings = {"positives_known": 0.5, "negatives_known": 0.1}
    found = quick(method="posterior", settings=settings, thresholds="fitted")
    found.fit(X.numpy(), y)
    assert "weigh the more" in found.decisions_.basis
    assert found.predict_proba(new.numpy()).mean() == pytest.approx((wanted > 0).mean(), abs=0.03)
    assert found.predict(new.numpy()).mean() < (wanted > 0).mean() + 0.12
    found.partial_fit(*(each[:700] for each in (X.numpy(), y)))
    assert "weigh the more" in found.decisions_.basis
    assert found.predict_proba(new.numpy()).mean() == pytest.approx((wanted > 0).mean(), abs=0.04)
