"""Several processes that score parts of the same images, each with its own copy of the model, on its own device."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from trilabel.config import Config
from trilabel.data.images import lost_worker_explained
from trilabel.errors import TrilabelError
from trilabel.log import is_shown, quiet, shown
from trilabel.training.spawning import spawn

if TYPE_CHECKING:
    from trilabel.inference.predictor import Model

Again = Callable[[int], "Model"]  # loads the model once more, on the device of the process with this rank
Work = Callable[["Model", int, int], None]  # the model, the rank of the process, how many there are


def check_devices(devices: int, device: torch.device, loadable: bool = True) -> None:
    """Refuses more processes than there are GPUs, and several of a model that no file has."""
    if devices > 1 and not loadable:
        raise TrilabelError("devices must be 1 for a model that was not loaded from a file or folder")
    if device.type == "cuda" and devices > torch.cuda.device_count():
        raise TrilabelError(f"--devices {devices}, but this machine has {torch.cuda.device_count()} GPUs")


def in_processes(work: Work, again: Again, devices: int, then: str) -> None:
    """Does the work in so many new processes; raises what went wrong first in any of them.

    then: what to do if one is lost, in words.
    """
    spawn(_run, _Task(work, again), Config(devices=devices), then)


@dataclass(frozen=True)
class _Task:
    work: Work
    again: Again
    show: bool = field(default_factory=is_shown)


def _run(task: _Task, config: Config) -> None:
    """The work of this process; only the first one shows progress."""
    rank = int(os.environ["RANK"])
    silence = nullcontext() if rank == 0 else quiet(bars=True)
    with shown(task.show), silence, lost_worker_explained():
        task.work(task.again(rank), rank, config.devices)
