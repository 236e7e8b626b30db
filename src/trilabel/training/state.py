"""Everything of a run that changes while it trains, and its way to disk and back."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trilabel.errors import TrilabelError
from trilabel.methods import AllReduce, Method
from trilabel.models import Classifier
from trilabel.training import checkpoint
from trilabel.training.diagnosis import Diagnosis
from trilabel.training.optim import ModelEma
from trilabel.training.relabelling import Relabelling


@dataclass
class Progress:
    """How far a run is. Everything here is JSON."""

    stage: int = 0
    epoch: int = 1  # the epoch under way
    step: int = 0  # batches of it that are done
    lr: float = 0.0  # base learning rate of the last step
    counted: int = 0  # of these, batches that were learned from
    left_out: int = 0  # images of this epoch that could not be read
    seconds: float = 0.0  # spent on it so far
    started: dict[str, Any] = field(default_factory=dict)  # for its record, from before its first step
    best: dict[str, Any] | None = None  # record of the best epoch of this stage
    history: list[dict[str, Any]] = field(default_factory=list)


class State:
    """Model, method, weak labels, diagnosis, optimizer, running mean, the epoch's sums, and how far it all is."""

    def __init__(
        self,
        model: Classifier,
        method: Method[Any],
        relabelling: Relabelling | None,
        diagnosis: Diagnosis,
        device: torch.device,
    ) -> None:
        self.model = model
        self.method = method
        self.relabelling = relabelling
        self.diagnosis = diagnosis
        self.device = device
        self.progress = Progress()
        self.sums: dict[str, Tensor] = {}  # of what the steps of this epoch returned; on the device
        self.first_bad = torch.full((), -1, device=device)  # first step of this epoch whose loss was not finite
        self.optimizer: torch.optim.Optimizer
        self.mean: ModelEma | None = None
        self._writer = checkpoint.Writer() if device.type == "cuda" else None  # elsewhere a copy takes as long
        self._copied: tuple[Tensor, torch.cuda.Event] | None = None  # on its way from the device, for `look`
        self._waiting: dict[str, Tensor] = {}  # read from disk before there was an optimizer to give it to

    def attach(self, optimizer: torch.optim.Optimizer, mean: ModelEma | None) -> None:
        """Takes the optimizer and running mean of a stage, and gives them what was read from disk for them."""
        self.optimizer, self.mean = optimizer, mean
        if self._waiting:
            checkpoint.restore_optimizer(optimizer, checkpoint.part("optimizer", self._waiting))
            if mean is not None:
                mean.load(checkpoint.part("mean", self._waiting))
            self._waiting = {}

    def note(self, parts: dict[str, Tensor]) -> None:
        """Adds what a step returned to the epoch's sums; nothing waits for the device."""
        for name, part in parts.items():
            if part.ndim:  # not for the log
                continue
            value = part.detach().double()
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.progress.counted += 1
        bad = ~torch.isfinite(parts["loss"].detach()) & (self.first_bad < 0)
        self.first_bad = torch.where(bad, self.progress.step, self.first_bad)

    def look(self, wait: bool) -> tuple[float | None, int]:
        """(mean loss of this epoch so far, its first step whose loss was not finite or −1).

        Unless told to `wait` for the device, it says what was so when it was asked before, as far as that has arrived;
        None and −1 where it has not.
        """
        now = torch.stack((self.sums["loss"] / self.progress.counted, self.first_bad.double()))
        before = self._copied
        if wait or now.device.type == "cpu":
            loss, bad = now.tolist()
            return loss, int(bad)
        copy = torch.empty(2, dtype=now.dtype, pin_memory=True).copy_(now, non_blocking=True)
        self._copied = copy, torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._copied[1].record()
        if before is None or not before[1].query():  # type: ignore[no-untyped-call]
            return None, -1
        loss, bad = before[0].tolist()
        return loss, int(bad)

    def start_epoch(self) -> None:
        """Forgets the sums of the epoch before."""
        self.sums, self._copied = {}, None
        self.first_bad = torch.full((), -1, device=self.device)

    def end_epoch(self) -> None:
        """Moves on to the next epoch."""
        now = self.progress
        now.epoch, now.step, now.counted, now.left_out, now.seconds, now.started = now.epoch + 1, 0, 0, 0, 0.0, {}
        self.start_epoch()

    def totals(self, all_reduce: AllReduce) -> dict[str, Tensor]:
        """The epoch's sums so far over all processes, and of how many steps they are."""
        counted = torch.tensor(self.progress.counted, device=self.device)
        mine = {**self.sums, "counted": counted, **self.diagnosis.counts()}
        return {name: all_reduce(value, "sum") for name, value in mine.items()}

    def save(self, file: Path, totals: dict[str, Tensor]) -> None:
        """Writes everything needed to go on from here; `totals` as this epoch's share of the first process."""
        tensors = checkpoint.prefixed("optimizer", checkpoint.optimizer_tensors(self.optimizer))
        tensors |= checkpoint.prefixed("sums", {name: totals[name] for name in self.sums})
        followed = {**self.diagnosis.state_dict(), **{name: totals[name] for name in self.diagnosis.counts()}}
        tensors |= checkpoint.prefixed("diagnosis", followed)
        if self.mean is not None:
            tensors |= checkpoint.prefixed("mean", self.mean.state)
        progress = asdict(self.progress) | {"counted": int(totals["counted"])}
        self._write(file, tensors | self._weights(), progress)

    def save_weights(self, file: Path, record: dict[str, Any]) -> None:
        """Writes model, method and weak labels only, with the record of the epoch that they are of."""
        self._write(file, self._weights(), record)

    def _write(self, file: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        (checkpoint.save if self._writer is None else self._writer.save)(file, tensors, state)

    def wait_for_files(self) -> None:
        """Until everything that was saved is on disk."""
        if self._writer is not None:
            self._writer.wait()

    def load(self, file: Path, first: bool = True) -> None:
        """Goes back to what `save` wrote; optimizer and running mean follow when they are attached.

        The epoch's sums are of all processes together, so only the `first` one takes them up.
        """
        tensors, progress = self._read_weights(file)
        self.progress = Progress(**progress)
        self.sums = self._on_device(checkpoint.part("sums", tensors))
        followed = checkpoint.part("diagnosis", tensors)
        followed.setdefault("probabilities", torch.zeros_like(self.diagnosis.probabilities))  # not in older runs
        if followed["first"].shape != self.diagnosis.first.shape:
            raise TrilabelError(
                f"{file}: the run began with the truth of hidden labels at hand and goes on without, or the other way "
                "round; give the data set as it was"
            )
        self.diagnosis.load_state_dict(followed)
        if not first:
            self.progress.counted = 0
            for value in (*self.sums.values(), *self.diagnosis.counts().values()):
                value.zero_()
        self._waiting = tensors

    def load_model(self, file: Path) -> None:
        """The model alone as it was when `file` was written."""
        self.model.load_state_dict(checkpoint.part("model", checkpoint.load(file, "model.")[0]))

    def load_weights(self, file: Path) -> None:
        """Model, method and weak labels as they were when `file` was written."""
        self._read_weights(file)

    def _read_weights(self, file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, state = checkpoint.load(file)
        self.model.load_state_dict(checkpoint.part("model", tensors))
        self.method.load_state_dict(checkpoint.part("method", tensors))
        if self.relabelling is not None:
            self.relabelling.load_state_dict(checkpoint.part("relabelling", tensors))
        return tensors, state

    def _weights(self) -> dict[str, Tensor]:
        parts: dict[str, nn.Module | None] = {
            "model": self.model,
            "method": self.method,
            "relabelling": self.relabelling,
        }
        there = {name: part.state_dict() for name, part in parts.items() if part is not None}
        return {key: value for name, part in there.items() for key, value in checkpoint.prefixed(name, part).items()}

    def _on_device(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: value.to(self.device) for name, value in tensors.items()}
