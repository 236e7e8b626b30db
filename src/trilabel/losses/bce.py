"""Binary cross-entropy of the known labels: an unknown label adds nothing and gets no gradient.

Throughout, `logits` are B×C and `labels` B×C in +1 present, −1 absent, 0 unknown; BCE(x, z) = −log σ(z·x). The losses
differ in what they divide by. Papers:

- Durand et al., "Learning a Deep ConvNet for Multi-label Classification with Partial Labels", CVPR 2019
- Cole et al., "Multi-Label Learning from Single Positive Labels", CVPR 2021
- Wang et al., "Saliency Regularization for Self-Training with Partial Annotations", ICCV 2023
"""

from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.losses._cross_entropy import Smoothing, signed_bce
from trilabel.losses._inputs import check_inputs, warn_of_binary


def bce(logits: Tensor, labels: Tensor, smoothing: Smoothing = 0) -> Tensor:
    """Σ over known labels of BCE ÷ (B·C) (Durand 2019; "ignore unobserved" of Cole 2021).

    `smoothing` s moves the targets from 1 to 1−s and from 0 to s; a pair gives s of positives and of negatives.

    >>> import torch
    >>> bce(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.1467)
    """
    return signed_bce(logits, _checked(logits, labels), smoothing).mean()


def known_mean_bce(logits: Tensor, labels: Tensor) -> Tensor:
    """Σ known BCE of the batch ÷ number of known labels of the batch ("BN-BCE" of Wang 2023).

    >>> import torch
    >>> known_mean_bce(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.2201)
    """
    signs = _checked(logits, labels)
    return signed_bce(logits, signs).sum() / signs.abs().sum().clamp(min=1)


def per_image_bce(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over images of Σ known BCE ÷ known labels of that image (Wang 2023, eq. 9).

    Equals `partial_bce` with gamma −1, alpha 1, beta 0; an image without known labels adds 0.

    >>> import torch
    >>> per_image_bce(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.2201)
    """
    signs = _checked(logits, labels)
    return (signed_bce(logits, signs).sum(1) / _known_per_image(signs)).mean()


def partial_bce(logits: Tensor, labels: Tensor, gamma: float = 1, at: float = 0.1, value: float = 5) -> Tensor:
    """Mean over images of g(p)/C · Σ known BCE, where p is the known share of the image (Durand 2019).

    g(p) = alpha·p^gamma + beta, solved from g(1) = 1 and g(at) = value; an image without known labels adds 0.

    >>> import torch
    >>> partial_bce(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]))
    tensor(0.3641)
    """
    alpha, beta = solve_weight(gamma, at, value)
    signs = _checked(logits, labels)
    classes = signs.shape[1]
    smallest = alpha * classes**-gamma + beta  # g is monotonic, and g(1) = 1
    if smallest < 0:
        raise TrilabelError(f"partial_bce: one known label of {classes} would weigh {smallest:.3g}: raise value")
    share = _known_per_image(signs) / classes
    weight = alpha * share**gamma + beta
    return (weight * signed_bce(logits, signs).sum(1)).mean() / classes


def solve_weight(gamma: float, at: float, value: float) -> tuple[float, float]:
    """(alpha, beta) of the weight g(p) = alpha·p^gamma + beta with g(1) = 1 and g(at) = value.

    >>> solve_weight(gamma=-1, at=0.1, value=10)
    (1.0, 0.0)
    """
    if gamma == 0 or not 0 < at < 1:
        raise TrilabelError(f"no weight has gamma={gamma!r} and at={at!r}: gamma must not be 0, 0 < at < 1")
    alpha = (value - 1) / (at**gamma - 1)
    return alpha, 1 - alpha


def _checked(logits: Tensor, labels: Tensor) -> Tensor:
    signs = check_inputs(logits, labels)
    warn_of_binary(labels)
    return signs


def _known_per_image(signs: Tensor) -> Tensor:
    """Number of known labels of each image (B), at least 1: where there are none, the sum divided by it is 0 too."""
    return signs.abs().sum(1).clamp(min=1)
