"""Heads: what turns a feature map (B×D×h×w) into class scores (B×C) and class maps (B×C×h×w).

A head works in two halves, so that the linear stage can compute the first once and train only the second:
`reduce_features` reduces the feature map to what the scores need, `forward` turns that into logits.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.settings import NoSettings


class Head(nn.Module):
    """The contract of a head with D features and C classes."""

    Settings: ClassVar[type[Any]] = NoSettings
    summary: ClassVar[str]  # one line for `trilabel methods`

    def __init__(self, features: int, classes: int, settings: Any = None, labels: Labels | None = None) -> None:
        """`labels` are those of the training images: class names and co-occurrence may be read off them.

        Without them what was read off is to be loaded: its place is made, in the same shape.
        """
        super().__init__()
        self.settings = self.Settings() if settings is None else settings

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> all that the logits need of it: B×D, or the map itself."""
        raise NotImplementedError

    def forward(self, summary: Tensor) -> Tensor:
        """A summary -> B×C logits."""
        raise NotImplementedError

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w class maps; a TrilabelError where the head has none."""
        raise NotImplementedError


class MapHead(Head):
    """A linear layer at every cell of the feature map (a 1×1 convolution), then a pooling of the class maps.

    The weights have the same names in all of these heads, so each can start from another's.
    """

    def __init__(self, features: int, classes: int, settings: Any = None, labels: Labels | None = None) -> None:
        super().__init__(features, classes, settings, labels)
        self.linear = nn.Linear(features, classes)

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """The map itself: what is pooled depends on the class."""
        return feature_map

    def forward(self, summary: Tensor) -> Tensor:
        """B×D×h×w -> B×C logits."""
        return self.pool(self.maps(summary))

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w class maps."""
        return F.conv2d(feature_map, self.linear.weight[:, :, None, None], self.linear.bias)

    def pool(self, maps: Tensor) -> Tensor:
        """B×C×h×w class maps -> B×C logits."""
        raise NotImplementedError


class GapHead(MapHead):
    """Global average pooling and a linear layer.

    Pooling and a linear map commute, so the mean of a class map is the logit, and pooled features are all it needs.
    """

    summary = "global average pooling and a linear layer"

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×D."""
        return feature_map.mean((2, 3))

    def forward(self, summary: Tensor) -> Tensor:
        """B×D -> B×C logits."""
        logits: Tensor = self.linear(summary)
        return logits


@dataclass(frozen=True)
class WeldonSettings:
    """Shares of the cells, rounded to whole cells, at least one."""

    top: float = 0.1
    """The share with the highest scores of a class."""
    bottom: float = 0.1
    """The share with the lowest scores of a class."""

    def __post_init__(self) -> None:
        if not (0 < self.top <= 1 and 0 < self.bottom <= 1):
            raise TrilabelError(f"weldon: top and bottom are shares, in (0, 1], not {self.top} and {self.bottom}")


class WeldonHead(MapHead):
    """Where a class is most and where it is least visible (WELDON, as in Durand 2019).

    logit = ½ (mean of the top cells + mean of the bottom cells of the class map)
    """

    Settings = WeldonSettings
    settings: WeldonSettings
    summary = "mean of the highest and the lowest scores of each class map (WELDON)"

    def pool(self, maps: Tensor) -> Tensor:
        """B×C×h×w class maps -> B×C logits."""
        cells = maps.shape[2] * maps.shape[3]
        top, bottom = (max(1, round(share * cells)) for share in (self.settings.top, self.settings.bottom))
        return (mean_of_extremes(maps, top) + mean_of_extremes(maps, bottom, largest=False)) / 2


@dataclass(frozen=True)
class SaliencySettings:
    """How much the most salient cells count, and how many they are."""

    alpha: float = 0.5
    """Weight of their mean beside that of all cells."""
    k: int = 5
    """Number of cells; all where there are fewer."""

    def __post_init__(self) -> None:
        if self.k < 1 or not 0 <= self.alpha < math.inf:
            raise TrilabelError(
                f"saliency: k is 1 or more and alpha a number from 0, not k={self.k} and alpha={self.alpha}"
            )


class SaliencyHead(MapHead):
    """Average pooling, raised where a few cells stand out (saliency regularisation, Wang 2023)."""

    Settings = SaliencySettings
    settings: SaliencySettings
    summary = "global average pooling plus the mean of each class map's highest scores (saliency regularisation)"

    def pool(self, maps: Tensor) -> Tensor:
        """B×C×h×w class maps -> B×C logits."""
        return saliency_logits(maps, self.settings.alpha, self.settings.k)


def saliency_logits(maps: Tensor, alpha: float = 0.5, k: int = 5) -> Tensor:
    """B×C×h×w class maps -> B×C: the mean of each map + alpha · the mean of its k highest cells (or all, if fewer)."""
    return maps.mean((2, 3), dtype=wide(maps)) + alpha * mean_of_extremes(maps, k)


def mean_of_extremes(maps: Tensor, count: int, largest: bool = True) -> Tensor:
    """B×C×h×w -> B×C: the mean of the `count` largest (or smallest) cells, of all where there are fewer."""
    cells = maps.flatten(2)
    chosen = cells.topk(min(count, cells.shape[2]), largest=largest, sorted=False).values
    return chosen.mean(2, dtype=wide(maps))


def wide(maps: Tensor) -> torch.dtype:
    """float32 for half precision: a mean is then not rounded again, and costs no more."""
    return torch.promote_types(maps.dtype, torch.float32)
