"""The contract of a head: what turns a feature map (B×D×h×w) into class scores (B×C) and class maps (B×C×h×w).

A head works in two halves, so that the linear stage can compute the first one once and train only the second:
`reduce_features` keeps what the scores need of a feature map, `forward` turns that into logits.
"""

from typing import ClassVar, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from trilabel.labels import Labels
from trilabel.settings import NoSettings

S = TypeVar("S")


class Head(nn.Module, Generic[S]):
    """A head with D features, C classes and settings of type S (a frozen dataclass whose fields all have defaults)."""

    Settings: type[S] = NoSettings  # type: ignore[assignment]  # a Head[NoSettings] need not name it
    description: ClassVar[str]  # one line for the command line
    class_size: int = 0  # numbers in the class features that a head may have (see `SemanticHead`); 0: it has none
    keeps_map: ClassVar[bool] = False  # whether `reduce_features` gives the whole map, from which `maps` can be made
    settings: S

    def __init__(self, features: int, classes: int, settings: S | None = None, labels: Labels | None = None) -> None:
        """features, classes: D and C. settings: None takes the defaults.

        labels: those of the training images, for heads that use class names or co-occurrence. Without labels
        a head makes tensors of the same shapes, to be filled by loading its weights.
        """
        super().__init__()
        self.settings = self.Settings() if settings is None else settings

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> all that the logits need of it: B×D, or the map itself."""
        raise NotImplementedError

    def forward(self, features: Tensor) -> Tensor:
        """The result of `reduce_features` -> B×C logits."""
        raise NotImplementedError

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w class maps; a TrilabelError where the head has none."""
        raise NotImplementedError

    def start_at(self, logits: Tensor) -> None:
        """Sets the bias of each class so that features of 0 have these logits (C); nothing in a head without biases."""


class MapHead(Head[S]):
    """A linear layer at every cell of the feature map (a 1×1 convolution), then a pooling of the class maps.

    The weights have the same names in all of these heads, so each can start from another's.
    """

    keeps_map = True
    constant_weight: float = 1.0  # the logit of a class map that is 1 everywhere

    def __init__(self, features: int, classes: int, settings: S | None = None, labels: Labels | None = None) -> None:
        super().__init__(features, classes, settings, labels)
        self.linear = nn.Linear(features, classes)

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """The map itself: what is pooled depends on the class."""
        return feature_map

    def forward(self, features: Tensor) -> Tensor:
        """B×D×h×w -> B×C logits."""
        return self.pool(self.maps(features))

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w class maps."""
        return F.conv2d(feature_map, self.linear.weight[:, :, None, None], self.linear.bias)

    def pool(self, maps: Tensor) -> Tensor:
        """B×C×h×w class maps -> B×C logits."""
        raise NotImplementedError

    @torch.no_grad()
    def start_at(self, logits: Tensor) -> None:
        """Sets the bias of each class so that features of 0 have these logits (C)."""
        self.linear.bias.copy_(logits / self.constant_weight)
