"""The first and last steps of every loss: check its inputs, compute in float32, read unknown as absent, reduce.

Nothing here waits for the device: values are read only on the CPU, and not of int8 labels, which Labels gives.
"""

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import torch
from torch import Tensor

from trilabel.errors import TrilabelError

Reduction = Literal["mean", "sum", "none"]

# Far beyond any real logit, yet a sum of many million terms of this size is still finite in float32.
_LARGEST_LOGIT = 1e30


def check_inputs(logits: Tensor, labels: Tensor) -> Tensor:
    """Check logits and labels (both B×C); return the labels +1/−1/0 in the dtype that the loss is computed in."""
    require_tensors(logits, labels)
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
    if labels.dtype != torch.int8 and labels.device.type == "cpu" and not torch.compiler.is_compiling():
        _check_values(labels.detach())
    return labels.detach().to(_wide(logits))


def require_tensors(*given: object) -> None:
    """Refuses arrays and lists."""
    if other := [type(one).__name__ for one in given if not isinstance(one, Tensor)]:
        raise TrilabelError(f"a loss takes tensors, not {other[0]}: torch.from_numpy(array) and torch.tensor(list) do")


def _check_values(labels: Tensor) -> None:
    """Refuses other values than +1, −1 and 0: targets of 0 … 1 would be learned as something else."""
    wrong = (labels != 0) & (labels.abs() != 1)
    if wrong.any():
        value = labels[wrong][0].item()
        raise TrilabelError(f"a label is {value:g}: give +1 present, −1 absent, 0 unknown (soft targets: target_bce)")


def warn_of_binary(labels: Tensor) -> None:
    """Warns of labels that are 1 and 0 alone, for losses to which 0 is unknown: only the ones would be learned."""
    if labels.dtype == torch.int8 or labels.device.type != "cpu" or torch.compiler.is_compiling():
        return
    low, high = labels.detach().aminmax()
    if low == 0 and high == 1:
        warnings.warn(
            "labels are 1 and 0, and 0 is unknown to this loss: everything is learned as present. If 0 is absent in "
            "yours, give 2 * labels - 1",
            stacklevel=4,
        )


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Raises an error for NaN and for a setting outside low … high."""
    if not low <= value <= high:
        raise TrilabelError(f"{name} is {value!r}: give a number from {low:g} to {high:g}")


def to_float32(logits: Tensor, largest: float = _LARGEST_LOGIT) -> Tensor:
    """B×C in float32 (float64 stays), infinite logits made finite; NaN stays NaN, so that training can stop on it.

    Always a new tensor. The gradient passes as if nothing were clamped: an infinite logit also gets a gradient.
    """
    return clamp_keeping_gradient(logits.to(_wide(logits)), -largest, largest)


def without_autocast(tensor: Tensor) -> AbstractContextManager[object]:
    """A context in which matrix products on the tensor's device keep the precision of what they are given."""
    kind = tensor.device.type
    return torch.autocast(kind, enabled=False) if torch.amp.is_autocast_available(kind) else nullcontext()


def _wide(logits: Tensor) -> torch.dtype:
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


class _ClampKeepingGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, low: float, high: float) -> Tensor:
        return values.clamp(low, high)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient, None, None


def clamp_keeping_gradient(values: Tensor, low: float, high: float) -> Tensor:
    """`values.clamp(low, high)` whose gradient is 1 outside these bounds as well."""
    if not (torch.is_grad_enabled() and values.requires_grad):
        return values.clamp(low, high)
    clamped: Tensor = _ClampKeepingGradient.apply(values, low, high)
    return clamped


def unknown_as_absent(labels: Tensor) -> Tensor:
    """B×C in +1/−1/0 to B×C in +1/−1."""
    return labels.clamp(min=0).mul_(2).sub_(1)


def reduce(parts: Tensor, reduction: Reduction) -> Tensor:
    """Mean over all B·C parts, their sum, or the parts themselves (B×C)."""
    if reduction == "mean":
        return parts.mean()
    if reduction == "sum":
        return parts.sum()
    if reduction == "none":
        return parts
    raise TrilabelError(f"reduction is {reduction!r}: give 'mean', 'sum' or 'none'")
