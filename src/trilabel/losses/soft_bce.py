"""Binary cross-entropy towards soft targets between −1 and +1, where 0 is unknown (Pu 2022, SARB)."""

import torch
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.losses._inputs import to_float32


def soft_known_bce(logits: Tensor, targets: Tensor, known: Tensor | None = None) -> Tensor:
    """Mean over the known targets t of the batch of BCE towards t (t ≥ 0) or 1 + t (t < 0); 0 where none is known.

    Equals `known_mean_bce` for targets of ±1. The gradient also reaches the targets.
    known: B×C, which targets are known; none: all but 0. A soft target can be 0 and known.

    >>> import torch
    >>> soft_known_bce(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[0.5, -1.0, 0.0]]))
    tensor(0.7201)
    """
    if logits.ndim != 2 or logits.shape != targets.shape:
        shapes = f"logits {tuple(logits.shape)}, targets {tuple(targets.shape)}"
        raise TrilabelError(f"a loss needs logits and targets of one shape, images × classes, got {shapes}")
    scores = to_float32(logits)
    targets = targets.to(scores.dtype)
    probability = torch.where(targets >= 0, targets, 1 + targets)
    parts = torch.nn.functional.softplus(scores) - probability * scores
    known = targets != 0 if known is None else known
    return torch.where(known, parts, 0).sum() / known.sum().clamp(min=1)
