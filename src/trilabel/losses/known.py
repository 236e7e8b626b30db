"""Losses on the known labels only: an unknown label adds nothing and gets no gradient.

Throughout, `logits` are B×C and `labels` B×C in +1 present, −1 absent, 0 unknown; BCE(x, z) = −log σ(z·x).
"""

import torch
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.losses._parts import (
    Reduction,
    Smoothing,
    check_inputs,
    check_range,
    focused_bce,
    reduce,
    signed_bce,
    to_float32,
    with_gradient,
)


def bce(logits: Tensor, labels: Tensor, smoothing: Smoothing = 0) -> Tensor:
    """Σ over known labels of BCE ÷ (B·C) (Durand 2019; "ignore unobserved" of Cole 2021).

    `smoothing` s moves the targets from 1 to 1−s and from 0 to s; a pair gives s of positives and of negatives.

    >>> bce(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.1467)
    """
    return signed_bce(logits, check_inputs(logits, labels), smoothing).mean()


def solve_weight(gamma: float, at: float, value: float) -> tuple[float, float]:
    """(alpha, beta) of the weight g(p) = alpha·p^gamma + beta with g(1) = 1 and g(at) = value.

    >>> solve_weight(gamma=-1, at=0.1, value=10)
    (1.0, 0.0)
    """
    if gamma == 0 or not 0 < at < 1:
        raise TrilabelError(f"no weight has gamma={gamma!r} and at={at!r}: gamma must not be 0, 0 < at < 1")
    alpha = (value - 1) / (at**gamma - 1)
    return alpha, 1 - alpha


def partial_bce(logits: Tensor, labels: Tensor, gamma: float = 1, at: float = 0.1, value: float = 5) -> Tensor:
    """Mean over images of g(p)/C · Σ known BCE, where p is the known share of the image (Durand 2019).

    g(p) = alpha·p^gamma + beta, solved from g(1) = 1 and g(at) = value; an image without known labels adds 0.

    >>> partial_bce(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.3641)
    """
    alpha, beta = solve_weight(gamma, at, value)
    sign = check_inputs(logits, labels)
    classes = sign.shape[1]
    smallest = alpha * classes**-gamma + beta  # g is monotonic, and g(1) = 1
    if smallest < 0:
        raise TrilabelError(f"partial_bce: one known label of {classes} would weigh {smallest:.3g}: raise value")
    share = _known_per_image(sign) / classes
    weight = alpha * share**gamma + beta
    return (weight * signed_bce(logits, sign).sum(1)).mean() / classes


def known_mean_bce(logits: Tensor, labels: Tensor) -> Tensor:
    """Σ known BCE of the batch ÷ number of known labels of the batch ("BN-BCE", Wang 2023)."""
    sign = check_inputs(logits, labels)
    return signed_bce(logits, sign).sum() / sign.abs().sum().clamp(min=1)


def per_image_bce(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over images of Σ known BCE ÷ known labels of that image (Wang 2023, eq. 9).

    Equals `partial_bce` with gamma −1, alpha 1, beta 0; an image without known labels adds 0.
    """
    sign = check_inputs(logits, labels)
    return (signed_bce(logits, sign).sum(1) / _known_per_image(sign)).mean()


def _known_per_image(sign: Tensor) -> Tensor:
    """Number of known labels of each image (B), at least 1: where there are none, the sum divided by it is 0 too."""
    return sign.abs().sum(1).clamp(min=1)


def focal(logits: Tensor, labels: Tensor, gamma: float = 2, reduction: Reduction = "mean") -> Tensor:
    """BCE of known labels × (1 − probability of the right answer)^gamma (Lin 2017).

    The weight is not differentiated. "mean" divides by B·C, "none" gives the B×C parts.
    """
    check_range("focal gamma", gamma, 0, torch.inf)
    return reduce(focused_bce(logits, check_inputs(logits, labels), gamma), reduction)


def asymmetric(
    logits: Tensor,
    labels: Tensor,
    gamma_pos: float = 1,
    gamma_neg: float = 4,
    clip: float = 0.05,
    reduction: Reduction = "mean",
) -> Tensor:
    """Present: −(1−f)^gamma_pos · log f. Absent: −m^gamma_neg · log(1−m), m = max(f−clip, 0) (Ridnik 2021).

    f = σ(logit). The weights are not differentiated. "sum" is what the paper's code trains with, "mean" divides by
    B·C, "none" gives the B×C parts.

    >>> asymmetric(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), reduction="sum")
    tensor(0.0157)
    """
    check_range("gamma_pos", gamma_pos, 0, torch.inf)
    check_range("gamma_neg", gamma_neg, 0, torch.inf)
    check_range("clip", clip, 0, 1)
    sign = check_inputs(logits, labels)
    if clip:
        return reduce(_clipped(logits, sign, gamma_pos, gamma_neg, clip), reduction)
    if gamma_pos == gamma_neg:
        return reduce(focused_bce(logits, sign, gamma_pos), reduction)
    # (pos+neg)/2 ± (pos−neg)/2 is gamma_pos where present, gamma_neg where absent.
    gamma = sign.mul((gamma_pos - gamma_neg) / 2).add_((gamma_pos + gamma_neg) / 2)
    return reduce(focused_bce(logits, sign, gamma), reduction)


def _clipped(logits: Tensor, sign: Tensor, gamma_pos: float, gamma_neg: float, clip: float) -> Tensor:
    """Parts of `asymmetric`, B×C. In place where it can be: fresh memory costs more here than the arithmetic."""
    with torch.no_grad():
        margin = to_float32(logits).mul_(sign)
        present = sign.clamp(min=0)
        right = torch.sigmoid(margin).clamp_(min=1e-35)
        shifted = torch.add(right, sign.clamp(max=0), alpha=-clip).clamp_(max=1)
        # Below 1e-35 only a present label can get (an absent one has at least clip), and there log σ(x) = x.
        parts = shifted.log().clamp_(max=margin.mul_(present))
        del margin
        slope = right.addcmul_(right, right, value=-1).div_(shifted)
        wrong = shifted.neg_().add_(1)
        weight = _power(wrong, gamma_neg).lerp_(_power(wrong, gamma_pos), present).mul_(sign)
        slope.mul_(weight).neg_()
        parts.mul_(weight).mul_(sign).neg_()
    return with_gradient(logits, parts, slope)


def _power(base: Tensor, exponent: float) -> Tensor:
    """base^exponent for a base in [0, 1]; 0^0 = 0, so that a label below the clip gets no slope."""
    if exponent == 0:
        return base.sign()
    if exponent == 1:
        return base
    if exponent > 2 and exponent % 2 == 0:  # torch is quick at exponents up to 3 only
        return base.square().pow_(exponent / 2)
    return base.pow(exponent)
