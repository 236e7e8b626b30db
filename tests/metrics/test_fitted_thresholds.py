"""Thresholds by class: nearly as good as the best, never fitted to a handful of labels."""

import numpy as np
import pytest

from trilabel import Labels, metrics


def scored(images, seed, classes=12, known=1.0):
    """Classes that differ in how common they are and in where their scores lie."""
    generator = np.random.default_rng(seed)
    present = generator.random((images, classes)) < np.linspace(0.02, 0.3, classes)
    scores = 1.5 * generator.normal(size=present.shape) + 2.5 * present + np.linspace(-3, 1, classes)
    return scores, np.where(present, 1, -1) * (generator.random(present.shape) < known)


def cf1(scores, labels, thresholds):
    return metrics.precision_recall_f1(scores, labels, thresholds)["CF1"]


@pytest.mark.parametrize("images", [60, 300, 2000])
def test_new_images_are_decided_nearly_as_well_as_by_the_best_common_threshold(images):
    thresholds = metrics.fit_thresholds(*scored(images, seed=0, known=0.4))
    new = scored(4000, seed=1)
    best = max(cf1(*new, threshold) for threshold in np.linspace(-5, 6, 80))
    assert cf1(*new, thresholds) > best - 0.03
    assert cf1(*new, thresholds) > cf1(*new, 0.0) + 0.04


def test_classes_with_many_labels_have_their_own_and_others_the_common_one():
    scores, labels = scored(3000, seed=2)
    scores[:, 0] -= 6  # where a common threshold would miss all
    labels[:, 1] = 0
    found = metrics.fit_thresholds(scores, labels)
    assert found[0] < found[2:].min() - 3
    assert found[2:].min() < found[1] < found[2:].max()


def test_is_the_best_of_all_thresholds_where_one_class_is_plain():
    scores, labels = scored(500, seed=3, classes=1)
    found = metrics.fit_thresholds(scores, labels)
    best = max(cf1(scores, labels, float(score)) for score in scores.ravel())
    assert cf1(scores, labels, found) == pytest.approx(best, abs=0.005)


def test_does_not_depend_on_how_labels_are_stored_and_bears_infinite_scores():
    scores, labels = scored(200, seed=4, known=0.05)
    scores[0], scores[1] = np.inf, -np.inf
    dense, stored = metrics.fit_thresholds(scores, labels), metrics.fit_thresholds(scores, Labels.from_signed(labels))
    np.testing.assert_array_equal(dense, stored)
    assert np.isfinite(dense).all()


def test_a_threshold_for_each_class_is_one_for_each_class():
    scores, labels = scored(50, seed=5, classes=3)
    thresholds = np.array([-1.0, 0.0, 2.0])
    one_by_one = metrics.precision_recall_f1(scores - thresholds, labels, 0.0)
    assert metrics.precision_recall_f1(scores, labels, thresholds) == one_by_one
    with pytest.raises(metrics.matrices.TrilabelError, match="2 thresholds for 3 classes; give one, or one per class"):
        metrics.exact_match(scores, labels, [0.5, 0.5])


def test_a_negative_that_weighs_four_is_one_that_is_there_four_times():
    scores, labels = scored(300, seed=6, classes=1)
    negatives = labels[:, 0] < 0
    more = np.concatenate((scores, *[scores[negatives]] * 3)), np.concatenate((labels, *[labels[negatives]] * 3))
    found = metrics.fit_thresholds(scores, labels, weights=np.where(negatives, 4.0, 1.0))
    assert found == pytest.approx(metrics.fit_thresholds(*more))
    assert found > metrics.fit_thresholds(scores, labels) + 0.2
    # What weighs little as a whole is decided alike.
    assert found == pytest.approx(metrics.fit_thresholds(scores, labels, weights=np.where(negatives, 4e-3, 1e-3)))
