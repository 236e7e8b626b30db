"""Rates of known labels from which labels are known and the probabilities of a model that learned known ones alone.

Such a model estimates p = P(present | known, image), from which 1 ÷ P(known | image) = p/e⁺ + (1 − p)/e⁻ = u follows by
Bayes' rule. So K · u, K whether a label is known, is 1 in the mean, over any images: weighted by p and by 1 − p this
makes two linear equations for 1/e⁺ and 1/e⁻ of each class. They are solved a few times, weighted by the inverse of the
variance of K · u, which is u − 1. The probabilities are calibrated on the known labels first.

All that is needed of the images is how many have which p, and how many of these are known: nothing is kept of single
images, and the counts of several batches or processes add up. They must be images that the model did not learn from: on
others its probabilities are too close to the known labels.
"""

import torch
from torch import Tensor

from trilabel.labels.rates import HIGHEST

COUNTS = 4  # numbers per class and bin: images, their summed probability, known labels, known positives
BINS = 32  # of the probability
_PRIOR_TOGETHER = 4.0  # known labels that rates of labels missing at random count as, for all classes together
_PRIOR = 30.0  # known labels that these rates count as, in the equations of each class
_RIDGE = 4.0  # of the calibration, which keeps it from following few labels
_ROUNDS = 10
_LARGEST = 1e4  # of 1 ÷ rate
_LEAST_VARIANCE = 0.05


def binned(probabilities: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
    """4 × (C·32), float64: the counts that `fitted_rates` needs, of a batch. Does not wait for the device.

    probabilities: B×C, that a label is present if it is known. labels: B×C in +1 present, −1 absent, 0 unknown.
    weight: B×C, 0 for labels that do not count.
    """
    classes = probabilities.shape[1]
    bins = (probabilities * BINS).long().clamp(0, BINS - 1)
    place = (bins + BINS * torch.arange(classes, device=bins.device)).flatten()
    values = torch.stack((torch.ones_like(probabilities), probabilities, labels != 0, labels > 0)).double().flatten(1)
    if weight is not None:
        values = values * weight.flatten()
    counts = torch.zeros(COUNTS, classes * BINS, dtype=torch.float64, device=bins.device)
    return counts.scatter_add_(1, place.expand(COUNTS, -1), values)


def fitted_rates(counts: Tensor) -> tuple[Tensor, Tensor]:
    """(e⁺, e⁻) of each class, C each, from the counts of all images (4 × (C·32)).

    A class is shrunk towards the solution for all classes together, which counts as a few known labels. Where nothing
    is known at all both are 0: that a label is unknown says nothing.

    >>> probabilities = torch.tensor([[1.0], [1.0], [0.0], [0.0]]).repeat(500, 1)
    >>> labels = torch.tensor([[1], [1], [-1], [0]]).repeat(500, 1)
    >>> [round(rates.item(), 1) for rates in fitted_rates(binned(probabilities, labels))]
    [1.0, 0.5]
    """
    counts = counts.view(COUNTS, -1, BINS)
    everything = counts.sum(1, keepdim=True)
    images, _, known, _ = everything.sum(2)
    at_random = (images / known.clamp(min=1e-12)).clamp(1, _LARGEST).expand(2, 1)
    together = _solved(everything, at_random, _PRIOR_TOGETHER)
    rates = 1 / _solved(counts, together.expand(2, counts.shape[1]), _PRIOR)
    positives, negatives = torch.where(known > 0, rates, 0).clamp(max=HIGHEST)
    return positives, negatives


def _solved(counts: Tensor, towards: Tensor, strength: float) -> Tensor:
    """2×C: (1/e⁺, 1/e⁻), at least 1, of counts 4×C×32, with a ridge towards others (2×C) of so many known labels."""
    images, _, known, _ = counts
    present = _calibrated(counts)
    absent = 1 - present
    found = towards
    for _ in range(_ROUNDS):
        weight = 1 / (found[0, :, None] * present + found[1, :, None] * absent - 1).clamp(min=_LEAST_VARIANCE)
        of_known = weight * known
        prior = strength * of_known.sum(1) / known.sum(1).clamp(min=1) + 1e-9
        a, b, d = (of_known * part for part in (present**2, present * absent, absent**2))
        a, b, d = a.sum(1) + prior, b.sum(1), d.sum(1) + prior
        right = (weight * images * torch.stack((present, absent))).sum(2) + prior * towards
        determinant = a * d - b * b  # at least prior², by Cauchy and Schwarz
        found = torch.stack((d * right[0] - b * right[1], a * right[1] - b * right[0])) / determinant
        found = found.clamp(1, _LARGEST)
    return found


def _calibrated(counts: Tensor) -> Tensor:
    """C×32: σ(slope · logit(p) + shift) of each bin, with the slope and shift of a class that fit its known labels.

    By Newton's method, with a ridge towards the p there were (a slope of 1, a shift of 0).
    """
    images, summed, known, positives = counts
    logits = (summed / images.clamp(min=1)).logit(1e-4)
    slope, shift = torch.ones_like(logits[:, :1]), torch.zeros_like(logits[:, :1])
    for _ in range(_ROUNDS):
        p = torch.sigmoid(slope * logits + shift)
        wrong, curved = positives - known * p, known * p * (1 - p)
        by_slope = (wrong * logits).sum(1, keepdim=True) + _RIDGE * (1 - slope)
        by_shift = wrong.sum(1, keepdim=True) - _RIDGE * shift
        a, b, d = (
            part.sum(1, keepdim=True) + ridge
            for part, ridge in ((curved * logits**2, _RIDGE), (curved * logits, 0), (curved, _RIDGE))
        )
        determinant = a * d - b * b
        slope = slope + ((d * by_slope - b * by_shift) / determinant).clamp(-1, 1)
        shift = shift + ((a * by_shift - b * by_slope) / determinant).clamp(-2, 2)
    return torch.sigmoid(slope * logits + shift)
