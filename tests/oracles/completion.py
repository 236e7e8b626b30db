"""Promises by summing up probabilities one after the other, and completing by looking at each label."""

import math

import numpy as np


def poisson_at_most(count: int, mean: float) -> float:
    """How likely at most so many events are."""
    return math.fsum(math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(count + 1))


def binomial_at_most(count: int, of: int, share: float) -> float:
    """How likely at most so many of `of` draws are hits."""
    return math.fsum(math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(count + 1))


def counts_of(odds: np.ndarray, signs: np.ndarray, bins: int, per_unit: int, largest: int) -> np.ndarray:
    """3×C×B: unknown, present and absent labels, label by label."""
    found = np.zeros((3, odds.shape[1], bins), int)
    for row in range(len(odds)):
        for column in range(odds.shape[1]):
            place = min(max(int(np.floor((odds[row, column] + largest) * per_unit)), 0), bins - 1)
            found[{0: 0, 1: 1, -1: 2}[int(signs[row, column])], column, place] += 1
    return found
