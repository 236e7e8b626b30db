"""Interactive multi-label learning: similar images and related labels fill in what is unknown (Huynh 2020)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from trilabel import losses
from trilabel.data.side_tables.label_graph import LabelGraph, co_occurrence, from_file, identity
from trilabel.data.side_tables.side_information import read_groups
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods.base import AllReduce, Batch, Method
from trilabel.methods.checks import note_one_sided, require_both
from trilabel.methods.imcl.initial import InitialVectors
from trilabel.methods.imcl.memory import Memory
from trilabel.methods.imcl.omp import Neighbors, joint_omp
from trilabel.methods.imcl.similarity import combined, filled_in, group_vectors, related_labels, smoothness

_SMALLEST = 1e-6  # smaller losses are not balanced against the BCE
_BEFORE_BALANCE = (1.0, 1e-5)  # λ_y and λ_f of the search until there is a ratio: labels decide, as in the paper's code


@dataclass(frozen=True)
class ImclSettings:
    """As in the paper on Open Images. CUB: label_weight=2, graph=identity. COCO: label_weight=0.5, neighbors=3."""

    label_weight: float = 1.0
    """Weight of the label smoothness: an image's labels follow from the related labels of similar images."""
    feature_weight: float = 0.5
    """Weight of the feature smoothness: an image's features follow from those of the same similar images."""
    neighbors: int = 5
    """Most similar images that an image may have."""
    similarity: Literal["learned", "fixed"] = "learned"
    """learned: which images are similar follows the model. fixed: found from the labels and features of all training
    images as the model sees them when similar images begin to count."""
    graph: str = "co-occurrence"
    """Which labels are related: co-occurrence, identity (each to itself alone), or a table label,neighbor[,weight]."""
    label_neighbors: int = 50
    """Of graph=co-occurrence: labels that a label is related to, itself included."""
    learn_graph: bool = True
    """Learn how strongly labels are related; false keeps the initial weights."""
    graph_lr: float = 0.01
    """Learning rate of these weights, whatever the model's; a schedule changes both alike. The paper's code has 0.5,
    with RMSProp."""
    memory: int = 0
    """Number of recent images, as they were then, that are searched for similar ones besides the batch."""
    side: str | None = None
    """A table image,group: images of one group are more likely to count as similar."""
    side_weight: float = 1.0
    """How much belonging to one group counts; each label counts from -0.5 to 1."""
    warm_up: int = 5
    """Epochs in which known labels alone count: until the model has learned, about half of the run's. 0 for a run that
    starts from a trained head, as the paper's do."""
    balance: bool = True
    """Scale both weights so that 1 makes a term as large as the BCE in the first batch after the warm-up, as the
    paper's code does in the first of all."""


