"""Losses that read an unknown label as absent: the baselines of Cole et al., CVPR 2021 (see `bce`).

Throughout, `logits` are B×C and `labels` B×C in +1 present, −1 absent, 0 unknown; BCE(x, y) = −log σ(y·x).
"""

import torch
from torch import Tensor

from trilabel.losses._cross_entropy import Smoothing, signed_bce
from trilabel.losses._inputs import check_inputs, check_range, unknown_as_absent


def assume_negative(logits: Tensor, labels: Tensor, smoothing: Smoothing = 0) -> Tensor:
    """Σ of BCE with unknown read as absent ÷ (B·C) ("AN" and, with smoothing, "AN-LS" of Cole 2021).

    `smoothing` s moves the targets from 1 to 1−s and from 0 to s; a pair gives s of positives and of negatives.

    >>> assume_negative(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(1.1629)
    """
    signs = unknown_as_absent(check_inputs(logits, labels))
    return signed_bce(logits, signs, smoothing).mean()


def weak_assume_negative(logits: Tensor, labels: Tensor, weight: float | None = None) -> Tensor:
    """As `assume_negative`, with every absent label, known or assumed, × `weight` ("WAN" of Cole 2021).

    The weight is 1/(C−1) unless given: one present label then counts as much as all the others together.

    >>> weak_assume_negative(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.6026)
    """
    signs = unknown_as_absent(check_inputs(logits, labels))
    if weight is None:
        weight = 1 / max(signs.shape[1] - 1, 1)
    check_range("weight", weight, 0, torch.inf)
    # (1+weight)/2 ± (1−weight)/2 is 1 where present, weight where absent.
    weights = signs.mul((1 - weight) / 2).add_((1 + weight) / 2)
    return (weights * signed_bce(logits, signs)).mean()
