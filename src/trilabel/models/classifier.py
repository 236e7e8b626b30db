"""A classifier: a backbone and a head, and their output for a batch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from trilabel.errors import TrilabelError
from trilabel.models.backbone import Backbone
from trilabel.models.heads.base import Head


class Output(NamedTuple):
    """The output of a model for a batch of B images."""

    logits: Tensor  # B×C
    features: Tensor  # B×D, pooled
    maps: Tensor | None = None  # B×C×h×w class maps, only if the caller requested them


class Classifier(nn.Module):
    """Backbone and head."""

    def __init__(self, backbone: Backbone, head: Head[Any]) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.dropout = 0.0  # share of the head's input that is dropped in training

    def reduce_features(self, images: Tensor) -> Tensor:
        """B×3×S×S normalized images -> what the head needs of them."""
        return dropped(self.head.reduce_features(self.backbone(images)), self.dropout, self.training)

    def forward(self, images: Tensor, maps: bool = False) -> Output:
        """B×3×S×S normalized images -> Output."""
        feature_map = self.backbone(images)
        with float32_eval(self, feature_map) as feature_map:
            features = dropped(self.head.reduce_features(feature_map), self.dropout, self.training)
            return Output(self.head(features), pooled(features), self.head.maps(feature_map) if maps else None)


class FeatureClassifier(nn.Module):
    """The head of a classifier with the same interface, fed with features computed before: the linear stage's model."""

    def __init__(self, head: Head[Any], dropout: float = 0.0) -> None:
        super().__init__()
        self.head = head
        self.dropout = dropout  # share of the features that is dropped in training

    def reduce_features(self, features: Tensor) -> Tensor:
        """The features themselves, which were reduced before."""
        return dropped(features, self.dropout, self.training)

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        """The result of the head's `reduce_features` (B×D for the gap head) -> Output."""
        if maps and features.ndim == 2:
            raise TrilabelError("a method that needs class maps cannot be trained on features computed once; fine-tune")
        with float32_eval(self, features) as features:
            maps_of, features = features, self.reduce_features(features)
            return Output(self.head(features), pooled(features), self.head.maps(maps_of) if maps else None)


@contextmanager
def float32_eval(model: nn.Module, features: Tensor) -> Iterator[Tensor]:
    """The features for the head: as float32 in evaluation, since in bf16 many scores would be equal; else unchanged."""
    if model.training:
        yield features
        return
    with torch.autocast(features.device.type, enabled=False):
        yield features.float()


def dropped(features: Tensor, share: float, active: bool = True) -> Tensor:
    """Features of which a share is dropped at random; of a map whole channels, as single cells hardly change it."""
    if not share or not active:
        return features
    return F.dropout(features, share) if features.ndim == 2 else F.dropout2d(features, share)


def pooled(features: Tensor) -> Tensor:
    """B×D of features that may still be a map."""
    return features if features.ndim == 2 else features.mean((2, 3))
