"""Large loss: an unknown label that is costly to read as absent is probably present.

Kim et al., "Large Loss Matters in Weakly Supervised Multi-Label Classification", CVPR 2022.

Throughout, `logits` are B×C and `labels` B×C in +1 present, −1 absent, 0 unknown. Known labels never change.
"""

import math
from typing import Literal

import torch
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.losses._cross_entropy import signed_bce
from trilabel.losses._inputs import check_inputs, check_range, to_float32, unknown_as_absent

Mode = Literal["reject", "correct"]


def large_loss(
    logits: Tensor, labels: Tensor, epoch: int, delta: float, mode: Mode = "reject", start: float | None = None
) -> Tensor:
    """Σ of BCE with unknown read as absent ÷ (B·C), but unknown labels of large loss are left out or read as present.

    From epoch 2 on, the `large_count(B, C, (epoch − 1) · delta)` largest losses of unknown labels are large, so `delta`
    is in percent of B·C; with `start` instead those above start − epoch · delta. `mode` "reject" leaves them out of
    the sum ("LL-R"), "correct" reads them as present ("LL-Ct").

    >>> large_loss(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), epoch=2, delta=20)
    tensor(0.1467)
    """
    check_range("epoch", epoch, 1, torch.inf)
    check_range("delta", delta, 0, torch.inf)
    signs = check_inputs(logits, labels)
    if epoch == 1:
        picked = torch.zeros_like(signs, dtype=torch.bool)
    elif start is None:
        images, classes = signs.shape
        picked = large_unknown(logits, signs, count=large_count(images, classes, (epoch - 1) * delta))
    else:
        picked = large_unknown(logits, signs, threshold=start - epoch * delta)
    return signed_bce(logits, large_loss_targets(signs, picked, mode)).mean()


def large_count(images: int, classes: int, percent: float) -> int:
    """How many labels are `percent` of a batch, rounded up.

    >>> large_count(10, 100, 3 * 0.1)  # 3.0000000000000004 in floating point
    3
    """
    check_range("percent", percent, 0, torch.inf)
    return math.ceil(min(images * classes * percent / 100 * (1 - 1e-12), images * classes))


def large_unknown(
    logits: Tensor, labels: Tensor, count: int | Tensor | None = None, threshold: float | None = None
) -> Tensor:
    """Which unknown labels, read as absent, have a large loss: a bool mask, B×C.

    Give one of two: the `count` largest of the batch, with all that tie with the last of them, or all if there are
    fewer; or those above `threshold`. A count may be a tensor, whose value is not waited for.
    """
    if (count is None) == (threshold is None):
        raise TrilabelError(f"large_unknown needs either count or threshold, got {count!r} and {threshold!r}")
    unknown = check_inputs(logits, labels) == 0
    # The loss of an absent label, log(1 + exp(x)), grows with its logit: logits are compared, which costs no
    # arithmetic, and losses that rounding makes equal stay apart.
    wide = to_float32(logits.detach())
    if count is None:
        assert threshold is not None
        check_range("threshold", threshold, -torch.inf, torch.inf)
        return unknown & (wide > _logit_of_loss(threshold))
    if isinstance(count, Tensor):
        falling = wide.masked_fill(~unknown, -torch.inf).flatten().sort(descending=True).values
        last = falling.gather(0, (count.long() - 1).clamp(0, len(falling) - 1).reshape(1))
        return unknown & (wide >= last) & (count > 0)
    check_range("count", count, 0, torch.inf)
    if count == 0:
        return torch.zeros_like(unknown)
    candidates = wide.masked_fill(~unknown, -torch.inf).flatten()
    smallest = candidates.topk(min(count, len(candidates)), sorted=False).values.amin()
    return unknown & (wide >= smallest)


def _logit_of_loss(loss: float) -> float:
    """The x of log(1 + exp(x)) = loss; −inf for a loss that all exceed."""
    return loss + math.log(-math.expm1(-loss)) if loss > 0 else -math.inf


def large_loss_targets(labels: Tensor, picked: Tensor, mode: Mode) -> Tensor:
    """The target of each label, B×C: +1 present, −1 absent or unknown; those `picked` (bool, B×C) by the mode.

    "reject" makes them 0, left out; "correct" makes them +1. `labels` are B×C in +1/−1/0; their dtype is kept.
    """
    if mode not in ("reject", "correct"):
        raise TrilabelError(f"mode is {mode!r}: give 'reject' or 'correct'")
    return unknown_as_absent(labels).masked_fill_(picked, 0 if mode == "reject" else 1)
