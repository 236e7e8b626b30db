"""Average precision on the CPU: class by class, in threads. `average_precision` has the definition."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.metrics.known_scores import KnownScores
from trilabel.metrics.matrices import to_float32

Array = NDArray[Any]


def both_on_cpu(scores: Tensor, columns: Tensor | sp.csc_array) -> tuple[Array, Array]:
    """AP and interpolated AP [C] of scores N×C against +1/−1/0 N×C."""
    scores, classes, threads = scores.cpu(), scores.shape[1], torch.get_num_threads()
    # A few chunks for each thread; 16 float32 are a cache line, more classes at once gain nothing.
    width = min(max(1, classes // (4 * threads)), 16)

    def chunk(start: int) -> list[tuple[float, float]]:
        stop = min(start + width, classes)
        known = _dense_columns if isinstance(columns, Tensor) else _sparse_columns
        return [_one_class(values, signs) for values, signs in known(scores, columns, start, stop)]

    with ThreadPoolExecutor(threads) as pool:
        pairs = [pair for part in pool.map(chunk, range(0, classes, width)) for pair in part]
    table = np.array(pairs, dtype=np.float64).reshape(classes, 2)
    return table[:, 0], table[:, 1]


def both_of_known(known: KnownScores) -> tuple[Array, Array]:
    """AP and interpolated AP [C] of scores that were collected class by class."""
    known.all_segments()  # before the threads: it changes what they read

    def one(column: int) -> tuple[float, float]:
        found = known.of_class(column)
        return _one_class(found.scores, found.present)

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        table = np.array(list(pool.map(one, range(known.classes))), dtype=np.float64).reshape(known.classes, 2)
    return table[:, 0], table[:, 1]


def _dense_columns(scores: Tensor, truth: Tensor, start: int, stop: int) -> Iterator[tuple[Array, Array]]:
    """Known scores and their signs, class by class."""
    values = _transposed(to_float32(scores[:, start:stop]).numpy())
    signs = _transposed(truth[:, start:stop].cpu().numpy())
    for value, sign in zip(values, signs, strict=True):
        known = sign != 0
        yield (value, sign) if known.all() else (value[known], sign[known])


def _transposed(table: Array) -> Array:
    """The transpose, with each row in one piece; in parts that the cache holds until all their columns are read."""
    transposed = np.empty(table.shape[::-1], table.dtype)
    for start in range(0, len(table), 8192):
        transposed[:, start : start + 8192] = table[start : start + 8192].T
    return transposed


def _sparse_columns(scores: Tensor, truth: sp.csc_array, start: int, stop: int) -> Iterator[tuple[Array, Array]]:
    """The same from stored labels; only the scores that have one are read."""
    for column in range(start, stop):
        stored = slice(truth.indptr[column], truth.indptr[column + 1])
        yield to_float32(scores[torch.from_numpy(truth.indices[stored]), column]).numpy(), truth.data[stored]


def _one_class(values: Array, signs: Array) -> tuple[float, float]:
    """signs: above 0, or true, for positives."""
    positives = np.sort(values.compress(signs > 0))
    total = len(positives)
    if total in (0, len(values)):
        return np.nan, np.nan
    bounds = np.flatnonzero(np.concatenate(([True], positives[1:] != positives[:-1], [True])))
    first, tied = bounds[:-1], bounds[1:] - bounds[:-1]
    precision = (total - first) / _count_at_least(values, positives[first])
    return float(tied @ precision) / total, float(tied @ np.maximum.accumulate(precision)) / total


def _count_at_least(values: Array, steps: Array) -> Array:
    """How many of the values [n] are >= each of the steps [M], which rise strictly.

    `len(values) - np.sort(values).searchsorted(steps)` is equal, but NumPy sorts four times slower on some CPUs
    than on others. So the range of the steps is divided into equal cells. The cell of a value gives the steps
    around it, up to one comparison with the step in that cell, or a search where the cell has several. This is exact,
    because a linear function never decreases, however it is rounded.
    """
    values = values.compress(values >= steps[0])
    cells, low, high = 8 * len(steps), float(steps[0]), float(steps[-1])
    if 1e-30 < high - low < 1e30:  # neither this nor the scale overflows in float32
        scale = cells / (high - low)
        in_cell = np.bincount(((steps - low) * scale).astype(np.intp), minlength=cells + 2)
        place = np.minimum(values, high)
        place -= low
        place *= scale
        cell = place.astype(np.intp)
        rank = (np.cumsum(in_cell) - in_cell).take(cell)
        rank += values >= np.append(steps, np.asarray(np.nan, steps.dtype)).take(rank)  # none reaches the last
        if in_cell.max() > 1:
            several = np.flatnonzero((in_cell > 1).take(cell))
            rank[several] = steps.searchsorted(values[several], side="right")
    else:
        rank = steps.searchsorted(values, side="right")
    counts: Array = np.bincount(rank, minlength=len(steps) + 1)[:0:-1].cumsum()[::-1]
    return counts
