"""Which two classes an image shows together, from the class features of both (SST, Chen 2022)."""

import math

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from trilabel.errors import TrilabelError

_HIDDEN, _WIDTH = 512, 1024
_MOST_PAIRS = 200_000  # with a vector of 1,024 numbers each: 800 MB
_AT_ONCE = 2**27  # numbers of images × pairs × width that are kept for the backward pass; above, parts are repeated


def check_pairs(method: str, classes: int) -> None:
    """Raises an error where there are too many pairs of classes."""
    if classes * (classes - 1) // 2 > _MOST_PAIRS:
        raise TrilabelError(
            f"{method}: {classes} classes make {classes * (classes - 1) // 2:,} pairs, at most {_MOST_PAIRS:,} can be "
            "learned; use another method"
        )


class PairHead(nn.Module):
    """g = B1·f;  u_ij = relu(B2·[g_i ; g_j]);  logit_ij = ⟨k_ij, B3·u_ij⟩ + c_ij for each pair i < j, row by row.

    B2 acts on both halves apart and k_ij on B3 first, so that no pair needs a product of its own with a matrix.
    """

    def __init__(self, classes: int, size: int) -> None:
        super().__init__()
        pairs, bound = classes * (classes - 1) // 2, _WIDTH**-0.5
        self.classes = classes
        self.project = nn.Linear(size, _HIDDEN)
        self.first = nn.Linear(_HIDDEN, _WIDTH)
        self.second = nn.Linear(_HIDDEN, _WIDTH, bias=False)
        self.mix = nn.Linear(_WIDTH, _WIDTH)
        self.weight = nn.Parameter(torch.empty(pairs, _WIDTH).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(pairs).uniform_(-bound, bound))

    @staticmethod
    def memory_needed(classes: int) -> int:
        """Bytes of what grows with the pairs: their vectors, with gradients and both averages of the optimizer."""
        return 4 * 4 * _WIDTH * (classes * (classes - 1) // 2)

    def forward(self, class_features: Tensor) -> Tensor:
        """B×C×D -> B×P logits."""
        projected = self.project(class_features)
        one, other = self.first(projected), self.second(projected)
        first, second = torch.triu_indices(self.classes, self.classes, 1, device=one.device)
        direction, constant = self.weight @ self.mix.weight, self.weight @ self.mix.bias + self.bias

        def compare(first: Tensor, second: Tensor, direction: Tensor) -> Tensor:
            return (torch.relu(one[:, first] + other[:, second]) * direction).sum(2)

        parts = math.ceil(len(one) * direction.numel() / _AT_ONCE)
        if parts <= 1:
            return compare(first, second, direction) + constant
        chunks = zip(*(whole.tensor_split(parts) for whole in (first, second, direction)), strict=True)
        return torch.cat([checkpoint(compare, *chunk, use_reentrant=False) for chunk in chunks], 1) + constant


def shown_with(logits: Tensor, labels: Tensor) -> Tensor:
    """B×P logits of pairs and B×C labels -> B×C: mean probability of each class together with the known positives.

    A class is together with itself with probability 1; 0 for an image without known positives.
    """
    classes = labels.shape[1]
    first, second = torch.triu_indices(classes, classes, 1, device=labels.device)
    probability = torch.sigmoid(logits.float())
    positives = (labels > 0).to(probability.dtype)
    sums = positives.clone()
    sums = sums.index_add(1, first, probability * positives[:, second])
    sums = sums.index_add(1, second, probability * positives[:, first])
    return sums / positives.sum(1, keepdim=True).clamp(min=1)
