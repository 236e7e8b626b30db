"""Everything of a run that changes while it trains, and its way to disk and back."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trilabel import checkpoint
from trilabel.diagnosis import Diagnosis
from trilabel.errors import TrilabelError
from trilabel.methods import Method
from trilabel.models import Classifier
from trilabel.optimise import RunningMean


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
    started: dict[str, float] = field(default_factory=dict)  # what the method logged when it started
    best: dict[str, Any] | None = None  # record of the best epoch of this stage
    history: list[dict[str, Any]] = field(default_factory=list)


class State:
    """Model, method, diagnosis, optimiser, running mean, the epoch's sums, and how far it all is."""

    def __init__(self, model: Classifier, method: Method, diagnosis: Diagnosis, device: torch.device) -> None:
        self.model = model
        self.method = method
        self.diagnosis = diagnosis
        self.device = device
        self.progress = Progress()
        self.sums: dict[str, Tensor] = {}  # of what the steps of this epoch returned; on the device
        self.first_bad = torch.full((), -1, device=device)  # first step of this epoch whose loss was not finite
        self.optimiser: torch.optim.Optimizer
        self.mean: RunningMean | None = None
        self._waiting: dict[str, Tensor] = {}  # read from disk before there was an optimiser to give it to

    def attach(self, optimiser: torch.optim.Optimizer, mean: RunningMean | None) -> None:
        """Takes the optimiser and running mean of a stage, and gives them what was read from disk for them."""
        self.optimiser, self.mean = optimiser, mean
        if self._waiting:
            checkpoint.restore_optimiser(optimiser, checkpoint.part("optimiser", self._waiting))
            if mean is not None:
                mean.state = self._on_device(checkpoint.part("mean", self._waiting))
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

    def start_epoch(self) -> None:
        """Forgets the sums of the epoch before."""
        self.sums = {}
        self.first_bad = torch.full((), -1, device=self.device)

    def end_epoch(self) -> None:
        """Moves on to the next epoch."""
        now = self.progress
        now.epoch, now.step, now.counted, now.left_out, now.seconds, now.started = now.epoch + 1, 0, 0, 0, 0.0, {}
        self.start_epoch()

    def save(self, file: Path) -> None:
        """Writes everything needed to go on from here."""
        tensors = checkpoint.prefixed("optimiser", checkpoint.optimiser_tensors(self.optimiser))
        tensors |= checkpoint.prefixed("sums", self.sums)
        tensors |= checkpoint.prefixed("diagnosis", self.diagnosis.state_dict())
        if self.mean is not None:
            tensors |= checkpoint.prefixed("mean", self.mean.state)
        checkpoint.save(file, tensors | self._weights(), asdict(self.progress))

    def save_weights(self, file: Path, record: dict[str, Any]) -> None:
        """Writes model and method only, with the record of the epoch that they are of."""
        checkpoint.save(file, self._weights(), record)

    def load(self, file: Path) -> None:
        """Goes back to what `save` wrote; optimiser and running mean follow when they are attached."""
        tensors, progress = self._read_weights(file)
        self.progress = Progress(**progress)
        self.sums = self._on_device(checkpoint.part("sums", tensors))
        try:
            self.diagnosis.load_state_dict(checkpoint.part("diagnosis", tensors))
        except RuntimeError as error:
            raise TrilabelError(
                f"{file}: the run began with the truth of hidden labels at hand and goes on without, or the other way "
                "round; give the data set as it was"
            ) from error
        self._waiting = tensors

    def load_weights(self, file: Path) -> None:
        """Model and method as they were when `file` was written."""
        self._read_weights(file)

    def _read_weights(self, file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, state = checkpoint.load(file)
        self.model.load_state_dict(checkpoint.part("model", tensors))
        self.method.load_state_dict(checkpoint.part("method", tensors))
        return tensors, state

    def _weights(self) -> dict[str, Tensor]:
        model, method = self.model.state_dict(), self.method.state_dict()
        return checkpoint.prefixed("model", model) | checkpoint.prefixed("method", method)

    def _on_device(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: value.to(self.device) for name, value in tensors.items()}
