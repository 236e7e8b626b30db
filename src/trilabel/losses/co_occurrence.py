"""Which two classes are present together in an image, from features of both (Chen 2022, SST)."""

import torch
from torch import Tensor

from trilabel.losses._inputs import check_inputs, to_float32

_CLIP = 0.05
_SMALLEST = 1e-8


def pair_signs(labels: Tensor) -> Tensor:
    """B×C labels -> B×P for the P = C(C − 1)/2 pairs of classes i < j, row by row: 1 where both are present, else −1.

    >>> import torch
    >>> pair_signs(torch.tensor([[1, 1, 0]]))
    tensor([[ 1, -1, -1]])
    """
    first, second = torch.triu_indices(labels.shape[1], labels.shape[1], 1, device=labels.device)
    return torch.where((labels[:, first] > 0) & (labels[:, second] > 0), 1, -1)


def co_occurrence(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over images and pairs of classes of an asymmetric focal loss; B×P logits, B×C labels.

    p = σ(logit), q = min(1 − p + 0.05, 1). Both present: −(1 − p)·log p. Otherwise, unknown included: −(1 − q)²·log q.

    >>> import torch
    >>> co_occurrence(torch.tensor([[0.0, 0.0, -9.0]]), torch.tensor([[1, 1, 0]]))
    tensor(0.1559)
    """
    signs = check_inputs(logits, pair_signs(labels))
    probability = torch.sigmoid(to_float32(logits))
    absent = (1 - probability + _CLIP).clamp(max=1)
    positive = -(1 - probability) * probability.clamp(min=_SMALLEST).log()
    negative = -((1 - absent) ** 2) * absent.clamp(min=_SMALLEST).log()
    return torch.where(signs > 0, positive, negative).mean()
