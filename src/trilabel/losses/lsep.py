"""LSEP: Li et al., "Improving Pairwise Ranking for Multi-label Image Classification", CVPR 2017."""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._inputs import check_inputs, to_float32


def lsep(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over images of log(1 + Σ over present i, absent j of exp(x_j − x_i)) (Li 2017).

    `logits` (x) are B×C, `labels` B×C in +1 present, −1 absent, 0 unknown. Unknown labels take no part; an image
    without present or without absent labels adds 0. Time and memory grow with the classes, not with their square.

    >>> lsep(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.0486)
    """
    signs, wide = check_inputs(logits, labels), to_float32(logits)
    # Σ over pairs of exp(x_j − x_i) = Σ over absent j of exp(x_j) · Σ over present i of exp(−x_i)
    gap = _logsumexp_of(signs < 0, wide) + _logsumexp_of(signs > 0, -wide)
    return F.logsigmoid(-gap).mean().neg()


def _logsumexp_of(chosen: Tensor, scores: Tensor) -> Tensor:
    """log Σ exp over the chosen scores of each image (B); where none is chosen, below −1e34: its exp is 0."""
    # Moved far below all others rather than overwritten, so that NaN stays NaN.
    moved = scores + torch.where(chosen, 0.0, -1e35).to(scores.dtype)
    highest = moved.detach().amax(1, keepdim=True)
    # Unlike that of torch.logsumexp, the gradient of this sums to 1 whatever the size of the scores.
    return highest.squeeze(1) + (moved - highest).exp().sum(1).log()
