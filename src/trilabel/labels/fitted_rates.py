"""Rates of known labels from which labels are known and the probabilities of a model that learned known ones alone.

Such a model estimates p = P(present | known, image), from which 1 ÷ P(known | image) = p/e⁺ + (1 − p)/e⁻ = u follows by
Bayes' rule. So K · u, K whether a label is known, is 1 in the mean, over any images: weighted by p and by 1 − p this
makes two linear equations for 1/e⁺ and 1/e⁻ of each class. They are solved a few times, weighted by the inverse of the
variance of K · u, which is u − 1. All that is needed of the images is how many have which p, so nothing is kept of
single images, and counts of several batches or processes add up.

The probabilities must be of images that the model did not learn from: else they are too close to the known labels.
"""

import torch
from torch import Tensor

from trilabel.labels.rates import HIGHEST

COUNTS = 3  # numbers per class and bin: images, their summed probability, known labels
BINS = 32  # of the probability
_PRIOR = 2.0  # known labels that all classes together count as, in the equations of each
_ROUNDS = 10
_LARGEST = 1e4  # of 1 ÷ rate
_LEAST_VARIANCE = 0.05


def binned(probabilities: Tensor, known: Tensor, weight: Tensor | None = None) -> Tensor:
    """3 × (C·32), float64: the counts that `fitted_rates` needs, of a batch.

    probabilities: B×C, that a label is present if it is known. known: B×C, true where it is.
    weight: B×C, 0 for labels that do not count. Does not wait for the device.
    """
    classes = probabilities.shape[1]
    bins = (probabilities * BINS).long().clamp(0, BINS - 1)
    place = (bins + BINS * torch.arange(classes, device=bins.device)).flatten()
    values = torch.stack((torch.ones_like(probabilities), probabilities, known)).double().flatten(1)
    if weight is not None:
        values = values * weight.flatten()
    counts = torch.zeros(COUNTS, classes * BINS, dtype=torch.float64, device=bins.device)
    return counts.scatter_add_(1, place.expand(COUNTS, -1), values)


def fitted_rates(counts: Tensor) -> tuple[Tensor, Tensor]:
    """(e⁺, e⁻) of each class, C each, from the counts of all images (3 × (C·32)).

    A class is shrunk towards the solution for all classes together, which counts as a few known labels. Where nothing
    is known at all both are 0: that a label is unknown says nothing.
    """
    counts = counts.view(COUNTS, -1, BINS)
    everything = counts.sum(1, keepdim=True)
    images, _, known = everything.sum(2)
    at_random = (images / known.clamp(min=1e-12)).clamp(1, _LARGEST).expand(2, 1)
    together = _solved(everything, at_random)
    rates = 1 / _solved(counts, together.expand(2, counts.shape[1]))
    positives, negatives = torch.where(known > 0, rates, 0).clamp(max=HIGHEST)
    return positives, negatives


def fit_rates(probabilities: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """(e⁺, e⁻) of each class, from N×C probabilities of images not learned from, and which labels are known.

    >>> probabilities = torch.tensor([[0.9], [0.9], [0.1], [0.1]]).repeat(500, 1)
    >>> known = torch.tensor([[True], [True], [True], [False]]).repeat(500, 1)
    >>> [round(rates.item(), 1) for rates in fit_rates(probabilities, known)]
    [1.0, 0.5]
    """
    return fitted_rates(binned(probabilities, known))


def _solved(counts: Tensor, towards: Tensor) -> Tensor:
    """2×C: (1/e⁺, 1/e⁻), at least 1, of counts 3×C×32, with a ridge towards others (2×C)."""
    images, summed, known = counts
    present = summed / images.clamp(min=1)
    absent = 1 - present
    found = towards
    for _ in range(_ROUNDS):
        weight = 1 / (found[0, :, None] * present + found[1, :, None] * absent - 1).clamp(min=_LEAST_VARIANCE)
        of_known = weight * known
        prior = _PRIOR * of_known.sum(1) / known.sum(1).clamp(min=1) + 1e-9
        a, b, d = (of_known * part for part in (present**2, present * absent, absent**2))
        a, b, d = a.sum(1) + prior, b.sum(1), d.sum(1) + prior
        right = (weight * images * torch.stack((present, absent))).sum(2) + prior * towards
        determinant = a * d - b * b  # at least prior², by Cauchy and Schwarz
        found = torch.stack((d * right[0] - b * right[1], a * right[1] - b * right[0])) / determinant
        found = found.clamp(1, _LARGEST)
    return found
