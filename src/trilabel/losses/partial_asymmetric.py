"""Selective asymmetric loss: Ben-Baruch et al., "Multi-label Classification with Partial Annotations using Class-aware
Selective Loss" (CSL), CVPR 2022.
"""

from typing import Literal

import torch
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.losses._cross_entropy import focused_bce
from trilabel.losses._inputs import Reduction, check_inputs, check_range, reduce
from trilabel.losses.asymmetric import asymmetric
from trilabel.losses.large_loss import large_unknown

Mode = Literal["ignore", "negative", "selective"]


def partial_asymmetric(
    logits: Tensor,
    labels: Tensor,
    mode: Mode = "selective",
    gamma_pos: float = 0,
    gamma_neg: float = 1,
    gamma_unknown: float = 4,
    top_k: int = 5,
    clip: float = 0.0,
    ignored_classes: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """`asymmetric` with the unknown labels as absent ones that have a gamma of their own (Ben-Baruch 2022).

    `logits` are B×C, `labels` B×C in +1 present, −1 absent, 0 unknown. `mode` chooses which unknown labels take part:
    "ignore" none, "negative" all, "selective" those of `selected_unknown`. "sum" is what the paper's code trains with,
    "mean" divides by B·C, "none" gives the B×C parts.

    >>> partial_asymmetric(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), top_k=1, reduction="sum")
    tensor(0.2112)
    """
    signs = check_inputs(logits, labels)
    if mode == "ignore":
        selected = torch.zeros_like(signs, dtype=torch.bool)
    elif mode == "negative":
        selected = signs == 0
    elif mode == "selective":
        selected = selected_unknown(logits, signs, top_k, ignored_classes)
    else:
        raise TrilabelError(f"mode is {mode!r}: give 'ignore', 'negative' or 'selective'")
    return asymmetric_with(logits, signs, selected, gamma_pos, gamma_neg, gamma_unknown, clip, reduction)


def asymmetric_with(
    logits: Tensor,
    labels: Tensor,
    selected: Tensor,
    gamma_pos: float,
    gamma_neg: float,
    gamma_unknown: float,
    clip: float,
    reduction: Reduction = "mean",
) -> Tensor:
    """`asymmetric`, in which the `selected` unknown labels (bool, B×C) are absent with a gamma of their own."""
    for name, gamma in (("gamma_pos", gamma_pos), ("gamma_neg", gamma_neg), ("gamma_unknown", gamma_unknown)):
        check_range(name, gamma, 0, torch.inf)
    signs = check_inputs(logits, labels)
    if clip:
        known = asymmetric(logits, signs, gamma_pos, gamma_neg, clip, "none")
        return reduce(known + asymmetric(logits, -selected.to(signs.dtype), 0, gamma_unknown, clip, "none"), reduction)
    gammas = torch.full_like(signs, gamma_neg).masked_fill_(signs > 0, gamma_pos).masked_fill_(selected, gamma_unknown)
    return reduce(focused_bce(logits, signs.masked_fill(selected, -1), gammas), reduction)


def selected_unknown(logits: Tensor, labels: Tensor, top_k: int, ignored_classes: Tensor | None = None) -> Tensor:
    """Which unknown labels "selective" reads as absent, a bool mask B×C: all but those that may well be present.

    Left out are the top_k · B most probable of the batch, with all that tie with the last of them, and those of
    `ignored_classes` (bool, C: classes that are present often). The former are counted over all classes.
    """
    check_range("top_k", top_k, 0, torch.inf)
    selected = (check_inputs(logits, labels) == 0) & ~large_unknown(logits, labels, count=top_k * len(labels))
    if ignored_classes is None:
        return selected
    if ignored_classes.dtype != torch.bool or ignored_classes.shape != labels.shape[1:]:
        got = f"{ignored_classes.dtype} {tuple(ignored_classes.shape)}"
        raise TrilabelError(f"ignored_classes must be torch.bool ({labels.shape[1]},), one per class, got {got}")
    return selected & ~ignored_classes
