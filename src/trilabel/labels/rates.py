"""How often present and absent labels are known: e⁺ and e⁻ of each class, counted or estimated from labels alone.

Rates are about images of which something is unknown: in fully labelled ones there is nothing to explain.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilabel.labels.matrix import Labels

Numbers = NDArray[np.float64]

HIGHEST = 0.99  # of an estimated rate: that a label is unknown never says for sure that it is absent
_MORE_THAN_CHANCE = 4.0  # times as many full images as chance makes (more where classes go together): a group
_HIGHEST_RAW = 2.0  # known labels ÷ those there should be, before shrinking; above 1 by chance only


@dataclass(frozen=True)
class Rates:
    """Of each class the share of the present labels that are known, and of the absent ones."""

    positives: Numbers  # C, e⁺
    negatives: Numbers  # C, e⁻

    def describe(self) -> str:
        """What they are and what follows for an unknown label."""
        factor = _factor(self.positives.mean(), self.negatives.mean())
        if abs(factor - 1) < 0.05:
            follows = "that a label is unknown says next to nothing"
        else:
            follows = f"for an unknown label the odds of being present are {factor:.2f} times what the model believes"
        return (
            f"present labels are known {_range(self.positives)} of the time, absent ones {_range(self.negatives)}: "
            f"{follows}"
        )


@dataclass(frozen=True)
class ClassShares:
    """The share of images that have each class, and how many images that was counted in."""

    shares: Numbers  # C
    images: float  # infinite where the shares are given and certain


def mean_rates(found: Sequence[Rates | None]) -> Rates | None:
    """The mean over models that each found some; None where one has none."""
    each = [(rates.positives, rates.negatives) for rates in found if rates is not None]
    return Rates(*np.mean(each, axis=0)) if len(each) == len(found) > 0 else None


def full_rows(labels: Labels) -> NDArray[np.bool_]:
    """Which images were labelled in full: all their labels are known, and not just by chance.

    None where only positives are known, since that says nothing of the others; and none where labels that are known one
    by one would make about as many (few classes, or few holes): which images these are depends on what they show.
    """
    present, absent = labels.counts_per_image()
    known = present + absent
    full: NDArray[np.bool_] = (known == labels.shape[1]) & bool(absent.any())
    if full.any() and not full.all() and full.sum() < _MORE_THAN_CHANCE * _full_by_chance(labels, known):
        return np.zeros_like(full)
    return full


def _full_by_chance(labels: Labels, known: NDArray[np.int64]) -> float:
    """How many images would be full if each label were known as often as where something else of the image is unknown.

    known: of each image. Counted in images of which something is unknown; for a label that alone is unknown there, and
    in full images, nothing else is.
    """
    unknown, classes = labels.shape[1] - known, labels.shape[1]
    known_of = _known(labels[unknown > 0])
    of = (unknown > 0).sum() - ((unknown == 1).sum() - _known(labels[unknown == 1]))
    shares = np.divide(known_of, of, out=np.ones(classes), where=of > 0)
    return float(len(labels) * shares.prod())


def _known(labels: Labels) -> Numbers:
    """C: how many labels are known."""
    present, absent = labels.counts_per_class()
    return (present + absent).astype(np.float64)


def class_shares(labels: Labels, sample: Labels | None = None, fewest: int = 1) -> ClassShares | None:
    """Class shares among fully labelled images: of the sample where it has enough, else of the labels; else None.

    labels: of the training images. sample: of other images of the same kind, such as those for validation.
    fewest: how many images are enough.

    >>> class_shares(Labels.from_signed([[1, -1, -1], [-1, -1, -1], [1, 0, 0], [0, 0, 0]])).shares
    array([0.5, 0. , 0. ])
    """
    for part in (sample, labels):
        if part is not None and (full := full_rows(part)).sum() >= fewest:
            return ClassShares(part[full].counts_per_class()[0] / full.sum(), float(full.sum()))
    return None


def rates_by_shares(labels: Labels, counted: ClassShares) -> Rates:
    """e⁺ = known positives ÷ (images × share of the class), e⁻ likewise, over the images not fully labelled.

    A class of which the shares were counted in few images is shrunk towards the mean over classes (empirical Bayes): by
    var ÷ (var + between), var how much its rate errs by chance, between how much rates differ beyond that.
    """
    rest = labels[~full_rows(labels)]
    present, absent = rest.counts_per_class()
    positives = _rates(present, len(rest), counted.shares, counted.images)
    return Rates(positives, _rates(absent, len(rest), 1 - counted.shares, counted.images))


def _rates(known: NDArray[np.int64], images: int, shares: Numbers, counted: float) -> Numbers:
    """Known labels ÷ (images × shares), shrunk and below 1. counted: the images that the shares were counted in."""
    seen = images * shares > 1e-9  # the other classes get the mean of these
    there, own_shares = images * shares[seen], shares[seen]
    mean = min(known[seen].sum() / max(there.sum(), 1e-9), HIGHEST)
    rates: Numbers = np.full(len(shares), mean)
    if seen.any():
        raw = np.minimum(known[seen] / there, _HIGHEST_RAW)
        # Both counts err by chance: which labels are known, and in how many of the full images the class is.
        by_chance = mean * (1 - mean) / there + mean**2 / (counted * own_shares)
        between = max(float(np.average((raw - mean) ** 2 - by_chance, weights=own_shares)), 0.0)
        own = between / np.maximum(between + by_chance, 1e-12)
        rates[seen] = own * raw + (1 - own) * mean
    return rates.clip(0, HIGHEST)


def mean_rate(labels: Labels, counted: ClassShares) -> float:
    """Known positives ÷ positives there must be; clearly above 1 where the shares are not of images like these."""
    rest = labels[~full_rows(labels)]
    return float(rest.counts_per_class()[0].sum() / max(len(rest) * counted.shares.sum(), 1e-12))


def shares_by_rates(labels: Labels, positives: Numbers) -> Numbers:
    """The share of images with each class (C, between 0 and 1) if the rates of its positives (C) are these."""
    full = full_rows(labels)
    present, _ = labels.counts_per_class()
    seen = full.sum() + (~full).sum() * positives
    shares: Numbers = np.divide(present, seen, out=np.zeros(len(present)), where=seen > 0)
    lowest = 0.5 / max(len(labels), 1)
    return shares.clip(lowest, 1 - lowest)


def most_positives(labels: Labels) -> int:
    """The most positives that are known of an image not fully labelled; 0 where negatives are known in such images."""
    present, absent = labels[~full_rows(labels)].counts_per_image()
    return 0 if absent.any() else int(present.max(initial=0))


def _factor(positives: float, negatives: float) -> float:
    return (1 - positives) / max(1 - negatives, 1e-12)


def _range(rates: Numbers) -> str:
    low, high, mean = rates.min(), rates.max(), rates.mean()
    return f"{mean:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f} (mean {mean:.2f})"
