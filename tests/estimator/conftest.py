"""Samples whose classes are half-planes of a few features, and rings that no line can tell apart."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray


class Toy(NamedTuple):
    """Features, full labels (0 and 1), and what is known of the first samples (1, 0, NaN); the others are for tests."""

    X: NDArray[np.float64]
    truth: NDArray[np.int64]
    y: NDArray[np.float64]
    others: NDArray[np.float64]
    other_truth: NDArray[np.int64]


def toy(samples: int = 200, classes: int = 6, share: float = 0.4, seed: int = 0) -> Toy:
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(samples + 200, 8))
    seen = X @ draw.normal(size=(8, classes)) + 0.5 * draw.normal(size=(samples + 200, classes))
    truth = (seen > np.quantile(seen, 0.6, axis=0)).astype(int)
    y = np.where(draw.random((samples, classes)) < share, truth[:samples], np.nan)
    return Toy(X[:samples], truth[:samples], y, X[samples:], truth[samples:])


@pytest.fixture(scope="session")
def half_planes() -> Toy:
    return toy()


@pytest.fixture(scope="session")
def rings() -> Toy:
    """A class is a ring around the origin, or a half-plane."""
    draw = np.random.default_rng(1)
    X = draw.normal(size=(600, 2))
    length = np.linalg.norm(X, axis=1)
    truth = np.stack([length < 0.8, (length > 0.8) & (length < 1.5), length > 1.5, length > 1.2], 1).astype(int)
    y = np.where(draw.random((400, 4)) < 0.5, truth[:400], np.nan)
    return Toy(X[:400], truth[:400], y, X[400:], truth[400:])
