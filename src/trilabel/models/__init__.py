"""Models: a backbone, a head on it, and what they give."""

from typing import NamedTuple

from torch import Tensor, nn

from trilabel.errors import TrilabelError
from trilabel.models.backbone import Backbone, create_backbone
from trilabel.models.heads import HEADS, Head

__all__ = ["HEADS", "Backbone", "Classifier", "HeadOnly", "Output", "create_backbone", "create_model"]


class Output(NamedTuple):
    """What a model gives for a batch of B images."""

    logits: Tensor  # B×C
    features: Tensor  # B×D, pooled
    maps: Tensor | None = None  # B×C×h×w class maps, only where they were asked for


class Classifier(nn.Module):
    """Backbone and head."""

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(self, images: Tensor, maps: bool = False) -> Output:
        """B×3×S×S normalised images -> Output."""
        feature_map = self.backbone(images)
        summary = self.head.summarise(feature_map)
        return Output(self.head(summary), _pooled(summary), self.head.maps(feature_map) if maps else None)


class HeadOnly(nn.Module):
    """The head of a classifier behind the same face, fed with summaries computed before: the linear stage's model."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head

    def forward(self, summary: Tensor, maps: bool = False) -> Output:
        """Summaries (B×D for the gap head) -> Output."""
        if maps:
            raise TrilabelError("a method that needs class maps cannot be trained on features computed once; fine-tune")
        return Output(self.head(summary), _pooled(summary))


def _pooled(summary: Tensor) -> Tensor:
    return summary if summary.ndim == 2 else summary.mean((2, 3))


def create_model(
    backbone: str, head: str, classes: int, weights: str | None = None, image_size: int | None = None
) -> Classifier:
    """A classifier by the names of its parts (see `create_backbone` and HEADS)."""
    if head not in HEADS:
        raise TrilabelError(f"no head named {head!r}; there are: {', '.join(HEADS)}")
    trunk = create_backbone(backbone, weights, image_size)
    return Classifier(trunk, HEADS[head](trunk.features, classes))
