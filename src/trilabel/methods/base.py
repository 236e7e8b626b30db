"""The contract between a method and the training loop."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from trilabel.data.side_tables.label_graph import LabelGraph
from trilabel.labels import Labels
from trilabel.labels.rates import Rates
from trilabel.settings import NoSettings

S = TypeVar("S")


class Batch(NamedTuple):
    """What a step gets of B training images. All tensors are on the device."""

    images: Tensor  # B×3×S×S, the weak view (or B×D features in the linear stage)
    strong: Tensor | None  # B×3×S×S, the strong view, for methods with views = 2
    labels: Tensor  # B×C int8: +1 present, −1 absent, 0 unknown; relabelling has filled in some
    rows: Tensor  # B: row of each image in the labels that the method was made with, without duplicates
    epoch: int  # counts from 1 in each stage
    lr: float = 1e-3  # the model's learning rate at this step
    warm_up: bool = False  # whether this is the method's warm-up
    share: float = 0.0  # of the epoch's steps that are done
    epochs: int = 1  # of the stage
    goes_on: bool = False  # whether the stage before has taught the model


# (tensor, "sum" or "max") -> the sum or maximum over all processes
AllReduce = Callable[[Tensor, Literal["sum", "max"]], Tensor]


class Method(nn.Module, Generic[S]):
    """How to learn from labels of which some are unknown; S is the type of its settings.

    A method sees neither arguments nor paths, loggers or devices. What it must remember (label estimates, weak labels)
    is a parameter or buffer: saving and resuming then need no code. Statistics over a batch are per process unless the
    method says otherwise.
    """

    # A frozen dataclass whose fields all have defaults; a Method[NoSettings] need not name it.
    Settings: type[S] = NoSettings  # type: ignore[assignment]
    description: ClassVar[str]  # one line for `trilabel methods`
    suits: ClassVar[str]  # the label situations it is for
    cost: ClassVar[str] = "as plain BCE"
    less_memory: ClassVar[str] = "use fewer images or classes"  # what to do where `memory_needed` is too much
    views: int = 1  # 2: also a strongly augmented view
    heads: ClassVar[tuple[str, ...]] = ()  # the heads that it works with; empty: all
    settings: S

    def __init__(self, settings: S, labels: Labels, features: int = 0, validation: Labels | None = None) -> None:
        """`labels` are those of the training images: sizes, counts and co-occurrence may be computed from them.

        features: size of the model's `Output.features`, or of the class features of a head that has them if the method
            names its `heads`; 0 where it is unknown.
        validation: labels of the validation images, for statistics of a small labeled sample.
        """
        super().__init__()
        self.settings = settings
        self.notes: tuple[str, ...] = ()  # what the user should know before training starts
        self.warm_up_epochs = 0  # epochs to train first, only for `end_warm_up`; the model is then reset

    @classmethod
    def check(cls, settings: S, labels: Labels) -> None:
        """Raises a TrilabelError with a suggestion if the method cannot work with such labels."""

    @classmethod
    def check_sample(cls, settings: S, labels: Labels, validation: Labels | None) -> None:
        """Likewise, where that also depends on the labels of the validation images."""

    @classmethod
    def needs_maps(cls, settings: S) -> bool:
        """Whether its steps ask the model for class maps."""
        return False

    @classmethod
    def memory_needed(cls, settings: S, labels: Labels, features: int = 0) -> int:
        """Bytes of what it remembers of images. It does not know where that is kept and what is free there."""
        return 0

    @classmethod
    def begins_after(cls, settings: S, begun: bool = False) -> tuple[str, int]:
        """(setting, epochs): a setting by which the method's own part begins only after so many epochs of a stage.

        A stage that is no longer silently becomes something else, of which the run warns. begun: whether that part
        began in a stage before. ("", 0): it begins at once.
        """
        return "", 0

    def parameter_groups(self, lr: float = 1e-3) -> list[tuple[list[nn.Parameter], float]]:
        """The method's own parameters in groups, each with its learning rate as a multiple of the model's.

        lr: that of the model, before its schedule changes it.
        """
        own = list(self.parameters())
        return [(own, 1.0)] if own else []

    def initial_logits(self) -> Tensor | None:
        """C logits that a new head should start at, whatever the image; None where it does not matter.

        Called before the first step of the first stage that is no warm-up.
        """
        return None

    def start_epoch(self, epoch: int) -> None:
        """Called before each epoch."""

    def surveys(self, epoch: int) -> bool:
        """Whether the method needs a pass over all training images before this epoch."""
        return False

    def survey(self, model: nn.Module, batches: Iterable[Batch], all_reduce: AllReduce) -> None:
        """Sees every training image once, as it is scored: without gradients and augmentation.

        Each process sees its part of the images.
        """

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """{"loss": scalar to minimize, "logits": B×C of the batch without gradient, …}. Must not wait for the device.

        "targets": B×C, the value that each label was scored as (+1, −1, 0 not at all), only where that is neither the
        batch's labels nor these with unknown as absent: the loop counts how unknown labels were treated. A target in
        between counts as the nearer one; "soft_targets", B×C between 0 and 1, then says what it is. Further scalars are
        averaged for the log.
        """
        raise NotImplementedError

    def end_warm_up(self, all_reduce: AllReduce) -> str:
        """Keeps what the steps with `batch.warm_up` found, and returns it in words; the model is then reset."""
        return ""

    def sync(self, all_reduce: AllReduce) -> None:
        """Gives all processes what each remembers of its images, before saving and after each epoch.

        Within an epoch an image belongs to one process. Twice in a row must do no more than once.
        """

    def counts(self) -> dict[str, Tensor]:
        """Buffers in which each process adds something up, by name: together they are the sum over all processes.

        `sync` leaves them alone; a checkpoint holds them for each process.
        """
        return {}

    def own_memory(self) -> dict[str, Tensor]:
        """Buffers that differ between processes until `sync` makes them equal, and that the next steps depend on.

        A checkpoint within an epoch holds them for each process: otherwise a run would change by being saved. Memory
        by image need not be here: no other process needs it before the next epoch.
        """
        return {}

    def weak_labels(self) -> sp.csr_array | None:
        """Labels that the method permanently assigned to unknown ones, N×C of +1/−1; None if it assigns none."""
        return None

    def known_rates(self) -> Rates | None:
        """How often present and absent labels are known, if it knows: what is fitted to known labels weighs them by it.

        None: those that are known are taken for a fair sample.
        """
        return None

    def label_graph(self) -> LabelGraph | None:
        """The relations between labels that it learned; None if it learns none."""
        return None


class PureLoss(Method[S]):
    """A method that consists only of a loss of logits and labels."""

    @classmethod
    def loss(cls, settings: S, logits: Tensor, labels: Tensor) -> Tensor:
        """B×C logits, B×C labels -> scalar."""
        raise NotImplementedError

    @classmethod
    def check(cls, settings: S, labels: Labels) -> None:
        """Lets the loss reject settings out of range before anything is trained or overwritten."""
        cls.loss(settings, torch.zeros(1, labels.shape[1]), torch.zeros(1, labels.shape[1], dtype=torch.int8))

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        logits = model(batch.images).logits
        return {"loss": self.loss(self.settings, logits, batch.labels), "logits": logits.detach()}