class Imcl(Method[ImclSettings]):
    """BCE of the known labels + λ_y ‖y − tanh(Σ c A y')‖² + λ_f ‖f − Σ c̄ f'‖², all per image, mean over images.

    y are the labels, unknown ones as the model predicts them; f are the features; the sums are over the similar images,
    which `joint_omp` finds in the batch (and the memory) along with c and c̄; A relates the labels. An image without
    similar ones has no such terms: with c = 0 they would only pull its predictions and features to 0.

    The paper alternates in each mini-batch: find c and c̄, improve A with the model fixed, improve the model with all
    that fixed. Here c and c̄ are found and held fixed, and one backward pass gives the gradient with respect to A with
    the model fixed and that with respect to the model with A fixed. Both steps then start from the same point; in the
    paper the second step uses A after the first.

    Side information is appended to y in the search for similar images, unchanged by A or tanh. In the loss it would be
    a constant.

    Similar images come from the batch and memory of the process; with similarity=fixed c and c̄ are found among the
    same images, from what `survey` kept of them.
    """

    Settings = ImclSettings
    description = "predictions follow those of similar images and related labels, both learned as well (IMCL)"
    suits = "positives and negatives known, few of each; images that resemble each other"
    cost = "as plain BCE, and products of all pairs of images in batch and memory"
    less_memory = "use a smaller --set memory, and --set similarity=learned"
    index: Tensor  # C×k_a, see LabelGraph
    used: Tensor
    weight: Tensor
    ratios: Tensor  # 2: BCE ÷ smoothness of labels and of features in the first batch after the warm-up; 0 before it
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
        # Learned weights stay from 0 to 1, as in the paper's code, unless a table has others.
        self.range = min(0.0, graph.weight.min().item()), max(1.0, graph.weight.max().item())
        self.register_buffer("ratios", torch.zeros(2))
        if settings.memory and not features:
            raise TrilabelError("imcl: memory needs a model with features; use memory=0")
        if settings.similarity == "fixed" and not features:
            raise TrilabelError("imcl: similarity=fixed needs a model with features; use similarity=learned")
        self.memory = Memory(settings.memory, labels.shape[1], features)
        self.initial: InitialVectors | None = None
        if settings.similarity == "fixed":
            self.initial = InitialVectors(labels.shape, features, graph.weight * graph.used)
        if settings.side is not None:
            self.register_buffer("groups", torch.from_numpy(read_groups(settings.side, labels.ids)), persistent=False)

    @classmethod
    def check(cls, settings: ImclSettings, labels: Labels) -> None:
        """Needs both positives and negatives, and numbers in range; tables are read when the method is created."""
        require_both("imcl", labels)
        for name, least in (("neighbors", 1), ("label_neighbors", 1), ("memory", 0), ("warm_up", 0)):
            if getattr(settings, name) < least:
                raise TrilabelError(f"imcl: {name} must be at least {least}, not {getattr(settings, name)}")
        for name in ("label_weight", "feature_weight", "side_weight"):
            if getattr(settings, name) < 0:
                raise TrilabelError(f"imcl: {name} must be 0 or more, not {getattr(settings, name)}")
        if not 0 < settings.graph_lr < math.inf:
            raise TrilabelError(f"imcl: graph_lr is a number above 0, not {settings.graph_lr}")
        if settings.side is None and settings.side_weight != ImclSettings.side_weight:
            raise TrilabelError("imcl: side_weight needs side information; give its table with side=FILE")

    @classmethod
    def memory_needed(cls, settings: ImclSettings, labels: Labels, features: int = 0) -> int:
        """Labels and features of recent images; with similarity=fixed of all."""
        everything = labels.shape[0] if settings.similarity == "fixed" else 0
        return (settings.memory + everything) * (4 * labels.shape[1] + 4 * features) + 8 * settings.memory

    @classmethod
    def begins_after(cls, settings: ImclSettings, begun: bool = False) -> tuple[str, int]:
        """After the warm-up, which only the first stage has that is long enough."""
        return "warm_up", 0 if begun or not (settings.label_weight or settings.feature_weight) else settings.warm_up

    def parameter_groups(self, lr: float = 1e-3) -> list[tuple[list[nn.Parameter], float]]:
        """The weights of related labels learn at a rate of their own."""
        own = list(self.parameters())
        return [(own, self.settings.graph_lr / lr)] if own else []

    def surveys(self, epoch: int) -> bool:
        """With similarity=fixed: once, after the warm-up."""
        return self.initial is not None and epoch > self.settings.warm_up and not self.initial.found

    @torch.no_grad()
    def survey(self, model: nn.Module, batches: Iterable[Batch], all_reduce: AllReduce) -> None:
        """Keeps labels and features of all training images."""
        if self.initial is None:
            return
        for batch in batches:
            output = model(batch.images)
            self.initial.keep(batch.rows, filled_in(output.logits, batch.labels), output.features.float())
        self.initial.sync(all_reduce)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass; the neighbors of each image; BCE and both kinds of smoothness."""
        output, chosen = model(batch.images), self.settings
        logits, features = output.logits, output.features.float()
        bce = losses.bce(logits, batch.labels) * logits.shape[1]
        parts = {"loss": bce, "logits": logits.detach(), "bce": bce.detach()}
        if not (chosen.label_weight or chosen.feature_weight):
            return parts
        if torch.is_grad_enabled() and isinstance(self.weight, nn.Parameter):
            self.weight.data.clamp_(*self.range)
        labels = filled_in(logits, batch.labels)
        rows, all_labels, all_features = self.memory.appended_to(batch.rows, labels, features)
        found = self._neighbors(rows, (labels, features), (all_labels, all_features))
        of_labels, of_features = found.coefficients
        places = found.index
        if places.numel() < len(all_labels):  # of a large memory only the images that were found get a gradient
            all_labels, all_features = all_labels[places.flatten()], all_features[places.flatten()]
            places = torch.arange(places.numel(), device=places.device).view_as(places)
        related = related_labels(all_labels, self.index, self.weight * self.used)
        predicted = torch.tanh(combined(related, places, of_labels)), combined(all_features, places, of_features)
        terms = (
            ("label_smoothness", chosen.label_weight, smoothness(labels, predicted[0], of_labels)),
            ("feature_smoothness", chosen.feature_weight, smoothness(features, predicted[1], of_features)),
        )
        for place, (name, weight, value) in enumerate(terms):
            parts[name] = value.detach()
            if weight:
                factor = self._balance(place, parts[name], parts["bce"], batch.epoch > chosen.warm_up)
                parts["loss"] = parts["loss"] + weight * factor * value
        if torch.is_grad_enabled():
            self.memory.add(batch.rows, labels.detach(), features.detach())
        return parts

    @torch.no_grad()
    def _neighbors(self, rows: Tensor, batch: tuple[Tensor, Tensor], everything: tuple[Tensor, Tensor]) -> Neighbors:
        """Of each image of the batch among all; coefficients of labels, then of features."""
        chosen, own = self.settings, torch.arange(len(batch[0]), device=rows.device)
        (labels, features), (all_labels, all_features), strengths = batch, everything, self.weight * self.used
        if self.initial is not None:
            all_labels, all_features, strengths = *self.initial.of(rows), self.initial.strengths
            labels, features = all_labels[: len(own)], all_features[: len(own)]
        related = related_labels(all_labels, self.index, strengths)
        if chosen.side is not None:
            side = group_vectors(torch.where(rows >= 0, self.groups[rows.clamp(min=0)], -1)).mul_(chosen.side_weight)
            labels, related = torch.cat((labels, side[: len(labels)]), 1), torch.cat((related, side), 1)
        weights: list[float | Tensor] = [chosen.label_weight, chosen.feature_weight]
        if chosen.balance:
            pairs = zip(weights, self.ratios, _BEFORE_BALANCE, strict=True)
            weights = [torch.where(ratio > 0, ratio * λ, first) if λ else 0.0 for λ, ratio, first in pairs]
        return joint_omp((labels, features), (related, all_features), weights, chosen.neighbors, own)

    def _balance(self, place: int, value: Tensor, bce: Tensor, warmed_up: bool) -> Tensor:
        """The factor of a smoothness: BCE ÷ smoothness in the first batch after the warm-up where it had any.

        0 before; without balance 1 from there on. Later stages of a run have no warm-up: the ratio is known.
        """
        if not warmed_up:
            return self.ratios[place]
        now = torch.where(value > 0, bce / value.clamp(min=_SMALLEST), 0.0) if self.settings.balance else 1.0
        ratio = torch.where(self.ratios[place] > 0, self.ratios[place], now)
        if torch.is_grad_enabled():
            self.ratios[place] = ratio
        return ratio

    def own_memory(self) -> dict[str, Tensor]:
        """Each process has its own ratios, from its first batch, and its own recent images."""
        return {"ratios": self.ratios, **{f"memory.{name}": value for name, value in self.memory.named_buffers()}}

    @torch.no_grad()
    def sync(self, all_reduce: AllReduce) -> None:
        """Ratios become the mean over the processes that have one; see also `Memory.sync`."""
        having = all_reduce((self.ratios > 0).float(), "sum")
        self.ratios.copy_(all_reduce(self.ratios, "sum") / having.clamp(min=1))
        self.memory.sync(all_reduce)

    def label_graph(self) -> LabelGraph:
        """How labels are related, as learned so far."""
        weight = self.weight.detach().clamp(*self.range) * self.used
        return LabelGraph(self.index.cpu(), weight.cpu(), self.used.cpu())


def _graph(settings: ImclSettings, labels: Labels) -> LabelGraph:
    """How labels are related at the start."""
    if settings.graph == "co-occurrence":
        return co_occurrence(labels, settings.label_neighbors)
    if settings.graph == "identity":
        return identity(labels.shape[1])
    if not Path(settings.graph).is_file():
        raise TrilabelError(
            f"imcl: graph must be co-occurrence, identity or a table; there is no file {settings.graph!r}"
        )
    return from_file(settings.graph, labels.classes)
