"""Structured semantic transfer (SST, Chen 2022): unknown positives by what goes together and by what looks alike."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods.base import AllReduce, Batch, Method
from trilabel.methods.checks import note_one_sided, require_both
from trilabel.methods.semantic.pairs import PairHead, check_pairs, shown_with
from trilabel.methods.semantic.recent import RecentPositives
from trilabel.methods.semantic.steps import forward, likeness, ramped_co_occurrence, ramped_contrastive


@dataclass(frozen=True)
class SemanticTransferSettings:
    """When unknown labels begin to count as present, and from which likeness on."""

    start: int = 5
    """Epochs that learn from known labels alone."""
    threshold: float = 0.95
    """An unknown label counts as present from this likeness on; after `start` it falls by 0.025 an epoch …"""
    lowest: float = 0.75
    """… down to this."""
    memory: int = 100
    """Recent known positives of each class that others are compared with."""
    mean: Literal["filled", "all"] = "filled"
    """filled: likeness is the mean over the remembered positives. all: over all places of the memory, empty ones as 0,
    as in the released code: a class with few positives can then hardly reach the threshold."""


class SemanticTransfer(Method[SemanticTransferSettings]):
    """Two sources of pseudo-labels, made anew in each step, positives only.

    Within an image: a class that goes together with the known positives, by a network over pairs of classes. Across
    images: a class whose features are like those of recent known positives.
    """

    Settings = SemanticTransferSettings
    description = "unknown positives by what goes together and what looks alike (SST); needs --head semantic"
    suits = "positives and negatives known"
    cost = "about twice plain BCE: class features and a network over pairs of classes"
    heads = ("semantic",)
    less_memory = "use fewer classes, a smaller --set memory, or a smaller --set head.channels"

    def __init__(
        self, settings: SemanticTransferSettings, labels: Labels, features: int = 0, validation: Labels | None = None
    ) -> None:
        super().__init__(settings, labels, features, validation)
        self.notes = note_one_sided("semantic-transfer", labels)
        self.pairs = PairHead(labels.shape[1], features)
        self.recent = RecentPositives(labels.shape[1], settings.memory, features)

    @classmethod
    def check(cls, settings: SemanticTransferSettings, labels: Labels) -> None:
        """Needs both positives and negatives, and not too many classes."""
        require_both("semantic-transfer", labels)
        check_pairs("semantic-transfer", labels.shape[1])
        if not -1 <= settings.lowest <= settings.threshold <= 1 or settings.start < 0 or settings.memory < 1:
            raise TrilabelError("semantic-transfer: −1 ≤ lowest ≤ threshold ≤ 1, start ≥ 0 and memory ≥ 1")

    @classmethod
    def memory_needed(cls, settings: SemanticTransferSettings, labels: Labels, features: int = 0) -> int:
        """The recent positives of each class, and the vectors of pairs."""
        classes = labels.shape[1]
        return PairHead.memory_needed(classes) + RecentPositives.memory_needed(classes, settings.memory, features)

    @classmethod
    def begins_after(cls, settings: SemanticTransferSettings, begun: bool = False) -> tuple[str, int]:
        """Each stage begins with known labels alone."""
        return "start", settings.start

    def threshold(self, epoch: int) -> float:
        """The likeness from which an unknown label counts as present in this epoch (from 1)."""
        return max(self.settings.lowest, self.settings.threshold - 0.025 * (epoch - 1 - self.settings.start))

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass; the losses of known labels, pseudo-labels, pairs and likeness."""
        labels = batch.labels
        out = forward(model, batch.images)
        pairs = self.pairs(out.features)
        self.recent.add(out.features.detach(), labels)
        known = losses.known_mean_bce(out.logits, labels)
        loss = known + ramped_contrastive(out.features, batch)
        loss = loss + ramped_co_occurrence(pairs, batch)
        targets = labels
        if batch.epoch > self.settings.start:
            with torch.no_grad():
                lowest = self.threshold(batch.epoch)
                together, alike = shown_with(pairs, labels), self.likeness(out.features)
                within, across = (labels.where((labels != 0) | (s < lowest), 1) for s in (together, alike))
            loss = loss + losses.known_mean_bce(out.logits, within) + losses.known_mean_bce(out.logits, across)
            targets = torch.maximum(within, across).where(labels == 0, labels)
        return {"loss": loss, "logits": out.logits.detach(), "targets": targets, "known": known.detach()}

    def likeness(self, features: Tensor) -> Tensor:
        """B×C: how much each class looks like its recent positives."""
        mean = likeness(features, self.recent.features)
        return mean if self.settings.mean == "all" else mean / self.recent.filled_share().clamp(min=1e-9)

    def own_memory(self) -> dict[str, Tensor]:
        """Each process remembers the positives of its own batches."""
        return {f"recent.{name}": value for name, value in self.recent.named_buffers()}

    def sync(self, all_reduce: AllReduce) -> None:
        """See `RecentPositives.sync`."""
        self.recent.sync(all_reduce)
