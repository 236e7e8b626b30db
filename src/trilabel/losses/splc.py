"""Self-paced loss correction: Zhang et al., "Simple and Robust Loss Design for Multi-Label Learning with Missing
Labels", 2021.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._inputs import Reduction, check_inputs, check_range, reduce, to_float32, unknown_as_absent


def splc(
    logits: Tensor,
    labels: Tensor,
    epoch: int,
    tau: float = 0.6,
    reduction: Reduction = "mean",
    change_epoch: int = 2,
    margin: float = 1.0,
    gamma: float = 2.0,
    unknown: Literal["absent", "ignore"] = "absent",
) -> Tensor:
    """−(1−q)^gamma · log q, q = probability of the right answer; unknown is absent until corrected (Zhang 2021).

    `logits` (x) are B×C, `labels` B×C in +1 present, −1 absent, 0 unknown. Of a known present label q = σ(x − margin).
    `splc_corrected` chooses the unknown labels read as present; of these q = σ(x). "sum" is what the paper's code
    trains with, "mean" divides by B·C, "none" gives the B×C parts. `unknown` "ignore" leaves unknown labels out until
    they are corrected, where negatives are known (as Wang 2023 uses it).

    >>> splc(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), epoch=2, reduction="sum")
    tensor(0.0454)
    """
    corrected = splc_corrected(logits, labels, epoch, tau, change_epoch)
    return splc_with(logits, labels, corrected, margin, gamma, reduction, unknown)


def splc_with(
    logits: Tensor,
    labels: Tensor,
    corrected: Tensor,
    margin: float,
    gamma: float,
    reduction: Reduction = "mean",
    unknown: Literal["absent", "ignore"] = "absent",
) -> Tensor:
    """`splc` with the `corrected` unknown labels (bool, B×C) read as present."""
    check_range("gamma", gamma, 0, torch.inf)
    signs = check_inputs(logits, labels)
    targets = unknown_as_absent(signs).masked_fill_(corrected, 1)
    answer = (to_float32(logits) - margin * signs.clamp(min=0)) * targets  # logit of the right answer
    log_right = F.logsigmoid(answer)
    # (1−q)^gamma by its logarithm: that of 0 has a finite gradient, too, where gamma is below 1. As log_right − answer
    # it would lose the gradient of a large negative answer.
    parts = -(gamma * F.logsigmoid(-answer)).exp() * log_right
    return reduce(parts if unknown == "absent" else torch.where((signs != 0) | corrected, parts, 0), reduction)


def splc_corrected(logits: Tensor, labels: Tensor, epoch: int, tau: float, change_epoch: int) -> Tensor:
    """Which unknown labels SPLC reads as present, a bool mask B×C: those with p > tau, from `change_epoch` on."""
    check_range("epoch", epoch, 1, torch.inf)
    check_range("tau", tau, 0, 1)
    unknown = check_inputs(logits, labels) == 0
    if epoch < change_epoch:
        return torch.zeros_like(unknown)
    return unknown & (torch.sigmoid(to_float32(logits.detach())) > tau)
