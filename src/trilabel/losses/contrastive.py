"""Class features of two images alike where both show the class, unlike otherwise (Chen 2022, SST)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from trilabel.errors import TrilabelError
from trilabel.losses._inputs import without_autocast

_SMALLEST_NORM = 1e-9


def contrastive(features: Tensor, labels: Tensor, draws: Tensor | None = None) -> Tensor:
    """Mean over pairs of images and classes known in both of 1 − cos (both present) or 1 + cos (otherwise).

    features: B×C×D, of each class in each image. labels: B×C in +1 present, −1 absent, 0 unknown.
    Where k pairs are both present, only 2k random ones and the k largest of the pairs "both absent" are counted, and
    likewise of "one present"; a pair that is both is counted twice. With k = 0 all are. 0 where no pair is known.
    draws: random numbers, one per pair of images and class (B(B−1)/2 × C), whose smallest are the random ones;
        None draws them.

    >>> import torch
    >>> same = torch.tensor([[[1.0, 0.0]], [[1.0, 0.0]]])
    >>> contrastive(same, torch.tensor([[1], [1]])), contrastive(same, torch.tensor([[1], [-1]]))
    (tensor(0.), tensor(2.))
    """
    if features.ndim != 3 or features.shape[:2] != labels.shape:
        shapes = f"features {tuple(features.shape)}, labels {tuple(labels.shape)}"
        raise TrilabelError(f"needs features, images × classes × numbers, and labels, images × classes, got {shapes}")
    signs = labels.detach().float()
    unit = F.normalize(features.float(), dim=2, eps=_SMALLEST_NORM)
    first, second = torch.triu_indices(len(labels), len(labels), 1, device=labels.device)
    with without_autocast(unit):
        cosine = torch.einsum("acd,bcd->abc", unit, unit)[first, second]
    product, both = signs[first] * signs[second], (signs[first] > 0) & (signs[second] > 0)
    alike = (product > 0) & both
    if draws is None:
        draws = torch.rand(cosine.shape, device=cosine.device)
    count = alike.sum()
    weight = alike.float()
    for kind in ((product > 0) & ~both, product < 0):  # both absent; one present
        weight = weight + torch.where(count > 0, _sampled(kind, cosine.detach(), draws, count), kind.float())
    parts = torch.where(alike, 1 - cosine, 1 + cosine)
    return (weight * parts).sum() / weight.sum().clamp(min=1)


def _sampled(kind: Tensor, values: Tensor, draws: Tensor, count: Tensor) -> Tensor:
    """How often each pair of a kind is counted: once among the 2·count smallest draws, once among the largest values.

    Ranks instead of indexing by a count, for which the host would have to wait.
    """
    random = _ranks(torch.where(kind, draws.to(values.dtype), torch.inf)) < 2 * count
    largest = _ranks(torch.where(kind, -values, torch.inf)) < count
    return (random.float() + largest.float()) * kind


def _ranks(keys: Tensor) -> Tensor:
    """The place of each key in ascending order."""
    order = keys.flatten().argsort()
    return torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=keys.device)).view_as(keys)
