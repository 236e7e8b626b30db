"""Pairwise ranking of present above unknown labels: Cole et al., CVPR 2021 (see `bce`)."""

import torch
from torch import Tensor

from trilabel.losses._inputs import check_inputs, to_float32


def pairwise_ranking(logits: Tensor, labels: Tensor) -> Tensor:
    """Σ over present i, unknown j of max(0, 1 − f_i + f_j) ÷ (B·C), f = σ(logit) ("PR" of Cole 2021).

    `logits` are B×C, `labels` B×C in +1 present, −1 absent, 0 unknown; known absent labels take no part. Time and
    memory grow with the classes, not with their square.

    >>> pairwise_ranking(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.3573)
    """
    signs = check_inputs(logits, labels)
    present, unknown = signs.clamp(min=0), 1 - signs.abs()
    # Probabilities differ by 1 at most, so no pair is ever cut off at 0, and the sum over pairs splits into single
    # labels: 1 − f_i counts once for each unknown label of the image, f_j once for each present one.
    partners = present * unknown.sum(1, keepdim=True) + unknown * present.sum(1, keepdim=True)
    return (torch.sigmoid(to_float32(logits) * (unknown - present)) * partners).mean()
