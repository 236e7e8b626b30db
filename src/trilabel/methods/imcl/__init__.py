"""Interactive multi-label learning: similar images and related labels fill in what is unknown (Huynh 2020)."""

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trilabel import losses
from trilabel.data.side_tables.label_graph import LabelGraph, co_occurrence, from_file, identity
from trilabel.data.side_tables.side_information import read_groups
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods.base import AllReduce, Batch, Method
from trilabel.methods.checks import note_one_sided, require_both
from trilabel.methods.imcl.omp import Neighbours, joint_omp

_IMAGES_AT_ONCE = 256
_LEAST = 1e-6  # a loss below it is not worth being balanced against


@dataclass(frozen=True)
class ImclSettings:
    """As in the paper on Open Images. CUB: label_weight=2, graph=identity. COCO: label_weight=0.5, neighbours=3."""

    label_weight: float = 1.0
    """Weight of the label smoothness: an image's labels follow from the related labels of similar images."""
    feature_weight: float = 0.5
    """Weight of the feature smoothness: an image's features follow from those of the same similar images."""
    neighbours: int = 5
    """Similar images that an image may have, at most."""
    graph: str = "co-occurrence"
    """Which labels are related: co-occurrence, identity (each to itself alone), or a table label,neighbour[,weight]."""
    label_neighbours: int = 50
    """Of graph=co-occurrence: labels that a label is related to, itself among them."""
    learn_graph: bool = True
    """Learn how strongly labels are related; false leaves the weights as they start."""
    memory: int = 0
    """Recent images, as they were then, among which similar ones are looked for beside those of the batch."""
    side: str | None = None
    """A table image,group: images of one group are more likely to be taken for similar."""
    side_weight: float = 1.0
    """How much belonging to one group counts beside labels, each of which counts from -0.5 to 1."""
    balance: bool = True
    """Multiply both weights so that 1 makes a term as large as the BCE in the first batch, as the paper's code does."""


