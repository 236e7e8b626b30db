"""Means over cells of class maps, shared by the heads that pool them."""

import torch
from torch import Tensor


def mean_of_extremes(maps: Tensor, count: int, largest: bool = True) -> Tensor:
    """B×C×h×w -> B×C: the mean of the `count` largest (or smallest) cells, of all where there are fewer.

    >>> mean_of_extremes(torch.tensor([[[[1.0, 2.0], [3.0, 6.0]]]]), 2)
    tensor([[4.5000]])
    """
    cells = maps.flatten(2)
    chosen = cells.topk(min(count, cells.shape[2]), largest=largest, sorted=False).values
    return chosen.mean(2, dtype=mean_dtype(maps))


def mean_dtype(maps: Tensor) -> torch.dtype:
    """float32 for half precision: a mean is then not rounded again, and costs no more."""
    return torch.promote_types(maps.dtype, torch.float32)
