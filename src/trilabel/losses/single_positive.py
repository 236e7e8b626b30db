"""Losses of Cole 2021 that need more than the labels: the truth, or the number of present labels to expect.

Throughout, `logits` are B×C, f = σ(logits), and `labels` B×C in +1 present, −1 absent, 0 unknown.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._parts import check_range, signed_bce, signs, widen, with_slope


def ignore_unobserved_negatives(logits: Tensor, labels: Tensor, truth: Tensor) -> Tensor:
    """Σ of BCE over known present labels and all truly absent ones ÷ (B·C): an oracle ("IUN").

    `truth` is B×C in +1/−1. Absent labels are read off it alone; where it is 0 it is not known, and only a present
    label counts.

    >>> logits, labels = torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, 0, 0]])
    >>> ignore_unobserved_negatives(logits, labels, truth=torch.tensor([[1, -1, 1]]))
    tensor(0.1467)
    """
    present, true_sign = signs(logits, labels).clamp(min=0), signs(logits, truth)
    return signed_bce(logits, torch.where(present > 0, present, true_sign.clamp(max=0))).mean()


def expected_positive(logits: Tensor, labels: Tensor, expected_positives: float, strength: float = 1) -> Tensor:
    """Σ over present of −log f ÷ (B·C) + strength · ((mean over images of Σ_c f − expected_positives) / C)² ("EPR").

    Known absent labels take no part in the first term.

    >>> expected_positive(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), expected_positives=1.5)
    tensor(0.0826)
    """
    present = signs(logits, labels).clamp(min=0)
    check_range("strength", strength, 0, torch.inf)
    return _expecting(logits, present, None, expected_positives, strength)


def _expecting(logits: Tensor, up: Tensor, down: Tensor | None, expected_positives: float, strength: float) -> Tensor:
    """Mean over B·C of −up·log f − down·log(1−f), and the squared term of `expected_positive`."""
    check_range("expected_positives", expected_positives, 0, logits.shape[1])
    with torch.no_grad():
        wide = widen(logits)
        probability, opposite = torch.sigmoid(wide), torch.sigmoid(-wide)
        excess = probability.mean() - expected_positives / logits.shape[1]
        value = strength * excess.square() - F.logsigmoid(wide).mul_(up).mean()
        slope = (probability * opposite).mul_(2 * strength * excess).sub_(opposite.mul_(up))
        if down is not None:
            value -= F.logsigmoid(wide.neg_()).mul_(down).mean()
            slope.add_(probability.mul_(down))
    return with_slope(logits, value, slope.div_(slope.numel()))


def role(logits: Tensor, labels: Tensor, estimate_logits: Tensor, expected_positives: float) -> Tensor:
    """Classifier f and estimate of every label g = σ(estimate_logits), B×C, learn from each other ("ROLE").

    ½ [E(f) + E(g)] + ½ [CE(f, g) + CE(g, f)], where E is `expected_positive`, and CE(p, q) the mean over B·C of the
    cross-entropy of p with target q, which is not differentiated.

    >>> role(torch.tensor([[2.0, -1.0]]), torch.tensor([[1, 0]]), torch.tensor([[3.0, -0.5]]), expected_positives=1)
    tensor(0.5421)
    """
    present, _ = signs(logits, labels).clamp(min=0), signs(estimate_logits, labels)
    of_classifier = _learning_from(estimate_logits, logits, present, expected_positives)
    of_estimate = _learning_from(logits, estimate_logits, present, expected_positives)
    return (of_classifier + of_estimate) / 2


def _learning_from(teacher_logits: Tensor, logits: Tensor, present: Tensor, expected_positives: float) -> Tensor:
    """`expected_positive` and the cross-entropy with the teacher as target, in one."""
    teacher = widen(teacher_logits.detach())
    up, down = torch.sigmoid(teacher).add_(present), torch.sigmoid(-teacher)
    return _expecting(logits, up, down, expected_positives, strength=1)
