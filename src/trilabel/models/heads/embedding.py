"""Images and classes in one space: the score is an inner product (WSABIE, Weston 2011; Fast0Tag, Zhang 2016)."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trilabel.data.side_tables.class_vectors import read_vectors
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.models.heads.base import Head


@dataclass(frozen=True)
class EmbeddingSettings:
    """Where the class vectors come from, and what maps images to the same space."""

    vectors: str | None = None
    """Text file of word vectors (GloVe, word2vec) for the class names, which are then not trained; none: learned."""
    size: int = 300
    """Length of a class vector."""
    layers: int = 1
    """1: a linear map of the features. 2: with a hidden layer, as wide as the features."""


class EmbeddingHead(Head[EmbeddingSettings]):
    """Global average pooling, a projection of the features to `size` numbers, and its inner product with each class's.

    The projection has a bias b, which gives class c the bias b·(its vector): the classes need none of their own.
    """

    Settings = EmbeddingSettings
    description = "inner product of image and class vectors, learned or read (WSABIE; Fast0Tag with layers=2)"
    vectors: Tensor  # C×size

    def __init__(
        self,
        features: int,
        classes: int,
        settings: EmbeddingSettings | None = None,
        labels: Labels | None = None,
    ) -> None:
        super().__init__(features, classes, settings, labels)
        chosen = self.settings
        if chosen.layers not in (1, 2):
            raise TrilabelError(f"head embedding: layers must be 1 or 2, not {chosen.layers}")
        add_class_vectors(self, classes, chosen.size, chosen.vectors, labels)
        hidden = [nn.Linear(features, features), nn.ReLU()] if chosen.layers == 2 else []
        self.project = nn.Sequential(*hidden, nn.Linear(features, chosen.size))

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×D."""
        return feature_map.mean((2, 3))

    def forward(self, features: Tensor) -> Tensor:
        """B×D -> B×C logits."""
        return F.linear(self.project(features), self.vectors)

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w: the scores of every cell; with one layer their mean is the logit."""
        return self.forward(feature_map.movedim(1, -1)).movedim(-1, 1)


def add_class_vectors(head: nn.Module, classes: int, size: int, file: str | None, labels: Labels | None) -> None:
    """Gives a head its `vectors`, C×size: a parameter, or a buffer with the vectors of the class names in the file."""
    if size < 1:
        raise TrilabelError(f"a class vector must have at least 1 number, not size={size}")
    if file is None:
        # Of length 1 or so, so that the scores start as small as those of a linear layer.
        head.vectors = nn.Parameter(torch.randn(classes, size) / size**0.5)
    elif labels is None:
        head.register_buffer("vectors", torch.zeros(classes, size))
    else:
        head.register_buffer("vectors", torch.from_numpy(read_vectors(file, labels.classes, size)))
