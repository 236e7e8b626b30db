"""RankNet over labels: Zhang et al., "Fast Zero-Shot Image Tagging" (Fast0Tag), CVPR 2016."""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._cross_entropy import with_gradient
from trilabel.losses._inputs import check_inputs, to_float32

# A sum over all pairs of thousands of classes must be finite in float32 too, so logits are cut earlier than elsewhere.
_LARGEST_LOGIT = 1e20


def ranknet(logits: Tensor, labels: Tensor, pairs_at_once: int = 2**22) -> Tensor:
    """Mean over images of the mean over pairs of present i, absent j of log(1 + exp(x_j − x_i)) (Zhang 2016).

    `logits` (x) are B×C, `labels` B×C in +1 present, −1 absent, 0 unknown. Unknown labels take no part; an image
    without present or without absent labels adds 0. This sum does not split into single labels, so time grows with the
    square of the classes (on a CPU: of those known in the batch). Memory does not: `pairs_at_once` of the B·C² pairs
    are made at a time, and the gradient is written by hand because autograd would keep all of them. There is no second
    derivative.

    >>> ranknet(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.0486)
    """
    signs = check_inputs(logits, labels)
    with torch.no_grad():
        wide = to_float32(logits, _LARGEST_LOGIT)
        present, absent = signs.clamp(min=0), signs.clamp(max=0).neg_()
        weight = (present.sum(1) * absent.sum(1)).clamp_(min=1).mul_(len(wide)).reciprocal_()
        value, gradient = torch.zeros_like(weight), torch.zeros_like(wide)
        below = torch.arange(wide.shape[1], device=wide.device)
        above = below
        # Elsewhere only the device knows which classes are present and absent at all.
        if wide.device.type == "cpu" and not torch.compiler.is_compiling():
            above, below = ((part.any(0) | wide.isnan().any(0)).nonzero()[:, 0] for part in (present, absent))
        others, pushed = wide[:, below], wide.new_zeros(len(wide), len(below))
        for here in torch.split(above, max(1, pairs_at_once // max(1, others.numel()))):
            gap = others.unsqueeze(1) - wide[:, here].unsqueeze(2)
            pair = present[:, here].unsqueeze(2) * absent[:, below].unsqueeze(1)
            value.sub_(F.logsigmoid(-gap).mul_(pair).sum((1, 2)))
            wrong = gap.sigmoid_().mul_(pair)
            gradient[:, here] -= wrong.sum(2)
            pushed.add_(wrong.sum(1))
        gradient.index_add_(1, below, pushed)
        gradient.mul_(weight.unsqueeze(1))
    return with_gradient(logits, value.mul_(weight).sum(), gradient)
