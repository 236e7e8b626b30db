"""Losses that pay more attention to what is hard: focal (Lin 2017) and asymmetric (Ridnik 2021)."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from trilabel import losses
from trilabel.labels import Labels
from trilabel.losses import unknown_as_absent
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import require_both, require_presents

_OTHERWISE = "unknown=absent, or a method for such labels, e.g. assume-negative"


@dataclass(frozen=True)
class FocalSettings:
    """Gamma 0 is plain BCE."""

    gamma: float = 2.0
    """How much less an easy label weighs: (1 − probability of the right answer)^gamma."""
    unknown: Literal["absent", "ignore"] = "absent"
    """Whether an unknown label counts as absent or takes no part."""


class Focal(Method):
    """BCE in which easy labels weigh less."""

    Settings = FocalSettings
    settings: FocalSettings
    summary = "BCE in which easy labels weigh less (focal loss)"
    suits = "presents known; with unknown=ignore presents and absents known"

    @classmethod
    def check(cls, settings: FocalSettings, labels: Labels) -> None:
        """Needs presents, and absents where unknown labels are ignored."""
        _check("focal", settings.unknown, labels)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        logits, chosen = model(batch.images).logits, self.settings
        labels = batch.labels if chosen.unknown == "ignore" else unknown_as_absent(batch.labels)
        return {"loss": losses.focal(logits, labels, chosen.gamma), "logits": logits.detach()}


@dataclass(frozen=True)
class AsymmetricSettings:
    """The settings that its authors release it with."""

    gamma_pos: float = 1.0
    """Focus on hard presents."""
    gamma_neg: float = 4.0
    """Focus on hard absents."""
    clip: float = 0.05
    """Absents with a probability below this cost nothing."""
    unknown: Literal["absent", "ignore"] = "absent"
    """Whether an unknown label counts as absent or takes no part."""


class Asymmetric(Method):
    """Focal loss with a focus of their own for absents, the easiest of which cost nothing."""

    Settings = AsymmetricSettings
    settings: AsymmetricSettings
    summary = "BCE in which easy labels, above all easy absents, weigh less (ASL)"
    suits = "presents known; with unknown=ignore presents and absents known"

    @classmethod
    def check(cls, settings: AsymmetricSettings, labels: Labels) -> None:
        """Needs presents, and absents where unknown labels are ignored."""
        _check("asymmetric", settings.unknown, labels)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        logits, chosen = model(batch.images).logits, self.settings
        labels = batch.labels if chosen.unknown == "ignore" else unknown_as_absent(batch.labels)
        loss = losses.asymmetric(logits, labels, chosen.gamma_pos, chosen.gamma_neg, chosen.clip)
        return {"loss": loss, "logits": logits.detach()}


def _check(method: str, unknown: str, labels: Labels) -> None:
    if unknown == "ignore":
        require_both(f"{method} with unknown=ignore", labels, _OTHERWISE)
    else:
        require_presents(method, labels)
