"""The plain head: global average pooling and a linear layer."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.models.heads.base import MapHead


@dataclass(frozen=True)
class GapSettings:
    """What happens to the features before the linear layer."""

    normalize: bool = False
    """Scale the pooled features of each image to one length and center them; true for a linear stage that is given no
    linear_lr."""
    power: float = 1.0
    """How much single cells count: 1: the mean over cells; 3: their generalized mean, in which small things are not
    lost (recipe photos)."""
    contrast: float = 1.0
    """What the pooled features are raised to: above 1, the strongest ones of an image count for more (1.5 in recipe
    photos)."""

    def __post_init__(self) -> None:
        if not 1 <= self.power < math.inf:
            raise TrilabelError(f"gap: power must be 1 or more, not {self.power}")
        if not 0 < self.contrast < math.inf:
            raise TrilabelError(f"gap: contrast must be above 0, not {self.contrast}")

    @property
    def plain(self) -> bool:
        """Whether cells count by their mean alone."""
        return self.power == self.contrast == 1


class GapHead(MapHead[GapSettings]):
    """Global average pooling and a linear layer.

    Pooling and a linear map commute, so the mean of a class map is the logit, and pooled features are all it needs.
    With a power or a contrast, what a cell counts for is its part of what is pooled, so that the same holds.
    """

    Settings = GapSettings
    description = "global average pooling and a linear layer"
    keeps_map = False
    center: Tensor  # D, only where features are normalized: what is subtracted from features of length 1
    scale: Tensor  # a number, likewise: what they are then multiplied by

    def __init__(
        self, features: int, classes: int, settings: GapSettings | None = None, labels: Labels | None = None
    ) -> None:
        super().__init__(features, classes, settings, labels)
        if self.settings.normalize:
            self.register_buffer("center", torch.zeros(features))
            self.register_buffer("scale", torch.tensor(float(features) ** 0.5))

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×D."""
        return (feature_map if self.settings.plain else self._parts(feature_map)).mean((2, 3))

    def forward(self, features: Tensor) -> Tensor:
        """B×D -> B×C logits."""
        logits: Tensor = self.linear(self.normalized(features))
        return logits

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w class maps, whose means are the logits."""
        if not self.settings.plain:
            feature_map = self._parts(feature_map)
        if self.settings.normalize:
            length = feature_map.mean((2, 3)).norm(dim=1).clamp(min=1e-12)
            feature_map = (feature_map / length[:, None, None, None] - self.center[:, None, None]) * self.scale
        return super().maps(feature_map)

    def _parts(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w, whose means are m^q, m the generalized mean of the cells: (mean of x^p)^(1/p), q the contrast.

        A cell's part is x^p ÷ (mean of x^p) · m^q. Values below 0, which some networks have, count as they are.
        """
        power, contrast = self.settings.power, self.settings.contrast
        above = feature_map.float().clamp(min=0)
        # By the largest cell of each channel, so that powers neither overflow nor vanish.
        largest = above.amax((2, 3), keepdim=True).clamp(min=1e-12)
        raised = (above / largest) ** power
        mean = raised.mean((2, 3), keepdim=True).clamp(min=1e-30)
        return raised / mean * (largest * mean ** (1 / power)) ** contrast + feature_map.clamp(max=0)

    def normalized(self, features: Tensor) -> Tensor:
        """B×D -> B×D: what the linear layer sees."""
        if not self.settings.normalize:
            return features
        return (F.normalize(features) - self.center) * self.scale

    @torch.no_grad()
    def fit_normalization(self, features: Tensor) -> None:
        """Has the features (N×D) of the training images normalized to mean 0, and values whose mean square is 1."""
        same_length = F.normalize(features)
        self.center.copy_(same_length.mean(0))
        spread = (same_length - self.center).square().mean().sqrt()
        self.scale.copy_(1 / spread if spread > 1e-6 else torch.tensor(1.0))
