"""Classifiers made from class vectors by convolutions on the graph of what occurs together (ML-GCN, Chen 2019)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trilabel.data.side_tables.label_graph import seen_with
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.models.heads.base import Head
from trilabel.models.heads.embedding import add_class_vectors

_MOST_CLASSES = 10_000  # the graph is a dense matrix: 400 MB


@dataclass(frozen=True)
class GcnSettings:
    """The class vectors, the graph, and the network on it."""

    vectors: str | None = None
    """Text file of word vectors (GloVe, word2vec) for the class names, which are then not trained; none: learned."""
    size: int = 300
    """Length of a class vector."""
    hidden: int = 1024
    """Numbers per class between the two layers."""
    threshold: float = 0.4
    """A class is a neighbor of another if at least this share of the other's images have both, as far as is known."""
    neighbor_weight: float = 0.2
    """Weight of all neighbors of a class together; the class itself has the rest."""
    pool: Literal["max", "mean"] = "max"
    """How a feature map becomes one vector."""


class GcnHead(Head[GcnSettings]):
    """Global pooling, and a linear layer without bias whose weights two graph convolutions make.

    With Â the normalized graph and V the vectors of the classes: weights = Â·LeakyReLU(Â·V·W₁)·W₂. The paper counts
    what occurs together in fully labelled images; here, as in its use with partial labels, only known positives count.
    """

    Settings = GcnSettings
    description = "classifiers made from class vectors on the graph of classes that occur together (ML-GCN)"
    vectors: Tensor  # C×size
    graph: Tensor  # C×C

    def __init__(
        self, features: int, classes: int, settings: GcnSettings | None = None, labels: Labels | None = None
    ) -> None:
        super().__init__(features, classes, settings, labels)
        chosen = self.settings
        if classes > _MOST_CLASSES:
            raise TrilabelError(
                f"head gcn: {classes} classes are too many for its graph (at most {_MOST_CLASSES:,}); use another head"
            )
        if chosen.hidden < 1:
            raise TrilabelError(f"head gcn: hidden must be at least 1, not {chosen.hidden}")
        if not 0 < chosen.threshold <= 1 or not 0 <= chosen.neighbor_weight < 1:
            raise TrilabelError("head gcn: threshold must be a share above 0, neighbor_weight a share below 1")
        add_class_vectors(self, classes, chosen.size, chosen.vectors, labels)
        self.first = _weights(chosen.size, chosen.hidden)
        self.second = _weights(chosen.hidden, features)
        counted = None if labels is None else class_graph(labels, chosen.threshold, chosen.neighbor_weight)
        self.register_buffer("graph", torch.zeros(classes, classes) if counted is None else counted)

    def classifiers(self) -> Tensor:
        """C×D: the weights of every class."""
        hidden = F.leaky_relu(self.graph @ self.vectors @ self.first, 0.2)
        return self.graph @ hidden @ self.second

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×D."""
        return feature_map.amax((2, 3)) if self.settings.pool == "max" else feature_map.mean((2, 3))

    def forward(self, features: Tensor) -> Tensor:
        """B×D -> B×C logits."""
        return F.linear(features, self.classifiers())

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w: the scores of every cell; with pool=mean their mean is the logit."""
        return F.conv2d(feature_map, self.classifiers()[:, :, None, None])


def _weights(inputs: int, outputs: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(inputs, outputs).uniform_(-(outputs**-0.5), outputs**-0.5))


def class_graph(labels: Labels, threshold: float, neighbor_weight: float) -> Tensor:
    """C×C, float32: row i holds the weights of the classes j that are often present where class i is.

    j is a neighbor of i if P(j|i) ≥ threshold, counted over the images with i whose label j is known: counted over all
    images with i, few classes would have neighbors where few labels are known. The neighbors of i divide
    `neighbor_weight` evenly, i itself has the rest; then D^−½·A·D^−½ with D the sums of the rows.
    """
    together, classes = labels.co_occurrence(), labels.shape[1]
    row = np.repeat(np.arange(classes), np.diff(together.indptr))
    column = together.indices
    known = np.asarray(seen_with(labels)[column, row]).ravel() if len(row) else np.zeros(0)
    chosen = (together.data / np.maximum(known, 1) >= threshold) & (row != column)
    row, column = row[chosen], column[chosen]
    neighbors = np.bincount(row, minlength=classes)
    graph = sp.csr_array((neighbor_weight / neighbors[row], (row, column)), shape=(classes, classes)).toarray()
    np.fill_diagonal(graph, 1 - neighbor_weight)
    scale = graph.sum(1) ** -0.5
    return torch.from_numpy((scale[:, None] * graph * scale).astype(np.float32))
