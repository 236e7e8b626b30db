"""Intervals of the average precision: against drawing images one by one, and on what they should contain."""

import numpy as np
import pytest

from tests.support.metric_cases import like_real
from trilabel import Labels, TrilabelError, metrics


def test_is_the_spread_of_the_average_precision_of_images_drawn_again():
    scores, labels = like_real(120, 5, seed=1, rounded=1)  # ties, unknown labels, a class without positives
    bounds = metrics.average_precision_intervals(scores, labels, confidence=0.8, resamples=50, seed=3)
    for column in range(5):
        known = labels[:, column] != 0
        values, signs = scores[known, column], labels[known, column]
        if (signs > 0).sum() < 2:
            assert np.isnan(bounds[:, column]).all()
            continue
        found = []
        for weights in np.random.default_rng(3).multinomial(120, np.full(120, 1 / 120), 50):
            rows = np.repeat(np.arange(len(values)), weights[known])
            found.append(metrics.average_precision(values[rows, None], signs[rows, None])[0])
        np.testing.assert_allclose(bounds[:, column], np.nanquantile(found, [0.1, 0.9]))


def test_contains_the_average_precision_and_narrows_with_more_images():
    widths = []
    for images in (200, 3200):
        scores, labels = like_real(images, 8, seed=0)
        low, high = metrics.average_precision_intervals(scores, labels)
        ap = metrics.average_precision(scores, labels)
        sure = ~np.isnan(low)
        assert sure.sum() >= 5 and ((low <= ap) & (ap <= high))[sure].all()
        widths.append((high - low)[-1])
    assert widths[1] < widths[0] / 2


def test_stored_labels_give_the_same_as_dense_ones():
    scores, labels = like_real(300, 4, seed=2)
    labels[np.random.default_rng(0).random(labels.shape) < 0.95] = 0
    dense, stored = (metrics.average_precision_intervals(scores, each) for each in (labels, Labels.from_signed(labels)))
    np.testing.assert_array_equal(dense, stored)


@pytest.mark.parametrize("settings", [{"confidence": 1.0}, {"confidence": 0.0}, {"resamples": 0}])
def test_refuses_what_is_no_interval(settings):
    with pytest.raises(TrilabelError, match="confidence between 0 and 1 and a draw or more"):
        metrics.average_precision_intervals(np.zeros((2, 1)), np.array([[1], [-1]]), **settings)
