"""An upper bound for single positives: Cole et al., "Multi-Label Learning from Single Positive Labels", CVPR 2021."""

import torch
from torch import Tensor

from trilabel.losses._cross_entropy import signed_bce
from trilabel.losses._inputs import check_inputs


def ignore_unobserved_negatives(logits: Tensor, labels: Tensor, truth: Tensor) -> Tensor:
    """Σ of BCE over known present labels and all truly absent ones ÷ (B·C): an oracle ("IUN" of Cole 2021).

    `logits` are B×C, `labels` B×C in +1 present, −1 absent, 0 unknown, `truth` B×C in +1/−1. Absent labels are read
    from the truth alone; where the truth is 0 (unknown), only a present label counts.

    >>> logits, labels = torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, 0, 0]])
    >>> ignore_unobserved_negatives(logits, labels, truth=torch.tensor([[1, -1, 1]]))
    tensor(0.1467)
    """
    present, true_signs = check_inputs(logits, labels).clamp(min=0), check_inputs(logits, truth)
    return signed_bce(logits, torch.where(present > 0, present, true_signs.clamp(max=0))).mean()
