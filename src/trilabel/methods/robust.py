"""Losses made for presents that were missed: Hill and SPLC (Zhang 2021), baselines of Wang 2023."""

from dataclasses import dataclass

from torch import Tensor, nn

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.losses import unknown_as_absent
from trilabel.losses.robust import splc_corrected
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import require_presents


@dataclass(frozen=True)
class HillSettings:
    """As published."""

    weight: float = 1.5
    """An absent label costs (weight − p)·p² at probability p; 1.5 lets go of those that look present."""
    margin: float = 1.0
    """By how much the logit of a present must exceed 0 to count as right as others do at 0."""
    gamma: float = 2.0
    """Focus on hard presents."""


class Hill(Method):
    """Unknown counts as absent, at a cost that falls again for labels that look present."""

    Settings = HillSettings
    settings: HillSettings
    summary = "unknown counts as absent, but one that looks very present is let go of (Hill)"
    suits = "presents known, absents rare or never named"

    @classmethod
    def check(cls, settings: HillSettings, labels: Labels) -> None:
        """Needs presents."""
        require_presents("hill", labels)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        logits, chosen = model(batch.images).logits, self.settings
        loss = losses.hill(logits, batch.labels, "mean", chosen.weight, chosen.margin, chosen.gamma)
        return {"loss": loss, "logits": logits.detach()}


@dataclass(frozen=True)
class SplcSettings:
    """As published."""

    tau: float = 0.6
    """Probability from which an unknown label is scored as present."""
    change_epoch: int = 2
    """The first epoch in which it is."""
    margin: float = 1.0
    """By how much the logit of a known present must exceed 0 to count as right as others do at 0."""
    gamma: float = 2.0
    """Focus on hard labels."""


class Splc(Method):
    """Unknown counts as absent until the model is sure enough that it is not."""

    Settings = SplcSettings
    settings: SplcSettings
    summary = "unknown counts as absent until the model itself calls it present (SPLC)"
    suits = "presents known, absents rare or never named"

    @classmethod
    def check(cls, settings: SplcSettings, labels: Labels) -> None:
        """Needs presents, and a probability."""
        require_presents("splc", labels)
        if not 0 <= settings.tau <= 1:
            raise TrilabelError(f"splc: tau is a probability, not {settings.tau}")

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        logits, chosen = model(batch.images).logits, self.settings
        loss = losses.splc(
            logits,
            batch.labels,
            batch.epoch,
            chosen.tau,
            change_epoch=chosen.change_epoch,
            margin=chosen.margin,
            gamma=chosen.gamma,
        )
        corrected = splc_corrected(logits, batch.labels, batch.epoch, chosen.tau, chosen.change_epoch)
        taken = unknown_as_absent(batch.labels).masked_fill_(corrected, 1)
        return {"loss": loss, "logits": logits.detach(), "taken": taken}
