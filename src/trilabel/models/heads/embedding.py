"""Images and classes in one space: the score is an inner product (WSABIE, Weston 2011; Fast0Tag, Zhang 2016)."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trilabel.data.side_tables.class_vectors import read_vectors
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.models.heads.basic import Head


@dataclass(frozen=True)
class EmbeddingSettings:
    """Where the vectors of the classes come from, and what takes images there."""

    vectors: str | None = None
    """Text file of word vectors (GloVe, word2vec) for the class names, which then stay as they are; none: learned."""
    size: int = 300
    """Numbers a vector."""
    layers: int = 1
    """1: a linear map of the features. 2: with a hidden layer, as wide as the features."""


class EmbeddingHead(Head):
    """Global average pooling, a map of the features to `size` numbers, and their inner product with each class's.

    The map has a bias b, which gives class c the bias b·(its vector): the classes need none of their own.
    """

    Settings = EmbeddingSettings
    settings: EmbeddingSettings
    summary = "inner product of image and class vectors, learned or read (WSABIE; Fast0Tag with layers=2)"
    vectors: Tensor  # C×size

    def __init__(self, features: int, classes: int, settings: Any = None, labels: Labels | None = None) -> None:
        super().__init__(features, classes, settings, labels)
        chosen = self.settings
        if chosen.layers not in (1, 2):
            raise TrilabelError(f"head embedding: layers is 1 or 2, not {chosen.layers}")
        place_vectors(self, classes, chosen.size, chosen.vectors, labels)
        hidden = [nn.Linear(features, features), nn.ReLU()] if chosen.layers == 2 else []
        self.project = nn.Sequential(*hidden, nn.Linear(features, chosen.size))

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×D."""
        return feature_map.mean((2, 3))

    def forward(self, summary: Tensor) -> Tensor:
        """B×D -> B×C logits."""
        return F.linear(self.project(summary), self.vectors)

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w: the scores of every cell; with one layer their mean is the logit."""
        return self.forward(feature_map.movedim(1, -1)).movedim(-1, 1)


def place_vectors(head: Head, classes: int, size: int, file: str | None, labels: Labels | None) -> None:
    """Gives a head its `vectors`, C×size: a parameter, or a buffer of what the file says of the class names."""
    if size < 1:
        raise TrilabelError(f"a class vector has at least 1 number; size is {size}")
    if file is None:
        # Of length 1 or so, so that the scores start as small as those of a linear layer.
        head.vectors = nn.Parameter(torch.randn(classes, size) / size**0.5)
    elif labels is None:
        head.register_buffer("vectors", torch.zeros(classes, size))
    else:
        head.register_buffer("vectors", torch.from_numpy(read_vectors(file, labels.classes, size)))
