"""Losses that read most unknown labels as absent and guard against those that are not: Hill, SPLC and selective ASL.

Throughout, `logits` (x) are B×C and `labels` B×C in +1 present, −1 absent, 0 unknown; p = σ(x).
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.losses._parts import (
    Reduction,
    check_inputs,
    check_range,
    focused_bce,
    reduce,
    to_float32,
    unknown_as_absent,
    with_gradient,
)
from trilabel.losses.known import asymmetric
from trilabel.losses.large_loss import large_unknown

Unknown = Literal["ignore", "negative", "selective"]


def hill(
    logits: Tensor,
    labels: Tensor,
    reduction: Reduction = "mean",
    weight: float = 1.5,
    margin: float = 1.0,
    gamma: float = 2.0,
) -> Tensor:
    """Present: −(1−q)^gamma · log q, q = σ(x − margin). Absent or unknown: (weight − p) · p² (Zhang 2021).

    With weight 1.5 an absent label with p near 1 is pushed down ever less: it may be a present one that was missed.
    "sum" is what the paper's code trains with, "mean" divides by B·C, "none" gives the B×C parts.

    >>> hill(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), reduction="sum")
    tensor(0.6084)
    """
    check_range("weight", weight, 1, torch.inf)
    check_range("gamma", gamma, 0, torch.inf)
    present = check_inputs(logits, labels) > 0
    with torch.no_grad():
        wide = to_float32(logits)
        parts, slope = _focal(wide - margin, gamma)
        probability = torch.sigmoid(wide)
        squared = probability.square()
        parts = torch.where(present, parts, squared * (weight - probability))
        # d/dx of (weight − p)·p² is (2·weight − 3·p)·p²·(1−p)
        squared.mul_(torch.sigmoid(wide.neg_())).mul_(probability.mul_(-3).add_(2 * weight))
        slope = torch.where(present, slope, squared)
    return reduce(with_gradient(logits, parts, slope), reduction)


def _focal(margin: Tensor, gamma: float) -> tuple[Tensor, Tensor]:
    """−(1−q)^gamma · log q for q = σ(margin), and its derivative by the margin, the weight differentiated too."""
    right, wrong, logarithm = torch.sigmoid(margin), torch.sigmoid(-margin), F.logsigmoid(margin)
    weight = wrong**gamma
    slope = right.mul_(logarithm).mul_(gamma).sub_(wrong).mul_(weight)
    return logarithm.mul_(weight).neg_(), slope


def splc(
    logits: Tensor,
    labels: Tensor,
    epoch: int,
    tau: float = 0.6,
    reduction: Reduction = "mean",
    change_epoch: int = 2,
    margin: float = 1.0,
    gamma: float = 2.0,
) -> Tensor:
    """−(1−q)^gamma · log q, q = probability of the right answer; unknown is absent until corrected (Zhang 2021).

    A known present label answers with σ(x − margin). `splc_corrected` says which unknown labels are read as present;
    they answer with σ(x). Reductions as in `hill`.

    >>> splc(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), epoch=2, reduction="sum")
    tensor(0.0454)
    """
    corrected = splc_corrected(logits, labels, epoch, tau, change_epoch)
    return splc_with(logits, labels, corrected, margin, gamma, reduction)


def splc_with(
    logits: Tensor, labels: Tensor, corrected: Tensor, margin: float, gamma: float, reduction: Reduction = "mean"
) -> Tensor:
    """`splc` with the `corrected` unknown labels (bool, B×C) read as present."""
    check_range("gamma", gamma, 0, torch.inf)
    sign = check_inputs(logits, labels)
    with torch.no_grad():
        scored = unknown_as_absent(sign).masked_fill_(corrected, 1)
        parts, slope = _focal(to_float32(logits).sub_(sign.clamp(min=0), alpha=margin).mul_(scored), gamma)
    return reduce(with_gradient(logits, parts, slope.mul_(scored)), reduction)


def splc_corrected(logits: Tensor, labels: Tensor, epoch: int, tau: float, change_epoch: int) -> Tensor:
    """Which unknown labels SPLC reads as present, a bool mask B×C: those with p > tau, from `change_epoch` on."""
    check_range("epoch", epoch, 1, torch.inf)
    check_range("tau", tau, 0, 1)
    unknown = check_inputs(logits, labels) == 0
    if epoch < change_epoch:
        return torch.zeros_like(unknown)
    return unknown & (torch.sigmoid(to_float32(logits.detach())) > tau)


def partial_asymmetric(
    logits: Tensor,
    labels: Tensor,
    mode: Unknown = "selective",
    gamma_pos: float = 0,
    gamma_neg: float = 1,
    gamma_unknown: float = 4,
    top_k: int = 5,
    clip: float = 0.0,
    ignored_classes: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """`asymmetric` with the unknown labels as absent ones that have a focus of their own ("CSL", Ben-Baruch 2022).

    `mode` says which unknown labels take part: "ignore" none, "negative" all, "selective" those of
    `selected_unknown`. Reductions as in `hill`.

    >>> partial_asymmetric(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), top_k=1, reduction="sum")
    tensor(0.2112)
    """
    sign = check_inputs(logits, labels)
    if mode == "ignore":
        selected = torch.zeros_like(sign, dtype=torch.bool)
    elif mode == "negative":
        selected = sign == 0
    elif mode == "selective":
        selected = selected_unknown(logits, sign, top_k, ignored_classes)
    else:
        raise TrilabelError(f"mode is {mode!r}: give 'ignore', 'negative' or 'selective'")
    return asymmetric_with(logits, sign, selected, gamma_pos, gamma_neg, gamma_unknown, clip, reduction)


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
    """`asymmetric`, in which the `selected` unknown labels (bool, B×C) are absent with a focus of their own."""
    for name, gamma in (("gamma_pos", gamma_pos), ("gamma_neg", gamma_neg), ("gamma_unknown", gamma_unknown)):
        check_range(name, gamma, 0, torch.inf)
    sign = check_inputs(logits, labels)
    if clip:
        known = asymmetric(logits, sign, gamma_pos, gamma_neg, clip, "none")
        return reduce(known + asymmetric(logits, -selected.to(sign.dtype), 0, gamma_unknown, clip, "none"), reduction)
    focus = torch.full_like(sign, gamma_neg).masked_fill_(sign > 0, gamma_pos).masked_fill_(selected, gamma_unknown)
    return reduce(focused_bce(logits, sign.masked_fill(selected, -1), focus), reduction)


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
        raise TrilabelError(f"ignored_classes must be torch.bool ({labels.shape[1]},), one a class, got {got}")
    return selected & ~ignored_classes
