"""Calibration: against what made the labels, and against a general optimizer; the error against its definition."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from scipy.optimize import minimize

from tests.support.metric_cases import problems
from trilabel import Labels, TrilabelError, metrics


def drawn(images, slope, shifts, seed, known=1.0):
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 3, (images, len(shifts)))
    present = generator.random(logits.shape) < 1 / (1 + np.exp(-(slope * logits + shifts)))
    return logits, np.where(present, 1, -1) * (generator.random(logits.shape) < known)


def test_finds_what_made_the_labels_and_unknown_ones_do_not_matter():
    shifts = np.array([-2.0, 0.0, 1.0])
    logits, labels = drawn(20_000, 0.4, shifts, seed=0, known=0.3)
    found = metrics.fit_calibration(logits, labels)
    assert found.slope == pytest.approx(0.4, abs=0.02) and found.shifts == pytest.approx(shifts, abs=0.1)
    stored = metrics.fit_calibration(logits, Labels.from_signed(labels))
    assert stored.slope == pytest.approx(found.slope, abs=1e-3)
    probabilities = found(torch.from_numpy(logits)).sigmoid()
    before, after = (metrics.expected_calibration_error(p, labels) for p in (1 / (1 + np.exp(-logits)), probabilities))
    assert before > 0.1 and after < 0.015


def test_is_the_maximum_of_the_penalized_likelihood():
    logits, labels = drawn(60, 0.7, np.array([-1.0, 0.5]), seed=1, known=0.5)

    def cost(parameters):
        total = 0.5 * (parameters[0] ** 2 + parameters[2] ** 2 + parameters[3] ** 2)
        for image in range(60):
            for column in range(2):
                if labels[image, column]:
                    z = np.exp(parameters[0]) * logits[image, column] + parameters[1] + parameters[2 + column]
                    total += np.log1p(np.exp(-labels[image, column] * z))
        return total

    slow = minimize(cost, np.zeros(4), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 4000}).x
    found = metrics.fit_calibration(logits, labels)
    assert [found.slope, *found.shifts] == pytest.approx([np.exp(slow[0]), *(slow[1] + slow[2:])], abs=1e-3)


def test_a_class_without_known_labels_has_the_common_shift_and_infinite_logits_are_numbers():
    logits, labels = drawn(2000, 1.0, np.array([-1.0, -1.0, 0.0]), seed=2)
    labels[:, 2] = 0
    logits[0, 0], logits[1, 1] = np.inf, -np.inf
    found = metrics.fit_calibration(logits, labels)
    assert np.isfinite(found.shifts).all() and found.shifts[2] == pytest.approx(found.shifts[:2].mean(), abs=0.05)


@pytest.mark.parametrize("sign", [1, -1, 0])
def test_needs_both_kinds_of_labels(sign):
    for fit in (metrics.fit_calibration, metrics.fit_thresholds):
        with pytest.raises(TrilabelError, match="known to be present and to be absent"):
            fit(np.zeros((3, 2)), np.full((3, 2), sign))


@settings(max_examples=50, deadline=None)
@given(problems())
def test_the_error_follows_its_definition(problem):
    scores, labels = problem
    probabilities = scores.double().clamp(-3, 3).sigmoid().numpy()
    known = [(p, y) for p, y in zip(probabilities.ravel(), labels.ravel(), strict=True) if y]
    wanted = 0.0
    for number in range(15):
        inside = [(p, y) for p, y in known if min(int(p * 15), 14) == number]
        wanted += abs(sum(p - (y > 0) for p, y in inside))
    found = metrics.expected_calibration_error(probabilities, Labels.from_signed(labels))
    assert found == pytest.approx(wanted / len(known) if known else float("nan"), nan_ok=True)


def test_the_error_is_not_of_logits():
    with pytest.raises(TrilabelError, match="give those, not logits"):
        metrics.expected_calibration_error(np.array([[3.0], [-1.0]]), np.array([[1], [-1]]))


def test_a_label_that_weighs_three_is_one_that_is_there_three_times():
    logits, labels = drawn(80, 0.7, np.array([-1.0, 0.5]), seed=3)
    times = np.random.default_rng(0).integers(1, 4, labels.shape)
    repeated = [np.repeat(each[:, column], times[:, column]) for column in range(2) for each in (logits, labels)]
    longest = max(map(len, repeated))
    more, of_these = (
        np.stack([np.pad(each, (0, longest - len(each))) for each in repeated[start::2]], 1) for start in (0, 1)
    )
    weighted = metrics.fit_calibration(logits, labels, times.ravel().astype(float))
    wanted = metrics.fit_calibration(more, of_these)
    assert [weighted.slope, *weighted.shifts] == pytest.approx([wanted.slope, *wanted.shifts], abs=1e-4)
    assert abs(weighted.shifts - metrics.fit_calibration(logits, labels).shifts).max() > 0.01


@pytest.mark.parametrize("weights", [np.ones(5), np.full(6, np.nan), -np.ones(6)])
def test_weights_are_one_for_each_known_label(weights):
    for fit in (metrics.fit_calibration, metrics.fit_thresholds):
        with pytest.raises(TrilabelError, match="weights are 6 finite numbers of 0 or more here"):
            fit(np.zeros((3, 2)), np.array([[1, -1]] * 3), weights=weights)
