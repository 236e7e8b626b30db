"""Losses on pairs of labels of one image: a present label should score above the others.

Throughout, `logits` (x) are B×C and `labels` B×C in +1 present, −1 absent, 0 unknown. No loss here but `ranknet` makes
its pairs one by one: time and memory grow with the classes, not with their square.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._parts import check_inputs, to_float32, with_gradient

# A sum over all pairs of thousands of classes must be finite in float32 too, so logits end earlier here than elsewhere.
_LARGEST_IN_PAIRS = 1e20
_PAIRS_AT_ONCE = 2**22


def pairwise_ranking(logits: Tensor, labels: Tensor) -> Tensor:
    """Σ over present i, unknown j of max(0, 1 − f_i + f_j) ÷ (B·C), f = σ(logit) ("PR" of Cole 2021).

    Known absent labels take no part.

    >>> pairwise_ranking(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.3573)
    """
    sign = check_inputs(logits, labels)
    with torch.no_grad():
        present, unknown = sign.clamp(min=0), sign.abs().neg_().add_(1)
        # Probabilities differ by 1 at most, so no pair is ever cut off at 0, and the sum over pairs falls apart:
        # 1 − f_i counts once for each unknown label of the image, f_j once for each present one.
        partners = present * unknown.sum(1, keepdim=True) + unknown * present.sum(1, keepdim=True)
        direction = present.sub_(unknown)
        wrong = torch.sigmoid(to_float32(logits).mul_(direction).neg_())
        parts = wrong * partners
        slope = wrong.neg_().add_(1).mul_(parts).mul_(direction).neg_()
    return with_gradient(logits, parts, slope).mean()


def lsep(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over images of log(1 + Σ over present i, absent j of exp(x_j − x_i)) (Li 2017).

    Unknown labels take no part; an image without present or without absent labels adds 0.

    >>> lsep(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.0486)
    """
    sign = check_inputs(logits, labels)
    with torch.no_grad():
        wide = to_float32(logits)
        absent, present = _nowhere_but(sign < 0, wide), _nowhere_but(sign > 0, -wide)
        gap = absent.logsumexp(1) + present.logsumexp(1)
        value = F.logsigmoid(-gap).mean().neg()
        # The softmax over no label at all is NaN; such an image has no slope.
        slope = absent.softmax(1).nan_to_num_().sub_(present.softmax(1).nan_to_num_())
        slope.mul_(torch.sigmoid(gap).div_(len(gap)).unsqueeze(1))
    return with_gradient(logits, value, slope)


def ranknet(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over images of the mean over pairs of present i, absent j of log(1 + exp(x_j − x_i)) (Zhang 2016).

    Unknown labels take no part; an image without present or without absent labels adds 0. That sum does not fall
    apart, so time grows with the square of the classes (on a CPU: of those known in the batch); memory does not.

    >>> ranknet(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.0486)
    """
    sign = check_inputs(logits, labels)
    with torch.no_grad():
        wide = to_float32(logits).clamp_(-_LARGEST_IN_PAIRS, _LARGEST_IN_PAIRS)
        present, absent = sign.clamp(min=0), sign.clamp(max=0).neg_()
        weight = (present.sum(1) * absent.sum(1)).clamp_(min=1).mul_(len(wide)).reciprocal_()
        value, slope = torch.zeros_like(weight), torch.zeros_like(wide)
        below = torch.arange(wide.shape[1], device=wide.device)
        above = below
        # Elsewhere only the device knows which classes are present and absent at all.
        if wide.device.type == "cpu" and not torch.compiler.is_compiling():
            above, below = ((part.any(0) | wide.isnan().any(0)).nonzero()[:, 0] for part in (present, absent))
        others, pushed = wide[:, below], wide.new_zeros(len(wide), len(below))
        for here in torch.split(above, max(1, _PAIRS_AT_ONCE // max(1, others.numel()))):
            gap = others.unsqueeze(1) - wide[:, here].unsqueeze(2)
            pair = present[:, here].unsqueeze(2) * absent[:, below].unsqueeze(1)
            value.sub_(F.logsigmoid(-gap).mul_(pair).sum((1, 2)))
            wrong = gap.sigmoid_().mul_(pair)
            slope[:, here] -= wrong.sum(2)
            pushed.add_(wrong.sum(1))
        slope.index_add_(1, below, pushed)
        slope.mul_(weight.unsqueeze(1))
    return with_gradient(logits, value.mul_(weight).sum(), slope)


def _nowhere_but(chosen: Tensor, scores: Tensor) -> Tensor:
    """−inf where not chosen; added rather than written there, so that NaN stays NaN."""
    return torch.where(chosen, 0.0, -torch.inf).to(scores.dtype).add_(scores)


def warp(logits: Tensor, labels: Tensor) -> Tensor:
    """Σ over present i of L(r_i) · Σ over absent j of max(0, 1 − x_i + x_j), ÷ (B·C) (Gong 2014).

    r_i is the number of absent labels of the image that violate the margin of i, counted where the paper estimates it
    by sampling; L(r) = 1 + 1/2 + … + 1/r is not differentiated. Unknown labels take no part.

    >>> warp(torch.tensor([[0.5, -0.2, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.1000)
    """
    sign = check_inputs(logits, labels)
    with torch.no_grad():
        wide = to_float32(logits).clamp_(-_LARGEST_IN_PAIRS, _LARGEST_IN_PAIRS)
        present, absent = sign.clamp(min=0), sign.clamp(max=0).neg_()
        # What is not absent is moved below every logit: it violates no margin. Moved rather than overwritten, and
        # largest first, so that a NaN, wherever it stands, gets into all sums.
        others, order = (wide + (absent - 1) * (1e5 * _LARGEST_IN_PAIRS)).sort(1, descending=True)
        room = 1 - wide
        violators = torch.searchsorted(-others, room)
        violator_sum = others.cumsum(1).gather(1, (violators - 1).clamp_(min=0))
        rank_weights = _harmonic(wide)
        weight = rank_weights[violators] * present
        # Both terms are large and of opposite sign where the logits are large: rounding may end below 0.
        hinges = (violators * room).add_(violator_sum).clamp_(min=0)
        value = (weight * hinges).sum() / wide.numel()

        # The p-th largest absent label is pushed down by every present label with at least p violators.
        pushing = wide.new_zeros(len(wide), len(rank_weights))
        pushing.scatter_add_(1, violators, present).mul_(rank_weights)
        pushed = pushing[:, 1:].flip(1).cumsum(1).flip(1)
        slope = torch.zeros_like(wide).scatter_(1, order, pushed)
        slope.addcmul_(weight, violators, value=-1).div_(wide.numel())
    return with_gradient(logits, value, slope)


def _harmonic(like: Tensor) -> Tensor:
    """L(0) … L(C) for logits B×C: sums of the first reciprocals."""
    reciprocals = torch.arange(like.shape[1] + 1, dtype=like.dtype, device=like.device).reciprocal_()
    reciprocals[:1].zero_()  # assigning a number would wait for the device
    return reciprocals.cumsum(0)
