"""Unknown scored as absent: the baseline of Cole 2021 (AN, WAN, AN-LS) and Kim 2022."""

from dataclasses import dataclass

from torch import Tensor

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods.base import PureLoss
from trilabel.methods.checks import require_positives


@dataclass(frozen=True)
class AssumeNegativeSettings:
    """The defaults are plain AN; a weight below 1 makes it WAN, smoothing makes it AN-LS."""

    weight: float | None = 1.0
    """Weight of negatives, known or assumed, against positives; none: 1 ÷ (classes − 1)."""
    smoothing: float = 0.0
    """Share of a target moved to its opposite."""
    smoothing_negatives: float | None = None
    """The same for negatives where it differs; none: as `smoothing`."""


class AssumeNegative(PureLoss[AssumeNegativeSettings]):
    """BCE with every unknown label scored as absent."""

    Settings = AssumeNegativeSettings
    description = "unknown counts as absent; negatives may weigh less (WAN) or targets be smoothed (AN-LS)"
    suits = "positives known, few negatives or none"

    @classmethod
    def check(cls, settings: AssumeNegativeSettings, labels: Labels) -> None:
        """Needs positives; weight and smoothing exclude each other, as in the paper."""
        super().check(settings, labels)
        require_positives("assume-negative", labels)
        smooth = settings.smoothing or settings.smoothing_negatives
        if smooth and settings.weight != 1.0:
            raise TrilabelError("assume-negative takes a weight or smoothing, not both")

    @classmethod
    def loss(cls, settings: AssumeNegativeSettings, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss that the settings name, with unknown as absent."""
        if settings.weight != 1.0:
            return losses.weak_assume_negative(logits, labels, weight=settings.weight)
        negatives = settings.smoothing if settings.smoothing_negatives is None else settings.smoothing_negatives
        return losses.assume_negative(logits, labels, smoothing=(settings.smoothing, negatives))
