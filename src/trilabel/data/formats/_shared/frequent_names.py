"""Classes that are the most frequent of many names: words of captions, names of objects."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


def most_frequent(
    codes: Mapping[str, int], counted: NDArray[np.int64], count: int
) -> tuple[list[str], NDArray[np.int64]]:
    """The names whose codes are in `counted` most often, and the column of each code (−1 for none).

    Equally frequent names are in alphabetical order. The empty name is ignored.
    """
    times = np.bincount(counted, minlength=len(codes)).tolist()
    there = (name for name, code in codes.items() if name and times[code])
    names = sorted(there, key=lambda name: (-times[codes[name]], name))[:count]
    column = np.full(len(codes), -1)
    column[[codes[name] for name in names]] = np.arange(len(names))
    return names, column


def positives(image: NDArray[np.int64], column: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Entries (image, class, 1), each once, in order."""
    keys = np.sort(image * classes + column)  # several times as fast as np.unique
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return np.stack([keys // classes, keys % classes, np.ones_like(keys)], 1)
