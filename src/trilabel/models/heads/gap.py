"""The plain head: global average pooling and a linear layer."""

from torch import Tensor

from trilabel.models.heads.base import MapHead
from trilabel.settings import NoSettings


class GapHead(MapHead[NoSettings]):
    """Global average pooling and a linear layer.

    Pooling and a linear map commute, so the mean of a class map is the logit, and pooled features are all it needs.
    """

    description = "global average pooling and a linear layer"
    keeps_map = False

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×D."""
        return feature_map.mean((2, 3))

    def forward(self, features: Tensor) -> Tensor:
        """B×D -> B×C logits."""
        logits: Tensor = self.linear(features)
        return logits
