"""Losses of Cole 2021 that need more than the labels: the truth, or the number of present labels to expect.

Throughout, `logits` are B×C, f = σ(logits), and `labels` B×C in +1 present, −1 absent, 0 unknown.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._parts import check_inputs, check_range, signed_bce, to_float32, with_gradient


def ignore_unobserved_negatives(logits: Tensor, labels: Tensor, truth: Tensor) -> Tensor:
    """Σ of BCE over known present labels and all truly absent ones ÷ (B·C): an oracle ("IUN").

    `truth` is B×C in +1/−1. Absent labels are read off it alone; where it is 0 it is not known, and only a present
    label counts.

    >>> logits, labels = torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, 0, 0]])
    >>> ignore_unobserved_negatives(logits, labels, truth=torch.tensor([[1, -1, 1]]))
    tensor(0.1467)
    """
    present, true_sign = check_inputs(logits, labels).clamp(min=0), check_inputs(logits, truth)
    return signed_bce(logits, torch.where(present > 0, present, true_sign.clamp(max=0))).mean()


def expected_positive(logits: Tensor, labels: Tensor, expected_positives: float, strength: float = 1) -> Tensor:
    """Σ over present of −log f ÷ (B·C) + strength · ((mean over images of Σ_c f − expected_positives) / C)² ("EPR").

    Known absent labels take no part in the first term.

    >>> expected_positive(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), expected_positives=1.5)
    tensor(0.0826)
    """
    present = check_inputs(logits, labels).clamp(min=0)
    check_range("strength", strength, 0, torch.inf)
    check_range("expected_positives", expected_positives, 0, logits.shape[1])
    with torch.no_grad():
        wide = to_float32(logits)
        probability, opposite = torch.sigmoid(wide), torch.sigmoid(-wide)
        excess = probability.mean() - expected_positives / logits.shape[1]
        value = strength * excess.square() - F.logsigmoid(wide).mul_(present).mean()
        slope = (probability * opposite).mul_(2 * strength * excess).sub_(opposite.mul_(present))
    return with_gradient(logits, value, slope.div_(slope.numel()))


def role(logits: Tensor, labels: Tensor, estimate_logits: Tensor, expected_positives: float) -> Tensor:
    """Classifier f and estimate of every label g = σ(estimate_logits), B×C, learn from each other ("ROLE").

    ½ [E(f) + E(g)] + ½ [CE(f, g) + CE(g, f)], where E is `expected_positive`, and CE(p, q) the mean over B·C of the
    cross-entropy of p with target q, which is not differentiated.

    >>> role(torch.tensor([[2.0, -1.0]]), torch.tensor([[1, 0]]), torch.tensor([[3.0, -0.5]]), expected_positives=1)
    tensor(0.5421)
    """
    present, _ = check_inputs(logits, labels).clamp(min=0), check_inputs(estimate_logits, labels)
    value, by_logits, by_estimate = role_slopes(logits, present, estimate_logits, expected_positives)
    return with_gradient(logits, value, by_logits) + with_gradient(
        estimate_logits, torch.zeros_like(value), by_estimate
    )


@torch.no_grad()
def role_slopes(
    logits: Tensor, labels: Tensor, estimate_logits: Tensor, expected_positives: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(value, its derivative by the logits, and by the estimates) of `role`; for who keeps estimates by other means.

    Known absent labels count as well, as present ones do: −½ log(1−f) − ½ log(1−g), ÷ (B·C).
    """
    check_range("expected_positives", expected_positives, 0, logits.shape[1])
    sign, both = check_inputs(logits, labels), torch.stack((to_float32(logits), to_float32(estimate_logits)))
    probability, opposite = torch.sigmoid(both), torch.sigmoid(-both)
    # Each is the other's target, and a known label counts once more.
    up, down = probability.flip(0).add_(sign.clamp(min=0)), opposite.flip(0).sub_(sign.clamp(max=0))
    excess = probability.mean((1, 2), keepdim=True) - expected_positives / logits.shape[1]
    entropy = F.logsigmoid(both).mul_(up).addcmul_(F.logsigmoid(-both), down)
    value = excess.square().mean() - entropy.mean()
    slope = (probability * opposite).mul_(2 * excess).addcmul_(probability, down).addcmul_(opposite, up, value=-1)
    by_logits, by_estimate = slope.div_(slope.numel()).unbind()
    return value, by_logits, by_estimate
