"""The contract between a method and the training loop."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from trilabel.data.side_tables.label_graph import LabelGraph
from trilabel.labels import Labels
from trilabel.settings import NoSettings


class Batch(NamedTuple):
    """What a step sees of B training images. Everything lies on the device."""

    images: Tensor  # B×3×S×S, the weak view (or B×D features in the linear stage)
    strong: Tensor | None  # B×3×S×S, the strong view, for methods with views = 2
    labels: Tensor  # B×C int8: +1 present, −1 absent, 0 unknown; relabelling has filled in some
    rows: Tensor  # B: row of each image in the labels that the method was made with; none twice
    epoch: int  # counts from 1 in each stage
    lr: float = 1e-3  # the model's learning rate at this step
    warm_up: bool = False  # whether this is the method's warm-up


# (tensor, "sum" or "max") -> the same over all processes
AllReduce = Callable[[Tensor, Literal["sum", "max"]], Tensor]


class Method(nn.Module):
    """How to learn from labels with holes.

    It sees neither arguments nor paths, loggers or devices. What it must remember (label estimates, weak labels) is a
    parameter or buffer: saving and resuming then come for free. Statistics over a batch are per process unless the
    method says otherwise.
    """

    Settings: ClassVar[type[Any]] = NoSettings
    summary: ClassVar[str]  # one line for `trilabel methods`
    suits: ClassVar[str]  # the label situations it is for
    cost: ClassVar[str] = "as plain BCE"
    views: int = 1  # 2: also a strongly augmented view
    heads: ClassVar[tuple[str, ...]] = ()  # the heads that it works with; none named: all

    def __init__(self, settings: Any, labels: Labels, features: int = 0, validation: Labels | None = None) -> None:
        """`labels` are those of the training images: sizes, counts and co-occurrence may be read off them.

        features: size of the model's `Output.features`; 0 where nobody knows.
        validation: labels of the images that choose the epoch, for what a small labelled sample can tell.
        """
        super().__init__()
        self.settings = settings
        self.notes: tuple[str, ...] = ()  # what a person should know before it starts
        self.warm_up_epochs = 0  # epochs to train first, only for `end_warm_up`; the model then starts anew

    @classmethod
    def check(cls, settings: Any, labels: Labels) -> None:
        """Raises a TrilabelError that explains and suggests, where the method cannot work with such labels."""

    def parameter_groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """The method's own parameters in groups, each with its learning rate as a multiple of the model's."""
        own = list(self.parameters())
        return [(own, 1.0)] if own else []

    def start_epoch(self, epoch: int) -> None:
        """Called before each epoch."""

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """{"loss": scalar to minimise, "logits": B×C of the batch without gradient, …}. Nothing waits for the device.

        "targets": B×C, as what each label was scored (+1, −1, 0 not at all), where that is not what the batch says or
        unknown as absent: the loop counts what became of unknown labels. Further scalars are averaged for the log.
        """
        raise NotImplementedError

    def end_warm_up(self, all_reduce: AllReduce) -> None:
        """Keeps what its steps with `batch.warm_up` were for; the model then starts anew."""

    def sync(self, all_reduce: AllReduce) -> None:
        """Makes what each process remembers of its images known to all, before it is saved and after each epoch.

        Within an epoch an image belongs to one process (but for the few that fill up the last batch).
        """

    def weak_labels(self) -> sp.csr_array | None:
        """Labels that the method gave to unknown ones for good, N×C of +1/−1; None where it is not of that kind."""
        return None

    def label_graph(self) -> LabelGraph | None:
        """What it learned of how labels go together; None where it is not of that kind."""
        return None


class PureLoss(Method):
    """A method that is nothing but a loss of logits and labels."""

    @classmethod
    def loss(cls, settings: Any, logits: Tensor, labels: Tensor) -> Tensor:
        """B×C logits, B×C labels -> scalar."""
        raise NotImplementedError

    @classmethod
    def check(cls, settings: Any, labels: Labels) -> None:
        """Lets the loss refuse settings out of range before anything is trained or overwritten."""
        cls.loss(settings, torch.zeros(1, labels.shape[1]), torch.zeros(1, labels.shape[1], dtype=torch.int8))

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        logits = model(batch.images).logits
        return {"loss": self.loss(self.settings, logits, batch.labels), "logits": logits.detach()}
