"""Boxes as many formats have them: left, top, width and height in pixels; here they become shares of the image."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def shares(pixels: NDArray[np.float64], sizes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """(left, top, right, bottom) of each box as shares of its image (width, height), and which of them are usable.

    A box is unusable if a number is not finite, its width or height is negative, or the image size is unknown (0).
    """
    with np.errstate(all="ignore"):
        corners = np.concatenate([pixels[:, :2], pixels[:, :2] + pixels[:, 2:]], 1) / np.tile(sizes, 2)
        good = np.concatenate([np.isfinite(corners), np.isfinite(sizes), pixels[:, 2:] >= 0, sizes > 0], 1)
    return corners, np.asarray(good.all(1))


def floats(numbers: Sequence[float]) -> NDArray[np.float64]:
    """Numbers of a JSON file as an array; whole numbers beyond any float become infinite."""
    try:
        return np.array(numbers, np.float64)
    except OverflowError:
        return np.array([number if abs(number) < 1e300 else np.inf for number in numbers], np.float64)
