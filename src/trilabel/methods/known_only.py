"""Learning from the known labels alone: unknown ones take no part (Durand 2019, Cole 2021 "IU", Wang 2023 "BN-BCE")."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods.base import PureLoss
from trilabel.methods.checks import note_one_sided, require_both


@dataclass(frozen=True)
class KnownOnlySettings:
    """What the loss is divided by: it decides how much an image with few known labels weighs."""

    normalize: Literal["all", "batch", "image", "share"] = "batch"
    """all: ÷ images × classes (plain BCE). batch: mean over the batch's known labels (BN-BCE).
    image: mean over each image's known labels. share: partial-BCE, weighted by the image's known share."""
    gamma: float = 1.0
    """Of partial-BCE: the exponent of the known share."""
    at: float = 0.1
    """Of partial-BCE: the known share at which the weight is `value` (it is 1 where all is known)."""
    value: float = 5.0
    """Of partial-BCE: the weight at `at`."""
    smoothing: float = 0.0
    """Share of a target moved to its opposite; with `normalize=all` only (BCE-LS)."""


class KnownOnly(PureLoss[KnownOnlySettings]):
    """BCE over the known labels, with a choice of what it is divided by."""

    Settings = KnownOnlySettings
    description = "BCE on the known labels; unknown ones take no part"
    suits = "positives and negatives known"

    def __init__(
        self, settings: KnownOnlySettings, labels: Labels, features: int = 0, validation: Labels | None = None
    ) -> None:
        super().__init__(settings, labels, features, validation)
        self.notes = note_one_sided("known-only", labels)

    @classmethod
    def check(cls, settings: KnownOnlySettings, labels: Labels) -> None:
        """Needs both positives and negatives."""
        super().check(settings, labels)
        require_both("known-only", labels)
        if settings.smoothing and settings.normalize != "all":
            raise TrilabelError(f"known-only: smoothing needs normalize=all, not {settings.normalize}")

    @classmethod
    def loss(cls, settings: KnownOnlySettings, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss that the settings name."""
        match settings.normalize:
            case "all":
                return losses.bce(logits, labels, smoothing=settings.smoothing)
            case "batch":
                return losses.known_mean_bce(logits, labels)
            case "image":
                return losses.per_image_bce(logits, labels)
            case "share":
                return losses.partial_bce(logits, labels, settings.gamma, settings.at, settings.value)
