"""Starting the processes of a run: this one, several on this machine, or those that torchrun has started."""

import os
import platform
import time
import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments import TorchElasticEnvironment
from lightning_fabric.strategies import DDPStrategy

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.models.device import choose_device
from trilabel.training.losing import explained
from trilabel.training.spawning import spawn

_SECONDS_UNTIL_SEEN = 10.0  # a network file system shows a new file a little later

Work = Callable[[Fabric], None]


@dataclass(frozen=True)
class Place:
    """Which of all processes this is, from the environment as torchrun sets it."""

    rank: int = 0
    count: int = 1
    on_machine: int = 1  # processes on each machine

    @classmethod
    def from_environment(cls) -> "Place":
        """Of this process; alone if nobody started several."""
        if "LOCAL_RANK" not in os.environ:
            return cls()
        return cls(*(int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")))

    @property
    def machines(self) -> int:
        """How many machines take part."""
        return self.count // self.on_machine


def started_by_torchrun() -> bool:
    """Whether torchrun started this process, and others beside it."""
    return dist.is_available() and dist.is_torchelastic_launched()


def is_first_process() -> bool:
    """Whether this is the process that prints; before a run has begun."""
    return not started_by_torchrun() or Place.from_environment().rank == 0


def with_devices(config: Config, resume: bool) -> Config:
    """The configuration with as many devices as there are: torchrun decides that, where it started this process."""
    if started_by_torchrun():
        place = Place.from_environment()
        if place.count % place.on_machine:
            raise TrilabelError(f"torchrun: {place.count} processes, but not equally many on each machine")
        if not resume and config.devices not in (1, place.on_machine):
            raise TrilabelError(
                f"--devices {config.devices}, but torchrun started {place.on_machine} processes on this machine: leave "
                f"--devices out, or pass --devices {place.on_machine}"
            )
        config = replace(config, devices=place.on_machine)
    on_gpu = choose_device(config.device).type == "cuda"
    if config.sync_batch_norm and not on_gpu and max(config.devices, Place.from_environment().count) > 1:
        raise TrilabelError("--sync-batch-norm needs GPUs: on CPUs torch has no batch norm over several processes")
    if on_gpu and config.devices > torch.cuda.device_count():
        raise TrilabelError(f"--devices {config.devices}, but this machine has {torch.cuda.device_count()} GPUs")
    return config


def launch(work: Work, config: Config, folder: Path) -> None:
    """Does the work in every process of the run; returns when all are done."""
    if started_by_torchrun():
        with explained(folder):
            run_here(work, config)
    elif config.devices == 1:
        run_here(work, config)
    else:
        spawn(run_here, work, config, folder)


def run_here(work: Work, config: Config) -> None:
    """Does the work of this process."""
    fabric = create_fabric(config)
    fabric.launch(work)
    if fabric.world_size > 1:
        # Otherwise the group's threads may still run at the end of the process, which aborts it.
        fabric.barrier()
        dist.destroy_process_group()


def create_fabric(config: Config) -> Fabric:
    """What this process computes with, and how it reaches the others."""
    place = Place.from_environment()
    precision: Any = "bf16-mixed" if config.precision == "bf16" else "32-true"
    strategy: Any = "auto"
    plugins: Any = []
    if place.count > 1:
        # Buffers stay per process: a method's own must not be overwritten; the model's are made equal before scoring.
        warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated")  # older torch has no other name
        strategy = DDPStrategy(broadcast_buffers=False, start_method="popen")
        plugins = [TorchElasticEnvironment()]
    return Fabric(
        accelerator=str(choose_device(config.device)),
        devices=place.on_machine,
        num_nodes=place.machines,
        strategy=strategy,
        precision=precision,
        plugins=plugins,
    )


def check_all_see(folder: Path, fabric: Fabric) -> None:
    """Raises an error on a machine that does not see the folder that the first process writes to."""
    if Place.from_environment().machines == 1:
        return
    sign = folder / f".{uuid.uuid4().hex}.tmp"
    if fabric.is_global_zero:
        folder.mkdir(parents=True, exist_ok=True)
        sign.touch()
    sign = folder / fabric.broadcast(sign.name)
    deadline = time.monotonic() + _SECONDS_UNTIL_SEEN
    while not sign.exists():
        if time.monotonic() > deadline:
            raise TrilabelError(
                f"{folder.absolute()}: {platform.node()} does not see this folder as the first machine has it; the run "
                "folder must be in a shared file system, under the same path everywhere"
            )
        time.sleep(0.1)
    fabric.barrier()
    if fabric.is_global_zero:
        sign.unlink()