class Imcl(Method):
    """BCE of the known labels + λ_y ‖y − tanh(Σ c A y')‖² + λ_f ‖f − Σ c̄ f'‖², all per image, mean over images.

    y are the labels, unknown ones as the model predicts them; f are the features; the sums go over the similar images,
    which `joint_omp` finds in the batch (and the memory) along with c and c̄; A says how labels are related. An image
    that finds no similar one has no such terms: with c = 0 they would only pull its predictions and features to 0.

    The paper alternates in each mini-batch: find c and c̄, improve A with the model fixed, improve the model with all
    that fixed. Here c and c̄ are found and held fixed, and one backward pass gives the gradient by A with the model
    fixed and that by the model with A fixed. Both steps start from the same point then; the paper's second sees A after
    one small step more.

    Side information is appended to y where similar images are looked for, on both sides as it is: neither A nor tanh
    has a say in it. In the loss it would be a constant.

    Similar images come from the batch and memory of the process.
    """

    Settings = ImclSettings
    settings: ImclSettings
    summary = "predictions follow those of similar images and related labels, both learned on the way (IMCL)"
    suits = "positives and negatives known, few of each; images that resemble each other"
    cost = "as plain BCE, and products of all pairs of images in batch and memory"
    index: Tensor  # C×k_a, see LabelGraph
    used: Tensor
    weight: Tensor
    ratios: Tensor  # 2: BCE ÷ smoothness of labels and of features in the first batch; 0 until it was seen
    groups: Tensor  # N: the group of each training image, −1 where it has none

    def __init__(
        self, settings: ImclSettings, labels: Labels, features: int = 0, validation: Labels | None = None
    ) -> None:
        super().__init__(settings, labels, features, validation)
        self.notes = note_one_sided("imcl", labels)
        graph = _graph(settings, labels)
        self.register_buffer("index", graph.index)
        self.register_buffer("used", graph.used)
        if settings.learn_graph and settings.label_weight:
            self.weight = nn.Parameter(graph.weight)
        else:
            self.register_buffer("weight", graph.weight)
        self.register_buffer("ratios", torch.zeros(2))
        if settings.memory and not features:
            raise TrilabelError("imcl: memory needs a model with features; use memory=0")
        self.memory = Memory(settings.memory, labels.shape[1], features)
        if settings.side is not None:
            self.register_buffer("groups", torch.from_numpy(read_groups(settings.side, labels.ids)), persistent=False)

    @classmethod
    def check(cls, settings: ImclSettings, labels: Labels) -> None:
        """Needs both positives and negatives, numbers in range, and tables that can be read."""
        require_both("imcl", labels)
        for name, least in (("neighbours", 1), ("label_neighbours", 1), ("memory", 0)):
            if getattr(settings, name) < least:
                raise TrilabelError(f"imcl: {name} is at least {least}, not {getattr(settings, name)}")
        for name in ("label_weight", "feature_weight", "side_weight"):
            if getattr(settings, name) < 0:
                raise TrilabelError(f"imcl: {name} is 0 or more, not {getattr(settings, name)}")
        if settings.graph not in ("co-occurrence", "identity"):
            _graph(settings, labels)
        if settings.side is not None:
            read_groups(settings.side, labels.ids)
        elif settings.side_weight != ImclSettings.side_weight:
            raise TrilabelError("imcl: side_weight is for side information; name its table with side=FILE")

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass; the neighbours of each image; BCE and both kinds of smoothness."""
        output, chosen = model(batch.images), self.settings
        logits, features = output.logits, output.features.float()
        bce = losses.bce(logits, batch.labels) * logits.shape[1]
        parts = {"loss": bce, "logits": logits.detach(), "bce": bce.detach()}
        if not (chosen.label_weight or chosen.feature_weight):
            return parts
        labels = filled(logits, batch.labels)
        rows, all_labels, all_features = self.memory.beside(batch.rows, labels, features)
        strengths = self.weight * self.used
        with torch.no_grad():
            related = spread(all_labels, self.index, strengths)
            found = self._neighbours(rows, labels, related, features, all_features)
        of_labels, of_features = found.coefficients
        places = found.index
        if places.numel() < len(all_labels):  # of a large memory only those that were found get a gradient
            all_labels, all_features = all_labels[places.flatten()], all_features[places.flatten()]
            places = torch.arange(places.numel(), device=places.device).view_as(places)
        related = spread(all_labels, self.index, strengths)
        predicted = torch.tanh(combined(related, places, of_labels)), combined(all_features, places, of_features)
        terms = (
            ("label_smoothness", chosen.label_weight, smoothness(labels, predicted[0], of_labels)),
            ("feature_smoothness", chosen.feature_weight, smoothness(features, predicted[1], of_features)),
        )
        for place, (name, weight, value) in enumerate(terms):
            parts[name] = value.detach()
            if weight:
                parts["loss"] = parts["loss"] + weight * self._balance(place, parts[name], parts["bce"]) * value
        if torch.is_grad_enabled():
            self.memory.add(batch.rows, labels.detach(), features.detach())
        return parts

    def _neighbours(
        self, rows: Tensor, labels: Tensor, related: Tensor, features: Tensor, all_features: Tensor
    ) -> Neighbours:
        """Of each image of the batch among all; coefficients of labels, then of features."""
        chosen, own = self.settings, torch.arange(len(labels), device=rows.device)
        if chosen.side is not None:
            side = one_hots(torch.where(rows >= 0, self.groups[rows.clamp(min=0)], -1)).mul_(chosen.side_weight)
            labels, related = torch.cat((labels, side[: len(labels)]), 1), torch.cat((related, side), 1)
        weights = chosen.label_weight, chosen.feature_weight
        return joint_omp((labels, features), (related, all_features), weights, chosen.neighbours, own)

    def _balance(self, place: int, value: Tensor, bce: Tensor) -> Tensor | float:
        """What a smoothness is multiplied by."""
        if not self.settings.balance:
            return 1.0
        now = torch.where(value > 0, bce / value.clamp(min=_LEAST), 0.0)
        ratio = torch.where(self.ratios[place] > 0, self.ratios[place], now)
        if torch.is_grad_enabled():
            self.ratios[place] = ratio
        return ratio

    @torch.no_grad()
    def sync(self, all_reduce: AllReduce) -> None:
        """Ratios become the mean of the processes that have one; see also `Memory.share`."""
        having = all_reduce((self.ratios > 0).float(), "sum")
        self.ratios.copy_(all_reduce(self.ratios, "sum") / having.clamp(min=1))
        self.memory.sync(all_reduce)

    def label_graph(self) -> LabelGraph:
        """How labels are related, as far as it has been learned."""
        return LabelGraph(self.index.cpu(), (self.weight.detach() * self.used).cpu(), self.used.cpu())


class Memory(nn.Module):
    """Labels and features of the last images, as they were; an empty place is a zero vector, which nothing is like."""

    labels: Tensor  # M×C
    features: Tensor  # M×D
    rows: Tensor  # M: which image, −1 for none
    position: Tensor  # where the next one goes

    def __init__(self, size: int, classes: int, features: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("labels", torch.zeros(size, classes))
        self.register_buffer("features", torch.zeros(size, features if size else 0))
        self.register_buffer("rows", torch.full((size,), -1))
        self.register_buffer("position", torch.tensor(0))

    def beside(self, rows: Tensor, labels: Tensor, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Those of the batch, then those remembered; images that are in the batch are not remembered beside it."""
        if not self.size:
            return rows, labels, features
        other = (self.rows[:, None] != rows).all(1)
        remembered = self.rows.where(other, -1), self.labels * other[:, None], self.features * other[:, None]
        of_rows, of_labels, of_features = map(torch.cat, zip((rows, labels, features), remembered, strict=True))
        return of_rows, of_labels, of_features

    def add(self, rows: Tensor, labels: Tensor, features: Tensor) -> None:
        """Replaces the oldest ones."""
        if not self.size:
            return
        count = min(self.size, len(rows))
        places = (self.position + torch.arange(count, device=rows.device)) % self.size
        for memory, new in ((self.rows, rows), (self.labels, labels), (self.features, features)):
            memory.index_copy_(0, places, new[len(new) - count :])
        self.position.add_(count).remainder_(self.size)

    def sync(self, all_reduce: AllReduce) -> None:
        """Each place takes the image of one process, the one with the highest row, so that all remember the same."""
        if not self.size:
            return
        rows = all_reduce(self.rows, "max")
        mine = (self.rows == rows).float()
        several = all_reduce(mine, "sum")
        for memory in (self.labels, self.features):
            memory.copy_(all_reduce(memory * mine[:, None], "sum") / several[:, None])
        self.rows.copy_(rows)
        self.position.copy_(all_reduce(self.position, "max"))


