"""Rates of known labels: counted exactly where shares are certain, shrunk where they are not, of the right images."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.logistic_problem import CLASSES, logistic_problem, observed
from trilabel.labels import Labels
from trilabel.labels.rates import (
    HIGHEST,
    ClassShares,
    Rates,
    class_shares,
    full_rows,
    mean_rate,
    most_positives,
    rates_by_shares,
    shares_by_rates,
)

RATES = np.linspace(0.1, 0.9, CLASSES)


def truth_of(count, seed=0):
    return logistic_problem(count, seed)[1]


def full(count, seed):
    return Labels.from_signed(truth_of(count, seed).astype(np.int8))


def test_full_images_are_those_with_all_labels_known():
    assert full_rows(Labels.from_signed([[1, -1, -1], [1, 0, 0], [1, 1, -1]])).tolist() == [True, False, True]
    assert full_rows(Labels.from_signed([[1, -1], [-1, -1]])).all()
    # Positives alone: nobody looked for negatives.
    assert not full_rows(Labels.from_signed([[1, 1, 1], [1, 0, 0]])).any()


@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("rates", [(0.6, 0.2), (0.9, 0.1), (0.7, 0.7)])
def test_images_that_are_full_by_chance_were_not_labelled_in_full(classes, rates):
    """So that what they show says nothing of the others; a group of full images beside them is found all the same."""
    truth = truth_of(2000)[:, :classes]
    dense = observed(truth, *rates).to_signed()
    by_chance = (dense != 0).all(1)
    assert by_chance.sum() >= 30 and not full_rows(Labels.from_signed(dense)).any()
    tags = observed(truth, 0.3, 0.0).to_signed()
    tags[:1000] = truth[:1000]
    assert classes == 1 or full_rows(Labels.from_signed(tags))[:1000].all()


def test_class_shares_prefer_the_sample():
    labels = Labels.from_signed([[1, -1, -1], [1, -1, -1], [0, 1, 0]])
    sample = Labels.from_signed([[-1, 1, -1], [1, 0, 0]])
    found = class_shares(labels, sample)
    assert found.shares.tolist() == [0, 1, 0] and found.images == 1
    found = class_shares(labels, sample, fewest=2)
    assert found.shares.tolist() == [1, 0, 0] and found.images == 2
    assert class_shares(labels, sample, fewest=3) is None and class_shares(labels[2:]) is None


def test_with_certain_shares_it_is_the_count():
    """Where rates differ far more than chance explains, hardly anything is shrunk."""
    truth = truth_of(20_000)
    labels = observed(truth, RATES, RATES[::-1] / 2)
    found = rates_by_shares(labels, ClassShares((truth > 0).mean(0), np.inf))
    counted = [((labels.to_signed() == sign).sum(0) / (truth == sign).sum(0)) for sign in (1, -1)]
    np.testing.assert_allclose(found.positives, counted[0], atol=0.002)
    np.testing.assert_allclose(found.negatives, counted[1], atol=0.002)


@pytest.mark.parametrize("images", [60, 250])
def test_shrinking_brings_rates_closer_to_the_truth(images):
    """In the mean over samples of full images; by much where all classes have one rate."""
    labels = {rates: observed(truth_of(3000), RATES if rates == "own" else 0.3, 0.0) for rates in ("own", "one")}
    errors = {"own": [], "one": []}
    for seed in range(1, 9):
        counted = class_shares(labels["own"], full(images, seed))
        for rates, part in labels.items():
            expected = RATES if rates == "own" else 0.3
            present, _ = part.counts_per_class()
            raw = np.clip(present / np.maximum(3000 * counted.shares, 1e-9), 0, HIGHEST)
            shrunk = rates_by_shares(part, counted).positives
            errors[rates].append((np.square(raw - expected).mean(), np.square(shrunk - expected).mean()))
    (raw_own, shrunk_own), (raw_one, shrunk_one) = (np.mean(errors[rates], 0) for rates in ("own", "one"))
    assert shrunk_one < raw_one / 3 and shrunk_own < 1.1 * raw_own and shrunk_own < 0.015


def test_fully_labelled_images_do_not_raise_the_rates():
    truth = truth_of(4000)
    dense = observed(truth, 0.3, 0.0).to_signed()
    dense[:2000] = truth[:2000]
    labels = Labels.from_signed(dense)
    found = rates_by_shares(labels, class_shares(labels))
    np.testing.assert_allclose(found.positives, 0.3, atol=0.05)
    assert not found.negatives.any()
    assert mean_rate(labels, class_shares(labels)) == pytest.approx(0.3, abs=0.03)


def test_shares_that_cannot_be_of_these_images_show():
    labels = Labels.from_signed(np.where(truth_of(500) > 0, 1, 0).astype(np.int8))
    assert mean_rate(labels, ClassShares((truth_of(500) > 0).mean(0) / 3, 100)) == pytest.approx(3)


def test_a_class_that_no_full_image_has_gets_the_mean_rate():
    labels = Labels.from_signed([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    found = rates_by_shares(labels, ClassShares(np.array([0.5, 0.75, 0.0]), 10.0))
    assert found.positives[2] == pytest.approx(2 / 5)  # of the others two are known, of five


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_labels_and_shares_give_shares_below_one(data):
    images, classes = data.draw(st.integers(0, 6)), data.draw(st.integers(1, 4))
    dense = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=images * classes, max_size=images * classes))
    labels = Labels.from_signed(np.array(dense, np.int8).reshape(images, classes))
    shares = np.array(data.draw(st.lists(st.floats(0, 1), min_size=classes, max_size=classes)))
    found = rates_by_shares(labels, ClassShares(shares, data.draw(st.sampled_from([1.0, 50.0, np.inf]))))
    for rates in (found.positives, found.negatives):
        assert rates.shape == (classes,) and (rates >= 0).all() and (rates <= HIGHEST).all()
    started = shares_by_rates(labels, found.positives)
    assert (started > 0).all() and (started < 1).all() and "\n" not in found.describe()


def test_shares_follow_from_rates_with_and_without_full_images():
    truth = truth_of(6000)
    expected = (truth > 0).mean(0)
    np.testing.assert_allclose(shares_by_rates(observed(truth, RATES, 0.1), RATES), expected, rtol=0.2)
    dense = np.zeros_like(truth)
    dense[::2] = truth[::2]  # of the others nothing is known
    np.testing.assert_allclose(shares_by_rates(Labels.from_signed(dense), np.zeros(CLASSES)), expected, rtol=0.2)


def test_one_positive_is_seen_in_images_that_are_not_full():
    assert most_positives(Labels.from_signed([[1, 0], [0, 1], [0, 0]])) == 1
    assert most_positives(Labels.from_signed([[1, 0, 1], [0, 1, 0]])) == 2
    assert most_positives(Labels.from_signed([[1, 0, -1], [0, 1, 0]])) == 0
    assert most_positives(Labels.from_signed([[1, 1, -1], [0, 1, 0]])) == 1  # the first is full


def test_what_follows_is_said():
    told = Rates(np.array([0.2, 0.6]), np.array([0.2, 0.2])).describe()
    assert "0.20 to 0.60 (mean 0.40)" in told and "absent ones 0.20:" in told and "0.75 times" in told
    assert "next to nothing" in Rates(np.array([0.1]), np.array([0.12])).describe()
