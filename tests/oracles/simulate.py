"""Label settings on dense arrays, one label at a time, with the same random draws as the fast ones."""

import math
from fractions import Fraction

import numpy as np


def known_cells(dense):
    """(row, column) of every known label, row by row."""
    return [(i, j) for i, row in enumerate(dense) for j, value in enumerate(row) if value != 0]


def whole(share, count):
    """The nearest whole number, halves up."""
    return math.floor(Fraction(share * count) + Fraction(1, 2))


def some(share, count):
    """The same, but at least one of a share above 0."""
    return max(whole(share, count), 1 if share > 0 and count else 0)


def keep_share(dense, share, seed):
    kept = np.zeros_like(dense)
    draws = np.random.default_rng(seed).random(len(known_cells(dense)))
    for (i, j), draw in zip(known_cells(dense), draws, strict=True):
        if draw < share:
            kept[i, j] = dense[i, j]
    return kept


def keep_share_per_image(dense, share, seed):
    kept = np.zeros_like(dense)
    cells = known_cells(dense)
    draws = np.random.default_rng(seed).integers(1 << 31, size=len(cells))
    for i in range(len(dense)):
        mine = sorted((draw, j) for (row, j), draw in zip(cells, draws, strict=True) if row == i)
        for _, j in mine[: some(share, len(mine))]:
            kept[i, j] = dense[i, j]
    return kept


def dense_share(dense, share, seed):
    images = [i for i, row in enumerate(dense) if any(row)]
    chosen = np.random.default_rng(seed).permutation(images)[: some(share, len(images))].astype(int)
    kept = np.zeros_like(dense)
    for i in chosen:
        kept[i] = dense[i]
    return kept


def per_class(dense, share, seed):
    return dense_share(dense.T, share, seed).T


def noisy(dense, share, seed):
    cells = known_cells(dense)
    rng = np.random.default_rng(seed)
    flipped = dense.copy()
    for k in rng.choice(len(cells), whole(share, len(cells)), replace=False, shuffle=False):
        flipped[cells[k]] = -dense[cells[k]]
    return flipped


def noisy_plus(dense, seed):
    result = np.where(dense == 0, 0, -1).astype(np.int8)
    present = [[j for j, value in enumerate(row) if value == 1] for row in dense]
    draws = np.random.default_rng(seed).integers([max(len(each), 1) for each in present])
    for i, each in enumerate(present):
        if each:
            result[i, each[draws[i]]] = 1
    return result


def single_positive(dense, seed, positives, negatives):
    rng = np.random.RandomState(seed)
    kept = np.zeros_like(dense)
    for i, row in enumerate(dense):
        for value, wanted in ((1, positives), (-1, negatives)):
            candidates = np.flatnonzero(row == value)
            kept[i, rng.choice(candidates, min(wanted, len(candidates)), replace=False)] = value
    return kept


def fixed_per_class(dense, count, seed):
    kept = np.zeros_like(dense)
    draws = dict(zip(known_cells(dense), np.random.default_rng(seed).random(len(known_cells(dense))), strict=True))
    for column in range(dense.shape[1]):
        for sign in (-1, 1):
            cells = [(i, column) for i in range(len(dense)) if dense[i, column] == sign]
            for cell in sorted(cells, key=draws.get)[:count]:
                kept[cell] = sign
    return kept


def tags(dense, low, high, seed):
    rng = np.random.default_rng(seed)
    rates = rng.uniform(low, high, dense.shape[1])
    kept = np.zeros_like(dense)
    for (i, j), draw in zip(known_cells(dense), rng.random(len(known_cells(dense))), strict=True):
        if dense[i, j] > 0 and draw < rates[j]:
            kept[i, j] = 1
    return kept
