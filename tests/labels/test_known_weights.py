"""Weights of known labels: the shares of classes come out as they are, whatever is named more often."""

import numpy as np
import pytest

from tests.support.logistic_problem import CLASSES, logistic_problem, observed
from trilabel.labels import Labels
from trilabel.labels.known_weights import known_weights
from trilabel.labels.rates import Rates

NAMED, DENIED = np.linspace(0.3, 0.9, CLASSES), np.linspace(0.25, 0.05, CLASSES)
TRUTH = logistic_problem(6000)[1]


def weighted(labels: Labels, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the known positives, and negatives, of each class weigh together."""
    signs, of_labels = labels.to_signed(), np.zeros(labels.shape)
    of_labels[signs != 0] = weights
    return (of_labels * (signs > 0)).sum(0), (of_labels * (signs < 0)).sum(0)


def rates(positives: object, negatives: object, classes: int) -> Rates:
    return Rates(*(np.broadcast_to(np.asarray(each, float), classes) for each in (positives, negatives)))


def found(labels: Labels, positives: object, negatives: object) -> tuple[np.ndarray, np.ndarray]:
    weights = known_weights(labels, rates(positives, negatives, labels.shape[1]))
    return weighted(labels, np.ones(labels.known) if weights is None else weights)


@pytest.mark.parametrize("classes", [1, 2, 8])  # of few classes some images happen to be fully labelled
def test_weighted_labels_are_a_fair_sample_and_say_as_much_as_before(classes: int) -> None:
    truth, named, denied = TRUTH[:, -classes:], NAMED[-classes:], DENIED[-classes:]
    labels = observed(truth, named, denied)
    present, absent = found(labels, named, denied)
    assert present / (present + absent) == pytest.approx((truth > 0).mean(0), abs=0.06)
    n, m = labels.counts_per_class()
    assert n.sum() > 2 * (n + m).sum() * (truth > 0).mean()  # without weights they are not
    assert present * absent / (present + absent) == pytest.approx(n * m / (n + m))


def test_fully_labelled_images_are_a_fair_sample_already() -> None:
    full = Labels.from_signed(TRUTH.astype(np.int8))
    assert known_weights(full, Rates(NAMED, DENIED)) is None
    both = Labels.from_signed(np.concatenate((TRUTH[:100], observed(TRUTH[100:], NAMED, DENIED).to_signed())))
    weights = known_weights(both, Rates(NAMED, DENIED))
    assert weights is not None
    assert (weights[: 100 * CLASSES] == 1).all() and not np.isclose(weights[100 * CLASSES :], 1).any()


@pytest.mark.parametrize("rate", [0.0, 0.2, np.linspace(0.01, 0.9, CLASSES)])
def test_labels_missing_at_random_all_weigh_alike(rate: object) -> None:
    assert known_weights(observed(TRUTH[:50], rate, rate), rates(rate, rate, CLASSES)) is None
    assert known_weights(Labels.from_signed(np.zeros((0, 2), np.int8)), rates(0.5, 0.1, 2)) is None


def test_positives_that_are_all_known() -> None:
    present, absent = found(observed(TRUTH, 1.0, 0.1), 1.0, 0.1)
    assert present / (present + absent) == pytest.approx((TRUTH > 0).mean(0), abs=0.03)


def test_no_labels_stand_for_more_than_there_are_images() -> None:
    """However small a rate is said to be; and positives whose negatives nobody names say next to nothing."""
    labels = Labels.from_signed([[1, 1]] * 20 + [[-1, 0]] * 5 + [[0, 0]] * 75)
    present, absent = found(labels, 0.5, 1e-9)
    assert present[0] / absent[0] == pytest.approx(40 / 100)
    assert 0 < present[1] < 1.5 and absent[1] == 0


@pytest.mark.parametrize("positives, negatives", [(0.5, 0.0), (0.0, 0.5)])
def test_rates_that_are_not_of_these_labels_change_nothing(positives: float, negatives: float) -> None:
    labels = observed(TRUTH[:200], 0.4, 0.4)
    assert known_weights(labels, rates(positives, negatives, CLASSES)) is None


def test_beside_fully_labelled_images_positives_alone_hardly_count() -> None:
    tags = observed(TRUTH[100:300], 0.5, 0.0).to_signed()
    present, absent = found(Labels.from_signed(np.concatenate((TRUTH[:100], tags))), 0.5, 0.0)
    assert present / (present + absent) == pytest.approx((TRUTH[:100] > 0).mean(0), abs=0.03)
