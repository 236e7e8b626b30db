"""Masks over labels, packed into one bit per label, so that masks of millions of labels stay small."""

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS_AT_ONCE = 10_000  # all rows unpacked at once would take eight times their memory


def empty(rows: int, classes: int) -> Tensor:
    """A packed mask of zeros: rows × ⌈classes/8⌉ uint8."""
    return torch.zeros(rows, -(-classes // 8), dtype=torch.uint8)


def size(rows: int, classes: int) -> int:
    """Bytes of such a mask."""
    return rows * -(-classes // 8)


def packed(mask: Tensor) -> Tensor:
    """B×C of 0/1 -> B×⌈C/8⌉ uint8, one bit per label.

    >>> packed(torch.tensor([[1, 0, 1, 1]]))
    tensor([[13]], dtype=torch.uint8)
    """
    whole = F.pad(mask.to(torch.uint8), (0, -mask.shape[1] % 8)).view(len(mask), -1, 8)
    return (whole << _places(mask.device)).sum(2, dtype=torch.uint8)


def unpacked(bits: Tensor, classes: int) -> Tensor:
    """The inverse of `packed`: B×⌈C/8⌉ uint8 -> B×C bool."""
    return ((bits[:, :, None] >> _places(bits.device)) & 1).bool().flatten(1)[:, :classes]


def _places(device: torch.device) -> Tensor:
    return torch.arange(8, dtype=torch.uint8, device=device)