def similar_images(
    features: Tensor, scores: Tensor, graph: LabelGraph, k: int = 5, weights: tuple[float, float] = (1.0, 0.5)
) -> Neighbours:
    """The k images most like each of N, by labels and features together; coefficients of labels, then of features.

    features: N×D. scores: N×C, how probably each label is present; known ones are 1 or 0. weights: λ_y and λ_f.
    """
    labels = on_scale(2 * scores.double() - 1)
    related = spread(labels, graph.index, graph.weight.double())
    features = features.double()
    found = [
        joint_omp([labels[own], features[own]], [related, features], weights, k, own)
        for own in torch.split(torch.arange(len(features), device=features.device), _IMAGES_AT_ONCE)
    ]
    index = torch.cat([part.index for part in found])
    return Neighbours(index, [torch.cat([part.coefficients[m] for part in found]).float() for m in range(2)])


def filled(logits: Tensor, labels: Tensor) -> Tensor:
    """B×C: known labels as they are, unknown ones as predicted."""
    return on_scale(torch.where(labels == 0, 2 * torch.sigmoid(logits.float()) - 1, labels.float()))


def on_scale(signed: Tensor) -> Tensor:
    """From −1…1 to −0.5…1, so that the many negatives say less of who is similar than the few positives."""
    return 0.75 * signed + 0.25


def spread(labels: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """N×C labels times A: for each the weighted sum of the labels that it is related to.

    index, weight: C×k_a. A sum over bags never holds the N×C×k_a terms of it.
    """
    return F.embedding_bag(index, labels.T.contiguous(), per_sample_weights=weight, mode="sum").T


def combined(atoms: Tensor, index: Tensor, coefficients: Tensor) -> Tensor:
    """B×D: for each image the sum of its neighbours among the atoms (N×D), times its coefficients (B×k)."""
    return F.embedding_bag(index, atoms, per_sample_weights=coefficients, mode="sum")


def smoothness(vectors: Tensor, predicted: Tensor, coefficients: Tensor) -> Tensor:
    """‖vector − predicted‖² (B×D each), mean over images; 0 for those without neighbours."""
    return ((vectors - predicted).square().sum(1) * (coefficients > 0).any(1)).mean()


def one_hots(groups: Tensor) -> Tensor:
    """N×N: equal rows of length 1 where groups (N) are equal, else orthogonal; zeros for −1.

    As many columns as images and not as groups, of which there may be thousands.
    """
    places = torch.arange(len(groups), device=groups.device)
    first = torch.where(groups[:, None] == groups, places, len(groups)).amin(1)
    return (first[:, None] == places).float() * (groups >= 0)[:, None]


def _graph(settings: ImclSettings, labels: Labels) -> LabelGraph:
    if settings.graph == "co-occurrence":
        return co_occurrence(labels, settings.label_neighbours)
    if settings.graph == "identity":
        return identity(labels.shape[1])
    if not Path(settings.graph).is_file():
        raise TrilabelError(f"imcl: graph is co-occurrence, identity or a table; there is no file {settings.graph!r}")
    return from_file(settings.graph, labels.classes)
