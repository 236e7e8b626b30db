"""Losses that weigh hard labels more than easy ones: focal (Lin 2017) and asymmetric (Ridnik 2021)."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from trilabel import losses
from trilabel.labels import Labels
from trilabel.losses import unknown_as_absent
from trilabel.methods.base import PureLoss
from trilabel.methods.checks import require_both, require_positives

_INSTEAD = "unknown=absent, or a method for such labels, e.g. assume-negative"


@dataclass(frozen=True)
class FocalSettings:
    """Gamma 0 is plain BCE."""

    gamma: float = 2.0
    """How much less an easy label weighs: (1 − probability of the right answer)^gamma."""
    unknown: Literal["absent", "ignore"] = "absent"
    """Whether an unknown label counts as absent or takes no part."""


class Focal(PureLoss[FocalSettings]):
    """BCE in which easy labels weigh less."""

    Settings = FocalSettings
    description = "BCE in which easy labels weigh less (focal loss)"
    suits = "positives known; with unknown=ignore positives and negatives known"

    @classmethod
    def check(cls, settings: FocalSettings, labels: Labels) -> None:
        """Needs positives, and negatives where unknown labels are ignored."""
        super().check(settings, labels)
        _check("focal", settings.unknown, labels)

    @classmethod
    def loss(cls, settings: FocalSettings, logits: Tensor, labels: Tensor) -> Tensor:
        """Focal loss, with unknown labels treated as the settings specify."""
        labels = labels if settings.unknown == "ignore" else unknown_as_absent(labels)
        return losses.focal(logits, labels, settings.gamma)


@dataclass(frozen=True)
class AsymmetricSettings:
    """The defaults are those of the authors' code."""

    gamma_pos: float = 1.0
    """Focus on hard positives."""
    gamma_neg: float = 4.0
    """Focus on hard negatives."""
    clip: float = 0.05
    """Negatives with a probability below this cost nothing."""
    unknown: Literal["absent", "ignore"] = "absent"
    """Whether an unknown label counts as absent or takes no part."""


class Asymmetric(PureLoss[AsymmetricSettings]):
    """Focal loss with a separate focus for negatives, the easiest of which cost nothing."""

    Settings = AsymmetricSettings
    description = "BCE in which easy labels, above all easy negatives, weigh less (ASL)"
    suits = "positives known; with unknown=ignore positives and negatives known"

    @classmethod
    def check(cls, settings: AsymmetricSettings, labels: Labels) -> None:
        """Needs positives, and negatives where unknown labels are ignored."""
        super().check(settings, labels)
        _check("asymmetric", settings.unknown, labels)

    @classmethod
    def loss(cls, settings: AsymmetricSettings, logits: Tensor, labels: Tensor) -> Tensor:
        """Asymmetric loss, with unknown labels treated as the settings specify."""
        labels = labels if settings.unknown == "ignore" else unknown_as_absent(labels)
        return losses.asymmetric(logits, labels, settings.gamma_pos, settings.gamma_neg, settings.clip)


def _check(method: str, unknown: str, labels: Labels) -> None:
    """Refuses labels that the loss cannot learn from, with unknown labels treated as the settings specify."""
    if unknown == "ignore":
        require_both(f"{method} with unknown=ignore", labels, _INSTEAD)
    else:
        require_positives(method, labels)
