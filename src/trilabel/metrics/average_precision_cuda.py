"""Average precision on a GPU: all classes sorted at once. `average_precision` has the definition."""

from typing import Any

import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.metrics.matrices import to_float32

Array = NDArray[Any]

_LABELS_AT_ONCE = 2**23  # labels ranked at a time, about 0.7 GB on the device


def both_on_cuda(scores: Tensor, truth: Tensor | sp.csc_array) -> tuple[Array, Array]:
    """AP and interpolated AP [C] of scores N×C against +1/−1/0 N×C."""
    images, classes = scores.shape
    width = max(1, _LABELS_AT_ONCE // max(1, images))
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
    all_known = known.sum(dim=1, keepdim=True)
    known_at_least = torch.minimum(ranked.shape[1] - first, all_known)
    precision = torch.where(positive, positives_at_least.double() / known_at_least, 0.0)
    best = torch.cummax(precision, dim=1).values * positive
    both = torch.stack((precision.sum(dim=1), best.sum(dim=1))) / total.squeeze(1)
    return both.masked_fill((total == all_known).squeeze(1), torch.nan)
