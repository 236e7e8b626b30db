"""Asymmetric loss: Ridnik et al., "Asymmetric Loss For Multi-Label Classification", ICCV 2021."""

import torch
from torch import Tensor

from trilabel.losses._cross_entropy import focused_bce, with_gradient
from trilabel.losses._inputs import Reduction, check_inputs, check_range, reduce, to_float32


def asymmetric(
    logits: Tensor,
    labels: Tensor,
    gamma_pos: float = 1,
    gamma_neg: float = 4,
    clip: float = 0.05,
    reduction: Reduction = "mean",
) -> Tensor:
    """Present: −(1−f)^gamma_pos · log f. Absent: −m^gamma_neg · log(1−m), m = max(f−clip, 0) (Ridnik 2021).

    `logits` are B×C, `labels` B×C in +1 present, −1 absent, 0 unknown; f = σ(logit). Unknown labels add nothing. The
    weights are not differentiated. "sum" is what the paper's code trains with, "mean" divides by B·C, "none" gives the
    B×C parts.

    >>> asymmetric(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), reduction="sum")
    tensor(0.0157)
    """
    check_range("gamma_pos", gamma_pos, 0, torch.inf)
    check_range("gamma_neg", gamma_neg, 0, torch.inf)
    check_range("clip", clip, 0, 1)
    signs = check_inputs(logits, labels)
    if clip:
        return reduce(_clipped(logits, signs, gamma_pos, gamma_neg, clip), reduction)
    if gamma_pos == gamma_neg:
        return reduce(focused_bce(logits, signs, gamma_pos), reduction)
    # (pos+neg)/2 ± (pos−neg)/2 is gamma_pos where present, gamma_neg where absent.
    gamma = signs.mul((gamma_pos - gamma_neg) / 2).add_((gamma_pos + gamma_neg) / 2)
    return reduce(focused_bce(logits, signs, gamma), reduction)


def _clipped(logits: Tensor, signs: Tensor, gamma_pos: float, gamma_neg: float, clip: float) -> Tensor:
    """Parts of `asymmetric`, B×C. In place and by hand: autograd takes three times as long here."""

    def focus(wrong: Tensor, present: Tensor) -> Tensor:
        """wrong^gamma_pos where present, wrong^gamma_neg where absent; may overwrite `wrong`."""
        return _power(wrong, gamma_neg).lerp_(_power(wrong, gamma_pos), present)

    def gradient_of(logits: Tensor) -> Tensor:
        right = torch.sigmoid(to_float32(logits) * signs).clamp(min=1e-35)
        shifted = torch.add(right, signs.clamp(max=0), alpha=-clip).clamp(max=1)
        return -signs * focus(1 - shifted.detach(), signs.clamp(min=0)) * right * (1 - right) / shifted

    with torch.no_grad():
        margin = to_float32(logits).mul_(signs)
        present = signs.clamp(min=0)
        right = torch.sigmoid(margin).clamp_(min=1e-35)
        shifted = torch.add(right, signs.clamp(max=0), alpha=-clip).clamp_(max=1)
        # Below 1e-35 only a present label can get (an absent one has at least clip), and there log σ(x) = x.
        parts = shifted.log().clamp_(max=margin.mul_(present))
        del margin
        gradient = right.addcmul_(right, right, value=-1).div_(shifted)
        weight = focus(shifted.neg_().add_(1), present).mul_(signs)
        gradient.mul_(weight).neg_()
        parts.mul_(weight).mul_(signs).neg_()
    return with_gradient(logits, parts, gradient, gradient_of)


def _power(base: Tensor, exponent: float) -> Tensor:
    """base^exponent for a base in [0, 1]; 0^0 = 0, so that a label below the clip gets no gradient."""
    if exponent == 0:
        return base.sign()
    if exponent == 1:
        return base
    if exponent > 2 and exponent % 2 == 0:  # torch is quick at exponents up to 3 only
        return base.square().pow_(exponent / 2)
    return base.pow(exponent)
