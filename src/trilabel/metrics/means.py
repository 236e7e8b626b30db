"""Means that leave out undefined values, and ratios that are 0 for an empty whole."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def mean(values: ArrayLike) -> float:
    """Mean of the values that are defined (not nan); nan if none is.

    >>> mean([0.5, float("nan"), 1.0])
    0.75
    """
    numbers = np.asarray(values, dtype=np.float64)
    defined = numbers[~np.isnan(numbers)]
    return float(defined.mean()) if defined.size else float("nan")


def fraction(part: Any, whole: Any) -> NDArray[np.float64]:
    """part / whole, 0 where whole is 0; numbers or arrays of one shape."""
    return np.asarray(part / np.maximum(whole, 1), dtype=np.float64)


def harmonic_mean(a: float, b: float) -> float:
    """Of two numbers; 0 where both are."""
    return 2 * a * b / (a + b) if a + b != 0 else 0.0
