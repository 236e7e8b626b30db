"""Rates fitted to which labels are known: right on simulated labels, from few negatives, whatever the batches."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.labels.fitted_rates import binned, fitted_rates

CLASSES = 10


def simulated(positives, negatives, share, seed, known_negatives=80):
    """(N×C probabilities of being present if known, N×C labels, e⁺, e⁻), with this many known negatives each."""
    draw = np.random.default_rng(seed)
    images = int(known_negatives / ((1 - share) * negatives))
    logits = 2 * draw.standard_normal((images, CLASSES)) + np.log(share / (1 - share)) - 0.8
    p = 1 / (1 + np.exp(-logits))
    e_present, e_absent = (np.clip(rate * draw.uniform(0.6, 1.4, CLASSES), 0, 0.97) for rate in (positives, negatives))
    present = draw.random(p.shape) < p
    known = draw.random(p.shape) < np.where(present, e_present, e_absent)
    labels = np.where(known, np.where(present, 1, -1), 0)
    if_known = p * e_present / (p * e_present + (1 - p) * e_absent)
    return torch.from_numpy(if_known), torch.from_numpy(labels), e_present, e_absent


@pytest.mark.parametrize(
    ("positives", "negatives", "share"),
    [(0.1, 0.1, 0.2), (0.5, 0.1, 0.2), (0.3, 0.02, 0.1), (0.05, 0.05, 0.1), (0.9, 0.1, 0.3), (0.1, 0.5, 0.2)],
)
def test_eighty_known_negatives_of_each_class_are_enough(positives, negatives, share):
    errors = []
    for seed in range(5):
        probabilities, labels, e_present, e_absent = simulated(positives, negatives, share, seed)
        found = fitted_rates(binned(probabilities, labels))
        errors.append(
            [np.abs(got.numpy() - true).mean() for got, true in zip(found, (e_present, e_absent), strict=True)]
        )
    of_present, of_absent = np.mean(errors, 0)
    assert of_present < 0.1 and of_absent < 0.05


def test_more_labels_make_it_better():
    few, many = (np.mean([error_of_positives(count, seed) for seed in range(4)]) for count in (40, 2000))
    assert many < few / 3 and many < 0.03


def error_of_positives(known_negatives, seed):
    probabilities, labels, expected, _ = simulated(0.5, 0.1, 0.2, seed, known_negatives)
    return np.abs(fitted_rates(binned(probabilities, labels))[0].numpy() - expected).mean()


def test_probabilities_are_calibrated_first():
    """Of a model that is too sure of itself, and sees twice as many positives."""
    probabilities, labels, expected, _ = simulated(0.5, 0.1, 0.2, 0, known_negatives=1000)
    biased = torch.sigmoid(1.6 * probabilities.logit() + 0.7)
    plain, corrected = (fitted_rates(binned(p, labels))[0].numpy() for p in (probabilities, biased))
    np.testing.assert_allclose(corrected, plain, atol=0.05)
    assert np.abs(corrected - expected).mean() < 0.05


def test_a_model_that_learned_nothing_gives_the_share_of_known_labels():
    labels = torch.where(torch.rand(3000, 4, generator=torch.Generator().manual_seed(0)) < 0.3, -1, 0)
    labels[:450] = labels[:450].abs()
    for rates in fitted_rates(binned(torch.full((3000, 4), 0.4), labels)):
        np.testing.assert_allclose(rates, 0.3, atol=0.03)


def test_batches_add_up():
    probabilities, labels, _, _ = simulated(0.5, 0.1, 0.2, 0)
    parts = [binned(p, k) for p, k in zip(probabilities.split(70), labels.split(70), strict=True)]
    torch.testing.assert_close(sum(parts), binned(probabilities, labels))
    weight = torch.zeros_like(probabilities)
    weight[:70] = 1
    torch.testing.assert_close(binned(probabilities, labels, weight), parts[0])


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_probabilities_give_rates(data):
    images, classes = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    size = images * classes
    probabilities = torch.tensor(data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)))
    labels = torch.tensor(data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=size, max_size=size)))
    for rates in fitted_rates(binned(probabilities.view(images, classes), labels.view(images, classes))):
        assert rates.shape == (classes,) and rates.isfinite().all() and (rates >= 0).all() and (rates < 1).all()


def test_nothing_known_says_nothing():
    positives, negatives = fitted_rates(binned(torch.rand(9, 3), torch.zeros(9, 3)))
    assert not positives.any() and not negatives.any()
