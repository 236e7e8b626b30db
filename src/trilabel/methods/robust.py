"""Losses made for positives that nobody labeled: Hill and SPLC (Zhang 2021), baselines of Wang 2023."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.losses import unknown_as_absent
from trilabel.losses.splc import splc_corrected, splc_with
from trilabel.methods.base import Batch, Method, PureLoss
from trilabel.methods.checks import require_both, require_positives


@dataclass(frozen=True)
class HillSettings:
    """As published."""

    weight: float = 1.5
    """An absent label costs (weight − p)·p² at probability p; with 1.5 the cost falls again near 1."""
    margin: float = 1.0
    """How far the logit of a positive must be above 0 to count as others do at 0."""
    gamma: float = 2.0
    """Focus on hard positives."""


class Hill(PureLoss[HillSettings]):
    """Unknown counts as absent, at a cost that falls again where the model is sure of the opposite."""

    Settings = HillSettings
    description = "unknown counts as absent, but costs little where the model is sure that it is present (Hill)"
    suits = "positives known, few negatives or none"

    @classmethod
    def check(cls, settings: HillSettings, labels: Labels) -> None:
        """Needs positives."""
        super().check(settings, labels)
        require_positives("hill", labels)

    @classmethod
    def loss(cls, settings: HillSettings, logits: Tensor, labels: Tensor) -> Tensor:
        """Hill loss, with unknown as absent."""
        return losses.hill(logits, labels, "mean", settings.weight, settings.margin, settings.gamma)


@dataclass(frozen=True)
class SplcSettings:
    """As published."""

    tau: float = 0.6
    """Probability from which an unknown label is scored as present."""
    change_epoch: int = 2
    """The first epoch in which unknown labels may be scored as present."""
    margin: float = 1.0
    """How far the logit of a known positive must be above 0 to count as others do at 0."""
    gamma: float = 2.0
    """Focus on hard labels."""
    unknown: Literal["absent", "ignore"] = "absent"
    """Until it is scored as present an unknown label counts as absent, or, where negatives are known, not at all."""


class Splc(Method[SplcSettings]):
    """Unknown counts as absent until the model is sure enough that it is not."""

    Settings = SplcSettings
    description = "unknown counts as absent until the model itself predicts it present (SPLC)"
    suits = "positives known, few negatives or none"

    @classmethod
    def check(cls, settings: SplcSettings, labels: Labels) -> None:
        """Needs positives, and settings within their ranges."""
        if not settings.gamma >= 0:
            raise TrilabelError(f"splc: gamma is a number from 0, not {settings.gamma}")
        if not 0 <= settings.tau <= 1:
            raise TrilabelError(f"splc: tau is a probability, not {settings.tau}")
        if settings.change_epoch < 1:
            raise TrilabelError(f"splc: change_epoch counts from 1, not {settings.change_epoch}")
        require_positives("splc", labels)
        if settings.unknown == "ignore":
            require_both("splc with unknown=ignore", labels, "unknown=absent")

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        logits, labels, chosen = model(batch.images).logits, batch.labels, self.settings
        corrected = splc_corrected(logits, labels, batch.epoch, chosen.tau, chosen.change_epoch)
        loss = splc_with(logits, labels, corrected, chosen.margin, chosen.gamma, "mean", chosen.unknown)
        targets = (unknown_as_absent(labels) if chosen.unknown == "absent" else labels).masked_fill(corrected, 1)
        return {"loss": loss, "logits": logits.detach(), "targets": targets}
