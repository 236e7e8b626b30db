"""Average precision of every class over its known labels, with ties counted as one step of the ranking.

For one class, with P known positives, and for each of them its score s:

    precision(s) = #(positives scored >= s) / #(known labels scored >= s)
    AP = mean of precision(s) over the P positives

which is what scikit-learn's `average_precision_score` computes. The interpolated AP (VOC 2010 and later) replaces a
precision by the best one at the same or a higher recall, that is at the same or a lower score.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]

_CUDA_BLOCK = 2**23  # labels ranked at a time, about 0.7 GB on the device


def to_float32(scores: Tensor) -> Tensor:
    """The same values as float32, or as float64 where they are: NumPy does not know bfloat16."""
    return scores if scores.dtype == torch.float64 else scores.float()


def per_class(scores: Tensor, truth: Tensor | sp.csr_array) -> tuple[Array, Array]:
    """AP and interpolated AP [C] of scores N×C, free of NaN, against +1/−1/0 (dense int8 or sparse).

    nan where a class has no known positive.
    """
    columns = truth if isinstance(truth, Tensor) else truth.tocsc()
    if scores.is_cuda:
        return _on_cuda(scores, columns)
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


def _dense_columns(scores: Tensor, truth: Tensor, start: int, stop: int) -> Iterator[tuple[Array, Array]]:
    """Known scores and their signs, class by class."""
    values = _turned(to_float32(scores[:, start:stop]).numpy())
    signs = _turned(truth[:, start:stop].cpu().numpy())
    for value, sign in zip(values, signs, strict=True):
        known = sign != 0
        yield (value, sign) if known.all() else (value[known], sign[known])


def _turned(table: Array) -> Array:
    """The transpose, with each row in one piece; in parts that the cache holds until all their columns are read."""
    turned = np.empty(table.shape[::-1], table.dtype)
    for start in range(0, len(table), 8192):
        turned[:, start : start + 8192] = table[start : start + 8192].T
    return turned


def _sparse_columns(scores: Tensor, truth: sp.csc_array, start: int, stop: int) -> Iterator[tuple[Array, Array]]:
    """The same from stored labels; only the scores that have one are read."""
    for column in range(start, stop):
        stored = slice(truth.indptr[column], truth.indptr[column + 1])
        yield to_float32(scores[torch.from_numpy(truth.indices[stored]), column]).numpy(), truth.data[stored]


def _one_class(values: Array, signs: Array) -> tuple[float, float]:
    positives = np.sort(values.compress(signs > 0))
    total = len(positives)
    if total == 0:
        return np.nan, np.nan
    bounds = np.flatnonzero(np.concatenate(([True], positives[1:] != positives[:-1], [True])))
    first, tied = bounds[:-1], bounds[1:] - bounds[:-1]
    precision = (total - first) / _count_at_least(values, positives[first])
    return float(tied @ precision) / total, float(tied @ np.maximum.accumulate(precision)) / total


def _count_at_least(values: Array, steps: Array) -> Array:
    """How many of the values [n] are >= each of the steps [M], which rise strictly.

    `len(values) - np.sort(values).searchsorted(steps)` says the same, but NumPy sorts four times slower on some CPUs
    than on others. So the steps are laid out on a table of equal cells. The cell of a value says between which steps
    it lies, up to one comparison with the step in that cell, or a search where the cell has several. This is exact,
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


def _on_cuda(scores: Tensor, truth: Tensor | sp.csc_array) -> tuple[Array, Array]:
    images, classes = scores.shape
    width = max(1, _CUDA_BLOCK // max(1, images))
    results = [torch.empty(2, 0, dtype=torch.float64, device=scores.device)]
    for start in range(0, classes, width):
        signs = truth[:, start : start + width]
        if not isinstance(signs, Tensor):
            signs = torch.from_numpy(signs.toarray())
        results.append(rank_together(scores[:, start : start + width].T.contiguous(), signs.to(scores.device).T))
    ap, interpolated = torch.cat(results, dim=1).cpu().numpy()
    return ap, interpolated


def rank_together(scores: Tensor, signs: Tensor) -> Tensor:
    """AP and interpolated AP [2, K] of K×N scores and +1/−1/0: all classes at once, never waiting for the device."""
    known = signs != 0
    # Unknown labels sink to the bottom; a known score of −inf ties with them, hence the minimum below.
    ranked, order = to_float32(scores).masked_fill(~known, -torch.inf).sort(dim=1)
    positive = (signs > 0).gather(1, order)
    first = torch.searchsorted(ranked, ranked)  # where the tie begins
    total = positive.sum(dim=1, keepdim=True)
    positives_below = positive.cumsum(dim=1) - positive.long()
    positives_at_least = total - positives_below.gather(1, first)
    known_at_least = torch.minimum(ranked.shape[1] - first, known.sum(dim=1, keepdim=True))
    precision = torch.where(positive, positives_at_least.double() / known_at_least, 0.0)
    best = torch.cummax(precision, dim=1).values * positive
    return torch.stack((precision.sum(dim=1), best.sum(dim=1))) / total.squeeze(1)
