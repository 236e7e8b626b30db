"""Everything that changes while a run trains, and how it is saved and loaded."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trilabel.errors import TrilabelError, one_line
from trilabel.methods import Method
from trilabel.models import Classifier
from trilabel.settings import filled
from trilabel.training import checkpoint
from trilabel.training.diagnosis import Diagnosis
from trilabel.training.distributed import Processes
from trilabel.training.gradients import restore_gradients
from trilabel.training.optim import ModelEma
from trilabel.training.record import EpochRecord, Relabelled
from trilabel.training.relabelling import Relabelling
from trilabel.training.totals import EpochTotals


@dataclass
class Progress:
    """The position of a run."""

    stage: int = 0
    epoch: int = 1  # the current epoch
    step: int = 0  # finished batches of it
    lr: float = 0.0  # base learning rate of the last step
    processes: int = 1  # that make these steps
    earlier: list[tuple[int, int]] = field(default_factory=list)  # (processes, steps) this epoch began with, if others
    seconds: float = 0.0  # spent on it so far
    relabelled: Relabelled | None = None  # before its first step
    best: EpochRecord | None = None  # of this stage
    records: int = 0  # lines of metrics.jsonl: epochs that are over, of all stages

    def next_epoch(self) -> None:
        """Moves on to the next epoch."""
        self.epoch, self.step, self.earlier, self.seconds, self.relabelled = self.epoch + 1, 0, [], 0.0, None
        self.records += 1

    def next_stage(self) -> "Progress":
        """Where the next stage begins."""
        return Progress(self.stage + 1, processes=self.processes, records=self.records)

    def continue_with(self, processes: int) -> None:
        """Has this many processes make the remaining steps."""
        if processes != self.processes and self.step:
            self.earlier.append((self.processes, self.step - sum(steps for _, steps in self.earlier)))
        self.processes = processes

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `from_json` reads back."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["best"] = self.best and self.best.to_json()
        values["relabelled"] = self.relabelled and vars(self.relabelled)
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Progress":
        """The progress that `to_json` wrote; anything else is refused."""
        if missing := [f.name for f in fields(cls) if f.name not in values]:
            raise TrilabelError(f"the position of the run has no {missing[0]}")
        nested: dict[str, Any] = {}
        if values.get("best") is not None:
            nested["best"] = EpochRecord.from_json(values["best"])
        if values.get("relabelled") is not None:
            nested["relabelled"] = filled(Relabelled, values["relabelled"], "relabelled")
        read = filled(cls, {**values, **nested}, "the position of the run")
        read.earlier = [(processes, steps) for processes, steps in read.earlier]  # JSON has lists only
        return read


class State:
    """Model, method, weak labels, diagnosis, optimizer, EMA, the epoch's totals, and the position of the run."""

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
        self.progress = Progress()
        self.totals = EpochTotals(device)
        self.optimizer: torch.optim.Optimizer
        self.ema: ModelEma | None = None
        self._writer = checkpoint.Writer() if device.type == "cuda" else None  # elsewhere a copy takes as long
        # Read from disk before there was an optimizer to load it into; it may be empty, as for plain SGD.
        self._unclaimed: dict[str, Tensor] | None = None
        self._unclaimed_from = Path()
        self._rank, self._count = 0, 1  # of the process that loaded it

    def attach(self, optimizer: torch.optim.Optimizer, ema: ModelEma | None) -> None:
        """Attaches the optimizer and EMA of a stage and loads what was saved of them, and gradients that wait."""
        self.optimizer, self.ema = optimizer, ema
        if self._unclaimed is None:
            return
        with _damage_named(self._unclaimed_from):
            checkpoint.restore_optimizer(optimizer, checkpoint.part("optimizer", self._unclaimed))
            restore_gradients(optimizer, checkpoint.part("gradients", self._unclaimed), self._rank, self._count)
            if ema is not None:
                ema.load(checkpoint.part("ema", self._unclaimed))
            # Only now: when a module is set up for several processes, all get the buffers of the first.
            self._load_own(checkpoint.part("each", self._unclaimed))
        self._unclaimed = None

    def start_epoch(self) -> None:
        """Resets all counts; not called in the middle of an epoch."""
        self.totals.start_epoch()
        self.diagnosis.start_epoch(self.progress.epoch)

    def end_epoch(self) -> None:
        """Moves on to the next epoch."""
        self.progress.next_epoch()
        self.totals.start_epoch()

    def save(self, file: Path, processes: Processes, gradients: Mapping[str, Tensor] | None = None) -> None:
        """Writes everything needed to resume here, of all processes; the first one writes.

        What each process remembers for itself is kept apart for each, so that the run goes on as if it had not been
        saved, and resumes likewise; also combined, for another number of processes.
        gradients: those that wait for the rest of an accumulation.
        """
        own = {name: processes.gather(value) for name, value in self._own().items()}
        totals = self.totals.of_each(processes)
        if processes.count > 1:
            self.method.sync(processes.all_reduce)
            self.diagnosis.sync(processes.all_reduce)
            for count in self._counts().values():
                count.copy_(processes.all_reduce(count, "sum"))
        if processes.is_first:
            tensors = checkpoint.prefixed("optimizer", checkpoint.optimizer_tensors(self.optimizer))
            tensors |= checkpoint.prefixed("gradients", gradients or {})
            tensors |= checkpoint.prefixed("totals", totals)
            tensors |= checkpoint.prefixed("diagnosis", self.diagnosis.state_dict())
            if processes.count > 1:
                tensors |= checkpoint.prefixed("each", own)
            if self.ema is not None:
                tensors |= checkpoint.prefixed("ema", self.ema.state)
            self._write(file, tensors | self._weights(), self.progress.to_json())
        if processes.count > 1:
            for name, value in self._own().items():
                value.copy_(own[name][processes.rank])

    def _counts(self) -> dict[str, Tensor]:
        """What each process adds up for itself."""
        return checkpoint.prefixed("diagnosis", self.diagnosis.counts()) | checkpoint.prefixed(
            "method", self.method.counts()
        )

    def _own(self) -> dict[str, Tensor]:
        """Everything that each process remembers for itself."""
        return self._counts() | checkpoint.prefixed("method", self.method.own_memory())

    def _load_own(self, saved: Mapping[str, Tensor]) -> None:
        """Loads what this process remembered; of another number of processes the first one gets all counts."""
        as_many = bool(saved) and all(len(value) == self._count for value in saved.values())
        for name, value in self._own().items():
            if as_many and name in saved:
                value.copy_(saved[name][self._rank])
            elif self._rank and name in self._counts():
                value.zero_()

    def save_weights(self, file: Path, record: EpochRecord | None) -> None:
        """Writes model, method and weak labels only, with the record of the epoch that they are of."""
        self._write(file, self._weights(), {} if record is None else record.to_json())

    def _write(self, file: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        (checkpoint.save if self._writer is None else self._writer.save)(file, tensors, state)

    def wait_for_files(self) -> None:
        """Waits until everything that was saved is on disk."""
        if self._writer is not None:
            self._writer.wait()

    def load(self, file: Path, rank: int = 0, count: int = 1) -> None:
        """Loads what `save` wrote, in process `rank` of `count`; what is left follows when an optimizer is attached."""
        tensors, progress = self._read_weights(file)
        with _damage_named(file):
            self.progress = Progress.from_json(progress)
            self.totals.load(checkpoint.part("totals", tensors), rank, count)
            followed = checkpoint.part("diagnosis", tensors)
            as_before = followed["first"].shape == self.diagnosis.first.shape
            if as_before:
                # What the version that saved it did not count yet, or counted otherwise, starts at zero.
                known = self.diagnosis.state_dict()
                self.diagnosis.load_state_dict(known | {name: followed[name] for name in known if name in followed})
        if not as_before:
            raise TrilabelError(
                f"{file}: the run was started with the truth of hidden labels and resumes without it, or the other way "
                "round; give the data set as it was"
            )
        later = ("optimizer.", "ema.", "gradients.", "each.")
        self._unclaimed = {name: value for name, value in tensors.items() if name.startswith(later)}
        self._unclaimed_from, self._rank, self._count = file, rank, count

    def load_model(self, file: Path) -> None:
        """Loads only the model, as it was when `file` was written."""
        tensors, _ = checkpoint.load(file, "model.")
        with _damage_named(file):
            self.model.load_state_dict(checkpoint.part("model", tensors))

    def load_weights(self, file: Path) -> None:
        """Loads model, method and weak labels, as they were when `file` was written."""
        self._read_weights(file)

    def _read_weights(self, file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, state = checkpoint.load(file)
        with _damage_named(file):
            for name, part in self._parts().items():
                part.load_state_dict(checkpoint.part(name, tensors))
        return tensors, state

    def _weights(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for name, part in self._parts().items():
            found |= checkpoint.prefixed(name, part.state_dict())
        return found

    def _parts(self) -> dict[str, nn.Module]:
        parts: dict[str, nn.Module] = {"model": self.model, "method": self.method}
        return parts if self.relabelling is None else {**parts, "relabelling": self.relabelling}


@contextmanager
def _damage_named(file: Path) -> Iterator[None]:
    """Turns what goes wrong when the parts of a checkpoint are loaded into one line that names its file."""
    try:
        yield
    except TrilabelError as error:
        raise TrilabelError(
            f"{file}: {error}; it is damaged or of another version of trilabel: restore it or start a new run"
        ) from error
    except (RuntimeError, KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise TrilabelError(
            f"{file}: not of this run, or of another version of trilabel ({one_line(error)}); restore it or start a "
            "new run"
        ) from error
