"""Focal loss: Lin et al., "Focal Loss for Dense Object Detection", ICCV 2017."""

import torch
from torch import Tensor

from trilabel.losses._cross_entropy import focused_bce
from trilabel.losses._inputs import Reduction, check_inputs, check_range, reduce


def focal(logits: Tensor, labels: Tensor, gamma: float = 2, reduction: Reduction = "mean") -> Tensor:
    """BCE of known labels × (1 − probability of the right answer)^gamma (Lin 2017).

    `logits` are B×C, `labels` B×C in +1 present, −1 absent, 0 unknown; unknown labels add nothing. The weight is not
    differentiated. "mean" divides by B·C, "none" gives the B×C parts.

    >>> focal(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), reduction="sum")
    tensor(0.0245)
    """
    check_range("focal gamma", gamma, 0, torch.inf)
    return reduce(focused_bce(logits, check_inputs(logits, labels), gamma), reduction)
