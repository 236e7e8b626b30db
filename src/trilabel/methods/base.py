"""The contract between a method and the training loop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from torch import Tensor, nn

from trilabel.labels import Labels


class Batch(NamedTuple):
    """What a step sees of B training images. Everything lies on the device."""

    images: Tensor  # B×3×S×S, the weak view (or B×D features in the linear stage)
    strong: Tensor | None  # B×3×S×S, the strong view, for methods with views = 2
    labels: Tensor  # B×C int8: +1 present, −1 absent, 0 unknown
    rows: Tensor  # B: row of each image in the labels that the method was made with
    epoch: int  # counts from 1


@dataclass(frozen=True)
class NoSettings:
    """For a method that has none."""


class Method(nn.Module):
    """How to learn from labels with holes.

    It sees neither arguments nor paths, loggers or devices. What it must remember (label estimates, weak labels) is a
    parameter or buffer: saving, resuming and several processes then come for free. Statistics over a batch are per
    process unless the method says otherwise.
    """

    Settings: ClassVar[type[Any]] = NoSettings
    summary: ClassVar[str]  # one line for `trilabel methods`
    suits: ClassVar[str]  # the label situations it is for
    cost: ClassVar[str] = "as plain BCE"
    views: ClassVar[int] = 1  # 2: also a strongly augmented view

    def __init__(self, settings: Any, labels: Labels) -> None:
        """`labels` are those of the training images: sizes, counts and co-occurrence may be read off them."""
        super().__init__()
        self.settings = settings

    @classmethod
    def check(cls, settings: Any, labels: Labels) -> None:
        """Raises a TrilabelError that explains and suggests, where the method cannot work with such labels."""

    def parameter_groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """The method's own parameters in groups, each with its learning rate as a multiple of the model's."""
        own = list(self.parameters())
        return [(own, 1.0)] if own else []

    def start_epoch(self, epoch: int, score_training_set: Callable[[], Tensor]) -> dict[str, float]:
        """Called before each epoch; `score_training_set()` gives N×C logits on the CPU. Returns numbers for the log."""
        return {}

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """{"loss": scalar to minimise, …parts for the log}. No synchronisation with the device."""
        raise NotImplementedError
