"""What an unknown label most likely is, given that nobody named it.

Of the present labels a share e⁺ is known, of the absent ones a share e⁻. That a label is unknown then is evidence, by
Bayes' rule: odds(present | unknown) = odds(p) · (1 − e⁺) / (1 − e⁻), p what the model believes from the image alone.

Throughout, `logits` are B×C and `labels` B×C in +1 present, −1 absent, 0 unknown; `log_factor` is the logarithm of the
factor (1 − e⁺) / (1 − e⁻): a number, or a tensor of C or B×C.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._inputs import check_inputs, check_range, require_tensors, to_float32


def posterior(logits: Tensor, labels: Tensor, log_factor: Tensor | float, smoothing: float = 0) -> Tensor:
    """Mean over all B·C labels of the BCE towards `posterior_targets`, which are not differentiated.

    A factor of 1 (logarithm 0) gives unknown labels no gradient, as in `bce`; a factor of 0 (−inf) is
    `assume_negative`.

    >>> logits, labels = torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]])
    >>> posterior(logits, labels, log_factor=torch.tensor(0.5).log())
    tensor(0.2535)
    >>> posterior(logits, labels, log_factor=-torch.inf)  # assume_negative
    tensor(1.1629)
    """
    return target_bce(logits, posterior_targets(logits, labels, log_factor, smoothing))


@torch.no_grad()
def posterior_targets(logits: Tensor, labels: Tensor, log_factor: Tensor | float, smoothing: float = 0) -> Tensor:
    """B×C, without gradient: 1 where present, 0 where absent, σ(logit + log_factor) where unknown.

    `smoothing` s moves targets towards their opposite, 1 to 1 − s and 0 to s; unknown ones as far as being unknown says
    something: not at all with a factor of 1, fully with a factor of 0.
    """
    check_range("smoothing", smoothing, 0, 1)
    signs, wide = check_inputs(logits, labels), to_float32(logits)
    factor = torch.as_tensor(log_factor, dtype=wide.dtype, device=wide.device)
    targets = torch.where(signs == 0, torch.sigmoid(wide + factor), signs.clamp(min=0))
    if smoothing:
        certain = torch.where(signs == 0, -torch.expm1(-factor.abs()), 1)
        targets = targets + smoothing * certain * (1 - 2 * targets)
    return targets


def target_bce(logits: Tensor, targets: Tensor, counted: Tensor | None = None) -> Tensor:
    """Mean over all labels of the BCE towards targets between 0 and 1 (B×C), which are not differentiated.

    counted: B×C, 1 for the labels that the mean is over, 0 for others; None: all.
    """
    require_tensors(logits, targets)
    if counted is None:
        return F.binary_cross_entropy_with_logits(to_float32(logits), targets)
    each = F.binary_cross_entropy_with_logits(to_float32(logits), targets, weight=counted, reduction="sum")
    return each / counted.sum().clamp(min=1)


@torch.no_grad()
def one_of_k_log_factor(logits: Tensor, labels: Tensor) -> Tensor:
    """B×C, without gradient: the log_factor where an image's known positives were drawn at random from all it has.

    With m known positives, and S the sum of the probabilities of the image's other unknown labels, a label that is
    present would be one of m + 1 + S positives, and not drawn with probability (1 + S) / (m + 1 + S): the more there is
    to name, the less silence says. An image without known positives says nothing: the factor is 1.

    >>> one_of_k_log_factor(torch.tensor([[2.0, 0.0, 0.0]]), torch.tensor([[1, 0, 0]])).exp()
    tensor([[0.6667, 0.6000, 0.6000]])
    """
    signs = check_inputs(logits, labels)
    probability = torch.sigmoid(to_float32(logits)) * (signs == 0)
    named = signs.clamp(min=0).sum(1, keepdim=True)
    # Rounding may leave a little less than nothing of the others.
    others = (probability.sum(1, keepdim=True) - probability).clamp(min=0)
    return torch.log1p(others) - torch.log1p(named + others)
