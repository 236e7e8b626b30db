"""WARP: Gong et al., "Deep Convolutional Ranking for Multilabel Image Annotation", ICLR 2014."""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._inputs import check_inputs, clamp_keeping_gradient, to_float32

# A sum over all pairs of thousands of classes must be finite in float32 too, so logits are cut earlier than elsewhere.
_LARGEST_LOGIT = 1e20


def warp(logits: Tensor, labels: Tensor) -> Tensor:
    """Σ over present i of L(r_i) · Σ over absent j of max(0, 1 − x_i + x_j), ÷ (B·C) (Gong 2014).

    `logits` (x) are B×C, `labels` B×C in +1 present, −1 absent, 0 unknown. r_i is the number of absent labels of the
    image that violate the margin of i, counted where the paper estimates it by sampling; L(r) = 1 + 1/2 + … + 1/r is
    not differentiated. Unknown labels take no part. Time and memory grow with the classes, not with their square.

    >>> warp(torch.tensor([[0.5, -0.2, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.1000)
    """
    signs, wide = check_inputs(logits, labels), to_float32(logits, _LARGEST_LOGIT)
    present, absent = signs.clamp(min=0), signs.clamp(max=0).neg_()
    # What is not absent is moved below every logit: it violates no margin. Moved rather than overwritten, and
    # largest first, so that a NaN, at whatever class, gets into all sums.
    others = (wide + (absent - 1) * (1e5 * _LARGEST_LOGIT)).sort(1, descending=True).values
    room = 1 - wide
    violators = torch.searchsorted(-others.detach(), room.detach())
    highest_sums = F.pad(others, (1, 0)).cumsum(1)  # of the 0, 1, 2, … highest
    # Both terms are large and of opposite sign where the logits are large: rounding may end below 0.
    hinges = clamp_keeping_gradient(violators * room + highest_sums.gather(1, violators), 0, torch.inf)
    return (_harmonic(wide)[violators] * present * hinges).mean()


def _harmonic(like: Tensor) -> Tensor:
    """L(0) … L(C) for logits B×C: sums of the first reciprocals."""
    reciprocals = torch.arange(like.shape[1] + 1, dtype=like.dtype, device=like.device).reciprocal_()
    reciprocals[:1].zero_()  # assigning a number would wait for the device
    return reciprocals.cumsum(0)
