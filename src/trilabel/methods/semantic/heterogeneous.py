"""Heterogeneous semantic transfer (HST, Chen 2024): as SST, with prototypes and thresholds that are learned."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.losses.soft_bce import soft_known_bce
from trilabel.methods.base import AllReduce, Batch, Method
from trilabel.methods.checks import note_one_sided, require_both
from trilabel.methods.semantic.pairs import PairHead, check_pairs, shown_with
from trilabel.methods.semantic.prototypes import Prototypes, prototypes_due
from trilabel.methods.semantic.steps import forward, likeness, ramped_co_occurrence, ramped_contrastive

_THRESHOLD_WEIGHT, _PROTOTYPE_WEIGHT = 0.1, 0.05


@dataclass(frozen=True)
class HeterogeneousTransferSettings:
    """When unknown labels begin to count as present, and how the thresholds of that are learned."""

    start: int = 5
    """Epochs that learn from known labels alone."""
    every: int = 5
    """Prototypes are made again after this many epochs."""
    prototypes: int = 10
    """Prototypes of each class."""
    threshold: float = 0.9
    """Where both thresholds start. The released code starts at 1, where hardly a label has a gradient and weight decay
    moves them."""
    threshold_lr: float = 1e-3
    """Learning rate of the thresholds, whatever the model's; a schedule changes both alike. The released code has the
    model's, 1e-5."""


class HeterogeneousTransfer(Method[HeterogeneousTransferSettings]):
    """Pseudo-labels within and across images, as SST, positives only; each source has a learned threshold.

    s = clamp(likeness − threshold, 0, 1), learned as a logit of the known labels; an unknown label counts as present
    where s > 0. Class features are drawn to the prototypes of their class where it is present, and away otherwise.
    """

    Settings = HeterogeneousTransferSettings
    description = "as semantic-transfer, with prototypes and learned thresholds (HST); needs --head semantic"
    suits = "positives and negatives known"
    cost = "about twice plain BCE, and a pass over the training images every few epochs"
    heads = ("semantic",)
    less_memory = "use fewer classes, or a smaller --set head.channels"

    def __init__(
        self,
        settings: HeterogeneousTransferSettings,
        labels: Labels,
        features: int = 0,
        validation: Labels | None = None,
    ) -> None:
        super().__init__(settings, labels, features, validation)
        self.notes = note_one_sided("heterogeneous-transfer", labels)
        self.pairs = PairHead(labels.shape[1], features)
        self.prototypes = Prototypes(labels, settings.prototypes, features)
        self.within = nn.Parameter(torch.tensor(settings.threshold))
        self.across = nn.Parameter(torch.tensor(settings.threshold))

    @classmethod
    def check(cls, settings: HeterogeneousTransferSettings, labels: Labels) -> None:
        """Needs both positives and negatives, and not too many classes."""
        require_both("heterogeneous-transfer", labels)
        check_pairs("heterogeneous-transfer", labels.shape[1])
        if settings.start < 0 or min(settings.every, settings.prototypes) < 1 or not -1 <= settings.threshold <= 1:
            raise TrilabelError("heterogeneous-transfer: start ≥ 0, every and prototypes ≥ 1, threshold from −1 to 1")
        if settings.threshold_lr <= 0:
            raise TrilabelError(
                f"heterogeneous-transfer: threshold_lr is a number above 0, not {settings.threshold_lr}"
            )

    @classmethod
    def memory_needed(cls, settings: HeterogeneousTransferSettings, labels: Labels, features: int = 0) -> int:
        """The prototypes with what they are made from, and the vectors of pairs."""
        prototypes = Prototypes.memory_needed(labels, settings.prototypes, features)
        return PairHead.memory_needed(labels.shape[1]) + prototypes

    @classmethod
    def begins_after(cls, settings: HeterogeneousTransferSettings, begun: bool = False) -> tuple[str, int]:
        """Each stage begins with known labels alone."""
        return "start", settings.start

    def parameter_groups(self, lr: float = 1e-3) -> list[tuple[list[nn.Parameter], float]]:
        """The thresholds learn at a rate of their own."""
        return [(list(self.pairs.parameters()), 1.0), ([self.within, self.across], self.settings.threshold_lr / lr)]

    def surveys(self, epoch: int) -> bool:
        """Before the first epoch with pseudo-labels, and every few epochs from there on."""
        return prototypes_due(epoch, self.settings.start, self.settings.every)

    def survey(self, model: nn.Module, batches: Iterable[Batch], all_reduce: AllReduce) -> None:
        """Makes the prototypes again."""
        self.prototypes.renew(((b.rows, forward(model, b.images).features, None) for b in batches), all_reduce)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass; the losses of known labels, pseudo-labels, thresholds, pairs and likeness."""
        labels = batch.labels
        out = forward(model, batch.images)
        pairs = self.pairs(out.features)
        known = losses.known_mean_bce(out.logits, labels)
        # Every parameter is part of the loss from the first epoch on, which several processes need.
        loss = known + ramped_contrastive(out.features, batch) + 0 * (self.within + self.across)
        loss = loss + ramped_co_occurrence(pairs, batch)
        targets = labels
        if batch.epoch > self.settings.start:
            alike = likeness(out.features, self.prototypes.vectors)
            made = self.prototypes.made
            together = exceeding(shown_with(pairs, labels), self.within)
            above = exceeding(alike, self.across)
            scores = together, torch.where(made, above, 0)
            within, across = (labels.where((labels != 0) | (score <= 0), 1) for score in scores)
            loss = loss + losses.known_mean_bce(out.logits, within) + losses.known_mean_bce(out.logits, across)
            seen = labels * made
            loss = loss + _THRESHOLD_WEIGHT * (soft_known_bce(together, labels) + soft_known_bce(above, seen))
            loss = loss + _PROTOTYPE_WEIGHT * unlike_prototypes(alike, seen)
            targets = torch.maximum(within, across).where(labels == 0, labels)
        parts = {"known": known, "threshold_within": self.within, "threshold_across": self.across}
        return {
            "loss": loss,
            "logits": out.logits.detach(),
            "targets": targets,
            **{name: value.detach() for name, value in parts.items()},
        }


def exceeding(likeness: Tensor, threshold: Tensor) -> Tensor:
    """clamp(likeness − threshold, 0, 1), with gradient 1 at both ends too; that of `clamp` is 0 there from torch 2.14.

    At a threshold of 1 only a likeness of 1, that of the sole known positive of an image, has a gradient.
    """
    value = likeness - threshold
    return torch.where((value >= 0) & (value <= 1), value, value.detach().clamp(0, 1))


def unlike_prototypes(likeness: Tensor, labels: Tensor) -> Tensor:
    """Mean over B·C of 1 − y · likeness: small where features are like the prototypes of what is present."""
    return (1 - labels * likeness).mean()
