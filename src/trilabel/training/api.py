"""`trilabel.train`: from a data set and a recipe to a run folder, in one process or several."""

import logging
import multiprocessing
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.strategies import DDPStrategy
from torch.multiprocessing.spawn import ProcessRaisedException

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.log import is_shown, log, quiet, shown
from trilabel.methods import choose_method
from trilabel.models.device import choose_device
from trilabel.recipes import resolve
from trilabel.training.description import RunDescription
from trilabel.training.loop import fit
from trilabel.training.resume import restore
from trilabel.training.run_folder import Run, RunFolder
from trilabel.training.run_lock import lock_run
from trilabel.training.setup import Job, prepare
from trilabel.training.signals import stop_children
from trilabel.training.splits import TrainingSplit, split_for_training

logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it logs tips at the start of every run


def train(
    dataset: Dataset | TrainingSplit,
    recipe: str | Config,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    source: Mapping[str, Any] | None = None,
) -> Run:
    """Trains on a data set and writes a run folder.

    dataset: split already (`split_for_training`) or not.
    recipe: a name (see `trilabel recipes`) or a Config.
    out: the run folder. An existing one is an error unless `resume` (continue where it stopped) or `overwrite`.
    source: how to read the data set again; kept in the run folder so that the command line can resume by folder alone.
    """
    config = resolve(recipe)
    split = dataset if isinstance(dataset, TrainingSplit) else split_for_training(dataset, config)
    config = _with_method(config, split.labels) if config.method == "auto" else config
    work = _ProcessWork(split, config, RunFolder(Path(out)), resume, overwrite, source or {})
    prepare_torch()
    fabric = _fabric(config)
    try:
        fabric.launch(work)
    except ProcessRaisedException as error:  # of one of several processes, as the text of its traceback
        kind, _, message = str(error).strip().splitlines()[-1].partition(": ")
        if kind.endswith(TrilabelError.__name__):
            raise TrilabelError(message) from None
        raise RuntimeError(f"{kind}: {message} (in one of {config.devices} processes)") from error
    except KeyboardInterrupt:
        stop_children()  # Ctrl-C reaches them anyway, a signal to this process does not
        raise
    # One of several processes held the lock so far: nobody may have started another run here.
    with lock_run(work.folder.path) if fabric.is_global_zero else nullcontext():
        return work.folder.run()


def prepare_torch() -> None:
    """Avoids searching for a GPU at each step on a machine without one.

    Adam checks each time, and Fabric has torch open the driver's library for the answer, so that the check does not
    break processes that are forked later; without a driver, that only takes time.
    """
    if not torch.cuda.is_available():
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "0"


def _with_method(config: Config, labels: Labels) -> Config:
    """The configuration with a method instead of "auto"."""
    method, settings = choose_method(labels)
    config = replace(config, method=method, settings=config.settings or settings)
    given = "".join(f" {name}={'none' if value is None else value}" for name, value in config.settings.items())
    log.info(f"method: {config.method}{given} (chosen by which labels are known; see `trilabel methods`)")
    return config


def _fabric(config: Config) -> Fabric:
    accelerator = str(choose_device(config.device))
    strategy: Any = "auto"
    if config.devices > 1:
        # Buffers stay per process: a method's own must not be overwritten; the model's are made equal before scoring.
        start = "popen" if "LOCAL_RANK" in os.environ else "spawn"
        strategy = DDPStrategy(broadcast_buffers=False, start_method=start)
    precision: Any = "bf16-mixed" if config.precision == "bf16" else "32-true"
    return Fabric(accelerator=accelerator, devices=config.devices, strategy=strategy, precision=precision)


@dataclass(frozen=True)
class _ProcessWork:
    """What to train; calling it does the work of one process, possibly another than the one that created it."""

    split: TrainingSplit
    config: Config
    folder: RunFolder
    resume: bool
    overwrite: bool
    source: Mapping[str, Any]
    show: bool = field(default_factory=is_shown)

    def __call__(self, fabric: Fabric) -> None:
        with shown(self.show), nullcontext() if fabric.is_global_zero else quiet(bars=True):
            self._train(fabric)
        if multiprocessing.parent_process() is not None and fabric.world_size > 1:
            # Otherwise the group's threads may still run at the end of the process, which aborts it.
            fabric.barrier()
            torch.distributed.destroy_process_group()

    def _train(self, fabric: Fabric) -> None:
        with self._folder_held(fabric):
            job = self._start(fabric)
            try:
                fit(job)
            except BaseException:
                with suppress(Exception):  # the first error is the one that counts
                    job.state.wait_for_files()
                raise
            job.state.wait_for_files()

    @contextmanager
    def _folder_held(self, fabric: Fabric) -> Iterator[None]:
        """Holds the lock of the run folder in the process that writes; if it is refused, all processes say why."""
        with ExitStack() as held:
            refusal = None
            if fabric.is_global_zero:
                try:
                    held.enter_context(lock_run(self.folder.path))
                    self.folder.check(self.resume, self.overwrite)
                except TrilabelError as error:
                    refusal = str(error)
            refusal = fabric.broadcast(refusal)
            if refusal is not None:
                raise TrilabelError(refusal)
            yield

    def _start(self, fabric: Fabric) -> Job:
        resumes = self.resume and self.folder.last.exists()
        job = prepare(fabric, self.split, self.config, self.folder, resumes)
        if self.resume:
            restore(job)
            if fabric.is_global_zero:
                self.folder.remove_leftovers()
        elif fabric.is_global_zero:
            classes, image_size = list(self.split.dataset.classes), job.model.backbone.image_size
            self.folder.make_empty()
            self.folder.describe(RunDescription(self.config, classes, image_size, self.source), job.labels)
        fabric.barrier()
        return job
