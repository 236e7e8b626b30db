"""Features of each class, gathered where the image shows it, and a graph of classes over them (SSGRL, Chen 2019)."""

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.models.heads.base import Head
from trilabel.models.heads.embedding import add_class_vectors
from trilabel.models.heads.gated_graph import GatedGraph

_MOST_CLASSES = 10_000  # the graph is a dense matrix: 400 MB
_AT_ONCE = 2**27  # numbers of cells × classes × hidden that are kept for the backward pass; above, parts are repeated
_EXPORTED_BATCH = 64  # an exported model has any number of images: its parts are those for this many


@dataclass(frozen=True)
class SemanticSettings:
    """Sizes of its parts, and where the class vectors come from."""

    vectors: str | None = None
    """Text file of word vectors (GloVe, word2vec) for the class names, which are then not trained; none: learned."""
    size: int = 300
    """Length of a class vector."""
    pool: int = 2
    """The feature map is first averaged over squares of this many cells; 1 keeps it."""
    channels: int | None = 1024
    """Numbers that a cell is reduced to (1×1 convolution, batch norm); none: as the backbone gives them (SSGRL)."""
    hidden: int | None = None
    """Numbers in which cells and classes are compared; none: half of the channels."""
    steps: int = 3
    """Rounds of messages between classes."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and value < (0 if field.name == "steps" else 1):
                raise TrilabelError(f"head semantic: {field.name} is {value}; give a larger number")


class _BatchNorm(nn.BatchNorm2d):
    """As it is, but one value of each channel (a last batch of one image, a map of one cell) has no variance.

    It is normalized by the running statistics, and leaves these as they are.
    """

    def forward(self, values: Tensor) -> Tensor:
        if not self.training or values.numel() > values.shape[1]:
            return super().forward(values)
        return F.batch_norm(values, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)


class Attention(NamedTuple):
    """Where the classes attend to, in B images of n = height × width cells."""

    cells: Tensor  # B×n×D
    weights: Tensor  # B×C×n
    height: int
    width: int

    @property
    def features(self) -> Tensor:
        """B×C×D: the cells of each class, averaged by its attention."""
        return self.weights @ self.cells

    def quadrants(self) -> Tensor:
        """B×C: the quarter of the image (0 … 3, row by row) with the strongest cell of a class."""
        strongest = (self.weights * self.cells.sum(2)[:, None]).argmax(2)
        lower, right = strongest // self.width >= self.height // 2, strongest % self.width >= self.width // 2
        return 2 * lower.long() + right.long()


class SemanticHead(Head[SemanticSettings]):
    """Attention guided by class vectors gives each class its own features; classes that occur together exchange them.

    attention of class c at cell p = softmax over p of A4·A3·tanh(A1·x_p ∘ A2·w_c);  f_c = Σ_p attention·x_p
    h = gated graph network over f;  logit_c = ⟨v_c, tanh(F·[h_c ; f_c])⟩ + b_c

    The graph holds P(j present | i present) over the known positives; a class without any has no neighbors.
    """

    Settings = SemanticSettings
    description = "features of each class by attention, and a graph of classes that occur together (SSGRL)"
    vectors: Tensor  # C×size
    graph: Tensor  # C×C

    def __init__(
        self, features: int, classes: int, settings: SemanticSettings | None = None, labels: Labels | None = None
    ) -> None:
        super().__init__(features, classes, settings, labels)
        chosen = self.settings
        if classes > _MOST_CLASSES:
            raise TrilabelError(
                f"head semantic: {classes} classes are too many for its graph (at most {_MOST_CLASSES:,}); use another"
            )
        self.class_size = chosen.channels or features
        size, hidden = self.class_size, chosen.hidden or max(1, self.class_size // 2)
        convolution = (nn.Conv2d(features, size, 1, bias=False), _BatchNorm(size))
        self.reduce_channels = nn.Identity() if chosen.channels is None else nn.Sequential(*convolution)
        add_class_vectors(self, classes, chosen.size, chosen.vectors, labels)
        self.of_cell = nn.Linear(size, hidden, bias=False)
        self.of_class = nn.Linear(chosen.size, hidden, bias=False)
        # Without biases: nothing lies between these two, and a constant cancels in the softmax.
        self.mix = nn.Linear(hidden, hidden, bias=False)
        self.attend = nn.Linear(hidden, 1, bias=False)
        self.exchange = GatedGraph(size, chosen.steps)
        self.merge = nn.Linear(2 * size, size)
        bound = size**-0.5
        self.weight = nn.Parameter(torch.empty(classes, size).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(classes).uniform_(-bound, bound))
        self.register_buffer("graph", torch.zeros(classes, classes) if labels is None else present_together(labels))

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> the map averaged over squares: all further layers are trained."""
        pool = min(self.settings.pool, *feature_map.shape[2:])
        return F.avg_pool2d(feature_map, pool) if pool > 1 else feature_map

    def forward(self, features: Tensor) -> Tensor:
        """The reduced map -> B×C logits."""
        return self.score(self.class_features(features))

    def class_features(self, features: Tensor) -> Tensor:
        """The reduced map -> B×C×`class_size`: what the image shows of each class."""
        return self.attention(features).features

    def attention(self, features: Tensor) -> "Attention":
        """The reduced map -> where each class attends to."""
        reduced: Tensor = self.reduce_channels(features)
        cells = reduced.flatten(2).transpose(1, 2)
        return Attention(cells, self._weights(cells), reduced.shape[2], reduced.shape[3])

    def score(self, class_features: Tensor) -> Tensor:
        """B×C×`class_size` -> B×C logits."""
        states = self.exchange(class_features, self.graph)
        merged = torch.tanh(self.merge(torch.cat((states, class_features), 2)))
        return (merged * self.weight).sum(2) + self.bias

    @torch.no_grad()
    def start_at(self, logits: Tensor) -> None:
        """Sets the bias of each class."""
        self.bias.copy_(logits)

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w: how strongly each class attends to each cell, times the number of cells."""
        found = self.attention(self.reduce_features(feature_map))
        weights = found.weights.reshape(*found.weights.shape[:2], found.height, found.width)
        return F.interpolate(weights * (found.height * found.width), feature_map.shape[2:], mode="nearest")

    def _weights(self, cells: Tensor) -> Tensor:
        """B×n×`class_size` -> B×C×n, each row a distribution over the cells."""
        of_cells, of_classes = self.of_cell(cells), self.of_class(self.vectors)
        direction = (self.attend.weight @ self.mix.weight).squeeze(0)

        def compare(some: Tensor) -> Tensor:
            return torch.tanh(of_cells[:, None] * some[:, None]) @ direction

        images = _EXPORTED_BATCH if torch.compiler.is_exporting() else len(cells)
        parts = math.ceil(images * of_cells.shape[1] * of_cells.shape[2] * len(of_classes) / _AT_ONCE)
        if parts <= 1:
            return compare(of_classes).softmax(2)
        chunks = of_classes.tensor_split(min(parts, len(of_classes)))
        if torch.is_grad_enabled():
            compared = [checkpoint(compare, some, use_reentrant=False) for some in chunks]
        else:
            compared = [compare(some) for some in chunks]
        return torch.cat(compared, 1).softmax(2)


def present_together(labels: Labels) -> Tensor:
    """C×C, float32: P(class j is present | class i is), over known positives; row i is 0 where i has none."""
    together = labels.co_occurrence().toarray().astype("float32")
    present = torch.from_numpy(labels.counts_per_class()[0].astype("float32"))
    graph = torch.from_numpy(together) / present.clamp(min=1)[:, None]
    return graph.diagonal_scatter((present > 0).float())
