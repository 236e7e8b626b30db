"""What the losses share: checks, wide arithmetic, the cross-entropy of every label, and reductions.

A loss reads `check_inputs(logits, labels)`, turns them into one part a label (`signed_bce`, `focused_bce`, or its own
arithmetic on `to_float32(logits)`), and reduces. Nothing here waits for the device: no value is ever looked at.
"""

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.errors import TrilabelError

Reduction = Literal["mean", "sum", "none"]
Smoothing = float | tuple[float, float]

# Far beyond any real logit, yet a sum of many million parts of this size is still finite in float32.
_LARGEST_LOGIT = 1e30


def check_inputs(logits: Tensor, labels: Tensor) -> Tensor:
    """Check both (B×C) and give the labels +1/−1/0 in the dtype that the loss is computed in."""
    shapes = f"logits {tuple(logits.shape)}, labels {tuple(labels.shape)}"
    if logits.ndim != 2 or logits.shape != labels.shape:
        raise TrilabelError(f"a loss needs logits and labels of one shape, images × classes, got {shapes}")
    if logits.numel() == 0:
        raise TrilabelError(f"a loss needs at least one image and one class, got {shapes}: skip empty batches")
    if not logits.is_floating_point():
        raise TrilabelError(f"logits must be floating point, got {logits.dtype}")
    if labels.dtype == torch.bool or labels.is_complex():
        raise TrilabelError(f"labels are {labels.dtype}, which has no −1: give +1 present, −1 absent, 0 unknown")
    if logits.device != labels.device:
        raise TrilabelError(f"logits are on {logits.device}, labels on {labels.device}: move the labels there")
    return labels.detach().to(_wide(logits))


def check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise TrilabelError(f"{name} is {value!r}: give a number from {low:g} to {high:g}")


def to_float32(logits: Tensor) -> Tensor:
    """B×C in float32 (float64 stays), infinite logits made finite; NaN stays NaN, so that training can stop on it."""
    return logits.to(_wide(logits)).clamp(-_LARGEST_LOGIT, _LARGEST_LOGIT)


def _wide(logits: Tensor) -> torch.dtype:
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def unknown_as_absent(sign: Tensor) -> Tensor:
    """B×C in +1/−1/0 to B×C in +1/−1."""
    return sign.clamp(min=0).mul_(2).sub_(1)


class _WithGradient(torch.autograd.Function):
    """Parts whose derivative by the logits is already known: half the passes over memory that autograd would make."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, parts: Tensor, slope: Tensor) -> Tensor:
        # With a setup_context of its own, torch would look up this function's signature anew at each call.
        ctx.save_for_backward(slope)
        return parts

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        if torch.is_grad_enabled():  # only under create_graph=True, where the slope would pass for a constant
            raise RuntimeError("trilabel's losses have no second derivative: call backward without create_graph")
        (slope,) = ctx.saved_tensors
        return gradient * slope, None, None


def with_gradient(logits: Tensor, parts: Tensor, slope: Tensor) -> Tensor:
    """`parts` (B×C or a scalar), whose gradient by `logits` (B×C) is `slope` (B×C); computed under `torch.no_grad`."""
    result: Tensor = _WithGradient.apply(logits, parts, slope)
    return result


def signed_bce(logits: Tensor, sign: Tensor, smoothing: Smoothing = 0) -> Tensor:
    """Binary cross-entropy of each label, B×C: −log σ(x) where the sign is +1, −log σ(−x) where −1, 0 where 0.

    Smoothing s moves the target from 1 to 1−s and from 0 to s; a pair gives s of positives and of negatives apart.
    """
    of_positives, of_negatives = (smoothing, smoothing) if isinstance(smoothing, float | int) else smoothing
    check_range("smoothing of positives", of_positives, 0, 1)
    check_range("smoothing of negatives", of_negatives, 0, 1)
    with torch.no_grad():
        margin = to_float32(logits).mul_(sign)
        parts = F.logsigmoid(margin).mul_(sign.abs()).neg_()
        slope = torch.sigmoid(-margin).mul_(sign).neg_()
        if of_positives or of_negatives:
            # (1−s)·BCE(right) + s·BCE(wrong) = BCE(right) + s·margin, and the margin is 0 where the sign is.
            moved = sign.clamp(min=0).mul_(of_positives).sub_(sign.clamp(max=0), alpha=of_negatives)
            parts.addcmul_(moved, margin)
            slope.addcmul_(moved, sign)
    return with_gradient(logits, parts, slope)


def focused_bce(logits: Tensor, sign: Tensor, gamma: float | Tensor) -> Tensor:
    """`signed_bce` × (probability given to the wrong answer)^gamma, B×C; that weight is not differentiated.

    `gamma` is one number, or B×C to focus labels differently.
    """
    with torch.no_grad():
        margin = to_float32(logits).mul_(sign)
        wrong = torch.sigmoid(-margin)
        weight = torch.pow(wrong, gamma).mul_(sign)
        slope = wrong.mul_(weight).neg_()
        parts = F.logsigmoid(margin).mul_(weight).mul_(sign).neg_()
    return with_gradient(logits, parts, slope)


def reduce(parts: Tensor, reduction: Reduction) -> Tensor:
    """Mean over all B·C parts, their sum, or the parts themselves."""
    if reduction == "mean":
        return parts.mean()
    if reduction == "sum":
        return parts.sum()
    if reduction == "none":
        return parts
    raise TrilabelError(f"reduction is {reduction!r}: give 'mean', 'sum' or 'none'")
