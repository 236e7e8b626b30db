"""The cross-entropy of every label, plain or focused: what most losses reduce.

These are the losses that most training steps compute, so their gradients are written by hand: half the passes over
memory that autograd would make, 1.1 to 1.4 times as fast on a CPU (288 × 5,000 labels, forward and backward). Nothing
waits for the device.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._inputs import check_range, to_float32

Smoothing = float | tuple[float, float]
GradientOf = Callable[[Tensor], Tensor]


class _WithGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, parts: Tensor, gradient: Tensor, gradient_of: GradientOf | None) -> Tensor:
        # With a setup_context of its own, torch would look up this function's signature at each call.
        ctx.save_for_backward(logits, gradient)
        ctx.gradient_of = gradient_of
        return parts

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None, None, None]:
        """The gradient that was computed with the loss."""
        logits, gradient = ctx.saved_tensors
        if torch.is_grad_enabled():  # only under create_graph=True, where `gradient` would be treated as a constant
            if ctx.gradient_of is None:
                raise RuntimeError("this loss has no second derivative: call backward without create_graph")
            gradient = ctx.gradient_of(logits)
        return outer * gradient, None, None, None


def with_gradient(logits: Tensor, parts: Tensor, gradient: Tensor, gradient_of: GradientOf | None = None) -> Tensor:
    """`parts` (B×C or a scalar), whose gradient by `logits` (B×C) is `gradient` (B×C); computed under `torch.no_grad`.

    Second derivatives (`create_graph=True`) need `gradient_of`: logits B×C → the same gradient B×C, by operations that
    autograd can follow. Without it they raise a RuntimeError.
    """
    result: Tensor = _WithGradient.apply(logits, parts, gradient, gradient_of)
    return result


def signed_bce(logits: Tensor, signs: Tensor, smoothing: Smoothing = 0) -> Tensor:
    """Binary cross-entropy of each label, B×C: −log σ(x) where the sign is +1, −log σ(−x) where −1, 0 where 0.

    `logits` and `signs` are B×C. Smoothing s moves the target from 1 to 1−s and from 0 to s; a pair gives s of
    positives and of negatives separately.
    """
    of_positives, of_negatives = (smoothing, smoothing) if isinstance(smoothing, float | int) else smoothing
    check_range("smoothing of positives", of_positives, 0, 1)
    check_range("smoothing of negatives", of_negatives, 0, 1)

    def shift() -> Tensor:
        """How far each target is moved, B×C."""
        return signs.clamp(min=0).mul_(of_positives).sub_(signs.clamp(max=0), alpha=of_negatives)

    def gradient_of(logits: Tensor) -> Tensor:
        return signs * (shift() - torch.sigmoid(-signs * to_float32(logits)))

    with torch.no_grad():
        margin = to_float32(logits).mul_(signs)
        parts = F.logsigmoid(margin).mul_(signs.abs()).neg_()
        gradient = torch.sigmoid(-margin).mul_(signs).neg_()
        if of_positives or of_negatives:
            # (1−s)·BCE(right) + s·BCE(wrong) = BCE(right) + s·margin, and the margin is 0 where the sign is.
            shifted_by = shift()
            parts.addcmul_(shifted_by, margin)
            gradient.addcmul_(shifted_by, signs)
    return with_gradient(logits, parts, gradient, gradient_of)


def focused_bce(logits: Tensor, signs: Tensor, gamma: float | Tensor) -> Tensor:
    """`signed_bce` × (probability given to the wrong answer)^gamma, B×C; that weight is not differentiated.

    `logits` and `signs` are B×C; `gamma` is one number, or B×C to focus labels differently.
    """

    def gradient_of(logits: Tensor) -> Tensor:
        wrong = torch.sigmoid(-signs * to_float32(logits))
        return -signs * wrong.detach() ** gamma * wrong

    with torch.no_grad():
        margin = to_float32(logits).mul_(signs)
        wrong = torch.sigmoid(-margin)
        weight = torch.pow(wrong, gamma).mul_(signs)
        gradient = wrong.mul_(weight).neg_()
        parts = F.logsigmoid(margin).mul_(weight).mul_(signs).neg_()
    return with_gradient(logits, parts, gradient, gradient_of)
