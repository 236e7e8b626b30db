"""The trained part of the estimator: hidden layers, if any, and the head that a method needs."""

from typing import Any

import torch
from torch import Tensor, nn

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import METHODS
from trilabel.models import FeatureClassifier
from trilabel.models.classifier import Output
from trilabel.models.heads import HEADS, Head
from trilabel.models.heads.gap import GapHead

_VECTOR_HEADS = ("gap", "label-rnn", "latent-noise")  # that need of a sample one vector, and no map
_DROPOUT = 0.5  # of the last hidden layer


class FeatureNetwork(FeatureClassifier):
    """Encoded features -> hidden layers -> head; samples of a batch may weigh differently."""

    def __init__(self, features: int, hidden: tuple[int, ...], head: Head[Any]) -> None:
        super().__init__(head, _DROPOUT if hidden else 0.0)
        layers: list[nn.Module] = []
        for size in hidden:
            layer = nn.Linear(features, size)
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
            layers += [layer, nn.ReLU()]
            features = size
        self.hidden = nn.Sequential(*layers)
        self.weights: Tensor | None = None  # B: of the samples of the batch

    @property
    def is_linear(self) -> bool:
        """Whether it is fitted as a linear stage is."""
        return not self.hidden and isinstance(self.head, GapHead)

    def reduce_features(self, features: Tensor) -> Tensor:
        """B×F -> what the head sees."""
        return super().reduce_features(self.hidden(features))

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        """B×F -> Output, through whose logits a sample's gradient is multiplied by its weight."""
        output = super().forward(features, maps)
        if self.weights is None:
            return output
        weights = self.weights[:, None]
        return output._replace(logits=output.logits * weights + (output.logits * (1 - weights)).detach())


def create_network(method: str, features: int, hidden: tuple[int, ...], labels: Labels) -> FeatureNetwork:
    """A new network for encoded features; its weights are drawn from torch's generator, those of a linear one are 0."""
    kind = HEADS[(METHODS[method].heads or ("gap",))[0]]
    network = FeatureNetwork(features, hidden, kind(hidden[-1] if hidden else features, labels.shape[1], labels=labels))
    if isinstance(network.head, GapHead):
        with torch.no_grad():
            network.head.linear.weight.zero_()
    return network


def check_needs_no_image(method: str, settings: Any, weighted: bool) -> None:
    """Refuses methods that cannot learn from vectors, or from weights. settings: those of the method."""
    kind = METHODS[method]
    if set(kind.heads) - set(_VECTOR_HEADS) or kind.needs_maps(settings):
        raise TrilabelError(f"method {method!r} needs images: it asks where in them a class is; use trilabel.train")
    if method == "taught":
        raise TrilabelError("method 'taught' learns from the targets of a run on images; use trilabel.train")
    if weighted and kind.heads:
        raise TrilabelError(f"method {method!r} takes no sample_weight; use another, such as posterior")
