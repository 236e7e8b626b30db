"""Expected positive regularization: only known labels are scored, and the number of positives is held (Cole 2021)."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.expected_positives import expected_positives
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import require_positives


@dataclass(frozen=True)
class ExpectedPositiveSettings:
    """EPR as in the paper, with known negatives scored as well."""

    expected_positives: float | None = None
    """Positives per image; none: estimated from the fully labelled images, or guessed where there are none."""
    strength: float = 1.0
    """Weight of the term that keeps the predicted number of positives at the expected one."""
    form: Literal["released", "printed"] = "released"
    """printed: known labels weigh C times as much, C the number of classes, as in the equations of the paper; released:
    as in its code."""


class ExpectedPositive(Method[ExpectedPositiveSettings]):
    """BCE of the known labels, and a penalty where a batch has more or fewer positives per image than expected."""

    Settings = ExpectedPositiveSettings
    description = "BCE of known labels; unknown ones must only add up to the expected number of positives (EPR)"
    suits = "positives known, few negatives or none; positives per image known or estimable"

    def __init__(
        self,
        settings: ExpectedPositiveSettings,
        labels: Labels,
        features: int = 0,
        validation: Labels | None = None,
    ) -> None:
        super().__init__(settings, labels, features, validation)
        self.expected = expected_positives(labels, validation, settings.expected_positives)
        self.notes = (self.expected.describe(),)

    @classmethod
    def check(cls, settings: ExpectedPositiveSettings, labels: Labels) -> None:
        """Needs positives, and an expected number of them within range."""
        check_positives("expected-positive", settings.expected_positives, labels)
        if not 0 <= settings.strength < float("inf"):
            raise TrilabelError(f"expected-positive: strength is a number from 0, not {settings.strength}")

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        logits, k = model(batch.images).logits, self.expected.value
        weight = known_weight(self.settings.form, logits.shape[1])
        loss = losses.expected_positive(logits, batch.labels, k, self.settings.strength, weight)
        loss = loss + weight * negative_bce(logits, batch.labels)
        return {"loss": loss, "logits": logits.detach()}


def known_weight(form: Literal["released", "printed"], classes: int) -> int:
    """How much more than in the released code a known label weighs."""
    return classes if form == "printed" else 1


def negative_bce(logits: Tensor, labels: Tensor) -> Tensor:
    """Σ over known negatives of BCE ÷ (B·C). The paper has no known negatives; where there are some, they count."""
    return losses.bce(logits, labels.clamp(max=0))


def check_positives(method: str, expected: float | None, labels: Labels) -> None:
    """Refuses labels without positives, and an expected number of positives that is out of range."""
    require_positives(method, labels)
    classes = labels.shape[1]
    if expected is not None and not 0 < expected <= classes:
        raise TrilabelError(
            f"{method}: expected_positives is the mean number of positives per image, above 0 and at most {classes} "
            f"(the classes), not {expected}"
        )
