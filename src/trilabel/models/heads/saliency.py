"""Saliency regularization: average pooling, raised where a few cells stand out (Wang 2023)."""

import math
from dataclasses import dataclass

from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.models.heads.base import MapHead
from trilabel.models.heads.pooling import mean_dtype, mean_of_extremes


@dataclass(frozen=True)
class SaliencySettings:
    """How much the most salient cells count, and how many they are."""

    alpha: float = 0.5
    """Weight of their mean, added to the mean of all cells."""
    k: int = 5
    """Number of cells; all where there are fewer."""

    def __post_init__(self) -> None:
        if self.k < 1 or not 0 <= self.alpha < math.inf:
            raise TrilabelError(
                f"saliency: k must be 1 or more and alpha 0 or more, not k={self.k} and alpha={self.alpha}"
            )


class SaliencyHead(MapHead[SaliencySettings]):
    """logit = mean of the class map + alpha · mean of its k highest cells."""

    Settings = SaliencySettings
    description = "global average pooling plus the mean of each class map's highest scores (saliency regularization)"

    @property
    def constant_weight(self) -> float:  # type: ignore[override]
        """The logit of a class map that is 1 everywhere."""
        return 1 + self.settings.alpha

    def pool(self, maps: Tensor) -> Tensor:
        """B×C×h×w class maps -> B×C logits."""
        return saliency_logits(maps, self.settings.alpha, self.settings.k)


def saliency_logits(maps: Tensor, alpha: float = 0.5, k: int = 5) -> Tensor:
    """B×C×h×w class maps -> B×C: the mean of each map + alpha · the mean of its k highest cells (or all, if fewer)."""
    return maps.mean((2, 3), dtype=mean_dtype(maps)) + alpha * mean_of_extremes(maps, k)
