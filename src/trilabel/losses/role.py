"""Regularized online label estimation: Cole et al., "Multi-Label Learning from Single Positive Labels", CVPR 2021."""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._cross_entropy import signed_bce
from trilabel.losses._inputs import check_inputs, check_range, to_float32


def role(
    logits: Tensor, labels: Tensor, estimate_logits: Tensor, expected_positives: float, known_weight: float = 1
) -> Tensor:
    """Classifier f and estimate of every label g = σ(estimate_logits) learn from each other ("ROLE" of Cole 2021).

    ½ [E(f) + E(g)] + ½ [CE(f, g) + CE(g, f)], where E is `expected_positive`, and CE(p, q) the mean over B·C of the
    cross-entropy of p with target q, which is not differentiated. `logits` and `estimate_logits` are B×C, f =
    σ(logits), `labels` B×C in +1 present, −1 absent, 0 unknown; known absent labels take no part.
    `known_weight`: as in `expected_positive`.

    >>> role(torch.tensor([[2.0, -1.0]]), torch.tensor([[1, 0]]), torch.tensor([[3.0, -0.5]]), expected_positives=1)
    tensor(0.5421)
    """
    signs = check_inputs(logits, labels).clamp(min=0)
    return _role(logits, signs, estimate_logits, expected_positives, known_weight)


@torch.no_grad()
def role_gradients(
    logits: Tensor, labels: Tensor, estimate_logits: Tensor, expected_positives: float, known_weight: float = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """(value, its gradient by `logits` B×C, its gradient by `estimate_logits` B×C), without a graph.

    For a caller that updates the estimates itself. Unlike in `role`, known absent labels count as well, as present ones
    do: −½ log(1−f) − ½ log(1−g), ÷ (B·C). By hand, because every step of the method needs it: with autograd a step
    took a tenth longer than one of BCE (`benchmarks/bench_methods.py` on a GPU).
    """
    check_range("expected_positives", expected_positives, 0, logits.shape[1])
    signs, both = check_inputs(logits, labels), torch.stack((to_float32(logits), to_float32(estimate_logits)))
    probability, opposite = torch.sigmoid(both), torch.sigmoid(-both)
    # Each is the other's target, and a known label counts `known_weight` times more.
    known = signs * known_weight
    up, down = probability.flip(0).add_(known.clamp(min=0)), opposite.flip(0).sub_(known.clamp(max=0))
    excess = probability.mean((1, 2), keepdim=True) - expected_positives / logits.shape[1]
    entropy = F.logsigmoid(both).mul_(up).addcmul_(F.logsigmoid(-both), down)
    value = excess.square().mean() - entropy.mean()
    gradient = (probability * opposite).mul_(2 * excess).addcmul_(probability, down).addcmul_(opposite, up, value=-1)
    by_logits, by_estimate = gradient.div_(gradient.numel()).unbind()
    return value, by_logits, by_estimate


def _role(
    logits: Tensor, signs: Tensor, estimate_logits: Tensor, expected_positives: float, known_weight: float
) -> Tensor:
    check_inputs(estimate_logits, signs)
    check_range("expected_positives", expected_positives, 0, logits.shape[1])
    wide, estimate = to_float32(logits), to_float32(estimate_logits)
    one = _half(wide, estimate, signs, expected_positives, known_weight)
    return (one + _half(estimate, wide, signs, expected_positives, known_weight)) / 2


def _half(learner: Tensor, teacher: Tensor, signs: Tensor, expected_positives: float, known_weight: float) -> Tensor:
    """E(learner) + CE(learner, teacher), of logits B×C."""
    excess = torch.sigmoid(learner).mean() - expected_positives / learner.shape[1]
    agreement = F.binary_cross_entropy_with_logits(learner, torch.sigmoid(teacher.detach()))
    return known_weight * signed_bce(learner, signs).mean() + excess.square() + agreement
