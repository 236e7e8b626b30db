"""`check_method` passes a method of a user, and names what is wrong with each that breaks the contract."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from trilabel import losses
from trilabel.labels import Labels
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import require_positives
from trilabel.models import HEADS
from trilabel.testing import METHOD_CHECKS, check_method


@dataclass(frozen=True)
class Settings:
    """How."""

    kind: Literal["mean", "twice"] = "mean"
    """Which."""
    rate: float = 0.5
    """How much."""


class Good(Method[Settings]):
    """Remembers a probability of each label of each image."""

    Settings = Settings
    description = "a loss, and a memory by image"
    suits = "positives known"

    def __init__(self, settings: Settings, labels: Labels, features: int = 0, validation: Labels | None = None) -> None:
        super().__init__(settings, labels, features, validation)
        self.memory: Tensor
        self.register_buffer("memory", torch.zeros(labels.shape))

    @classmethod
    def check(cls, settings: Settings, labels: Labels) -> None:
        """Needs positives."""
        require_positives("good", labels)

    @classmethod
    def memory_needed(cls, settings: Settings, labels: Labels, features: int = 0) -> int:
        """Four bytes a label."""
        return 4 * labels.shape[0] * labels.shape[1]

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass; known labels alone count."""
        logits = model(batch.images).logits
        self.memory[batch.rows] = logits.detach().float().sigmoid()
        loss = losses.known_mean_bce(logits, batch.labels) * (2.0 if self.settings.kind == "twice" else 1.0)
        return {"loss": loss, "logits": logits.detach(), "targets": batch.labels}

    def sync(self, all_reduce: Any) -> None:
        """Within an epoch an image belongs to one process: of two values one is still 0, or both are equal."""
        self.memory.copy_(all_reduce(self.memory, "max"))


def test_a_good_one_passes() -> None:
    check_method(Good)


def test_the_head_and_settings_that_it_needs_can_be_given() -> None:
    made, completed = [], []

    def head(features: int, classes: int, labels: Labels) -> Any:
        made.append((features, classes))
        return HEADS["gap"](features, classes)

    def complete(settings: dict[str, Any], labels: Labels) -> dict[str, Any]:
        completed.append(settings)
        return {**settings, "rate": 0.1}

    check_method(Good, complete, head)
    assert made and {"kind": "twice"} in completed


class Anonymous(Good):
    """Says nothing of itself."""

    description = ""


class Greedy(Good):
    """Takes labels that teach nothing."""

    @classmethod
    def check(cls, settings: Settings, labels: Labels) -> None:
        """Nothing."""


class Choosy(Good):
    """Refuses what it should learn from."""

    @classmethod
    def check(cls, settings: Settings, labels: Labels) -> None:
        """Wants several classes."""
        require_positives("choosy", labels[:, :0] if labels.shape[1] == 1 else labels)


class Waiting(Good):
    """Reads a value off the device."""

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """Asks whether the loss is small."""
        parts = super().step(model, batch)
        return {**parts, "loss": parts["loss"] * (2.0 if parts["loss"] < 0.1 else 1.0)}


class Unstable(Good):
    """Divides by the number of positives."""

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """NaN where there are none."""
        parts = super().step(model, batch)
        return {**parts, "loss": parts["loss"] * (batch.labels > 0).sum() / (batch.labels > 0).sum()}


class Meddling(Good):
    """Changes the labels of its batch."""

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """Fills unknown labels in."""
        parts = super().step(model, batch)
        batch.labels[batch.labels == 0] = -1
        return parts


class Doubting(Good):
    """Scores known positives as unknown."""

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """Other targets."""
        return {**super().step(model, batch), "targets": batch.labels.clamp(max=0)}


class Forgetful(Good):
    """Counts in an attribute, which no checkpoint saves."""

    steps = 0

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """The loss grows."""
        self.steps += 1
        parts = super().step(model, batch)
        return {**parts, "loss": parts["loss"] * self.steps}


class Lonely(Good):
    """Does not tell other processes what it remembers."""

    def sync(self, all_reduce: Any) -> None:
        """Nothing."""


class Modest(Good):
    """Says that it needs no memory."""

    @classmethod
    def memory_needed(cls, settings: Settings, labels: Labels, features: int = 0) -> int:
        """Too few bytes."""
        return 0


class Attached(Good):
    """Gives logits with their graph."""

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """Not detached."""
        return {**super().step(model, batch), "logits": model(batch.images).logits}


@dataclass(frozen=True)
class Mistyped:
    """None is no number."""

    rate: float = None  # type: ignore[assignment]


class Careless(Good):
    """Does not say of which type its setting is."""

    Settings = Mistyped  # type: ignore[assignment]

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """Without settings."""
        logits = model(batch.images).logits
        return {"loss": losses.known_mean_bce(logits, batch.labels), "logits": logits.detach()}


@pytest.mark.parametrize(
    ("kind", "check", "complaint"),
    [
        (Anonymous, "describes_itself", "description must say something"),
        (Greedy, "refuses_labels_without_positives", "check must refuse labels without positives"),
        (Choosy, "steps_on_any_labels", "it must learn from such labels, not say 'choosy: no label"),
        (Waiting, "waits_for_no_device", "it reads a value, and so would wait for the device"),
        (Unstable, "survives_unknown_batches", "the loss of a batch of unknown labels is nan"),
        (Meddling, "leaves_its_input_alone", "a step changed its batch"),
        (Doubting, "leaves_its_input_alone", "a known label was scored as something else"),
        (Forgetful, "continues_from_what_was_saved", "after loading its state, it goes on differently"),
        (Lonely, "is_the_same_in_all_processes", "memory differs"),
        (Modest, "says_how_much_it_remembers", "memory_needed says 0 bytes, and its tables by image take 51844"),
        (Attached, "steps_on_any_labels", '"logits" must be detached'),
        (Careless, "reads_its_settings_from_text", "'rate' of method 'it' must be a finite number, not 'none'"),
    ],
)
def test_what_is_wrong_is_named(kind: type[Method[Any]], check: str, complaint: str) -> None:
    with pytest.raises(Exception, match=complaint) as caught:
        check_method(kind)
    assert f"in the case {check}" in caught.value.__notes__


def test_each_check_is_tried() -> None:
    """So that a check that finds nothing is noticed."""
    (cases,) = [mark.args[1] for mark in test_what_is_wrong_is_named.pytestmark]  # type: ignore[attr-defined]
    assert {check for _, check, _ in cases} == {check.__name__ for check in METHOD_CHECKS}
