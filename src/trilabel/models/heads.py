"""Heads: what turns a feature map (B×D×h×w) into class scores (B×C) and class maps (B×C×h×w).

A head works in two halves, so that the linear stage can compute the first once and train only the second:
`summarise` reduces the feature map to what the scores need, `forward` turns that into logits.
"""

from torch import Tensor, nn
from torch.nn import functional as F


class Head(nn.Module):
    """The contract of a head with D features and C classes."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()

    def summarise(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> all that the logits need of it: B×D, or the map itself."""
        raise NotImplementedError

    def forward(self, summary: Tensor) -> Tensor:
        """A summary -> B×C logits."""
        raise NotImplementedError

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w class maps."""
        raise NotImplementedError


class GapHead(Head):
    """Global average pooling and a linear layer.

    Pooling and a linear map commute, so the same weights as a 1×1 convolution give class maps whose mean is the logit.
    """

    def __init__(self, features: int, classes: int) -> None:
        super().__init__(features, classes)
        self.linear = nn.Linear(features, classes)

    def summarise(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×D."""
        return feature_map.mean((2, 3))

    def forward(self, summary: Tensor) -> Tensor:
        """B×D -> B×C logits."""
        logits: Tensor = self.linear(summary)
        return logits

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w class maps."""
        return F.conv2d(feature_map, self.linear.weight[:, :, None, None], self.linear.bias)


HEADS: dict[str, type[Head]] = {"gap": GapHead}
