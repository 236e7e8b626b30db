"""`trilabel.train`: from a data set and a recipe to a run folder, in one process or several."""

import gc
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from trilabel.config import Config
from trilabel.data import read
from trilabel.data.answers import Answer, with_answers
from trilabel.data.dataset import Dataset, no_data
from trilabel.data.images import check_files, lost_worker_explained, open_images
from trilabel.data.left_out import write_left_out
from trilabel.errors import TrilabelError
from trilabel.log import is_shown, log, quiet, shown
from trilabel.models import create_backbone
from trilabel.plugin_files import Files, use
from trilabel.plugin_files import trust as trust_files
from trilabel.plugins import InUse, in_use
from trilabel.plugins import restore as restore_plugins
from trilabel.recipes import resolve
from trilabel.training.choices import changed, with_choices, with_method
from trilabel.training.description import RunDescription
from trilabel.training.launch import check_all_see, is_first_process, launch, with_devices
from trilabel.training.loop import fit
from trilabel.training.resume import refuse_other_settings, restore
from trilabel.training.rounds import check_rounds, has_rounds, last_config, teach
from trilabel.training.run_folder import Run, RunFolder
from trilabel.training.run_lock import lock_run
from trilabel.training.setup import Job, prepare
from trilabel.training.splits import TrainingSplit, split_for_training

logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it logs tips at the start of every run


def train(
    dataset: str | Path | Dataset | TrainingSplit,
    recipe: str | Config = "photos",
    out: str | Path | None = None,
    *,
    images: str | Path | None = None,
    answers: Sequence[Answer] = (),
    resume: bool = False,
    overwrite: bool = False,
    source: Mapping[str, Any] | None = None,
    trust: Files = (),
    **changes: Any,
) -> Run:
    """Trains on a data set and writes a run folder.

    dataset: a file or folder that `data.read` reads (its images in the folder `images`), or a data set, split already
        (`split_for_training`) or not.
    recipe: a name (see `trilabel recipes`) or a Config.
    answers: of people, as `review.store.read_answers` reads them: what most of them said is known, also where the data
        says the contrary; without a majority a label stays as it is.
    out: the run folder; none: runs/NAME. An existing one is an error unless `resume` (continue where it stopped) or
        `overwrite`.
    source: how to read the data set again; kept in the run folder so that the command line can resume by folder alone.
    trust: Python files of your own that hold what a Config or a run to resume names (FILE.py:CLASS).
    changes: fields of the Config that differ from the recipe, such as epochs=2 or method="mine.py:Mine", which runs
        that file.
    """
    trust_files(trust)
    changes |= {name: use(changes[name]) for name in changes.keys() & {"method", "head"}}
    config = changed(resolve(recipe), changes)
    if isinstance(dataset, str | Path):
        source = source or {"data": str(Path(dataset).absolute())}
        source = source if images is None else {**source, "images": str(Path(images).absolute())}
        out, dataset = out or Path("runs") / Path(dataset).stem, read(dataset, images=images)
    elif not isinstance(dataset, Dataset | TrainingSplit):
        raise no_data(dataset)
    elif images is not None:
        raise TrilabelError("images: a data set knows its images; give them with the path of a table")
    split = dataset if isinstance(dataset, TrainingSplit) else split_for_training(dataset, config)
    for rows in (split.train, split.val):  # before weights are loaded, and how to train is measured
        check_files(split.dataset.images_of(rows)[1] or (), config.broken)
    if answers:
        config, split = _with_answers(config, split, answers)
    folder = RunFolder(Path(out or "runs/first"))
    if resume and folder.is_described():
        folder.read().require(["method", "head"], folder.path, unchanged=True)
    config = with_devices(with_choices(config, split, folder if resume else None), resume)
    work = ProcessWork(split, config, folder, resume, overwrite, source or {})
    prepare_torch()
    launch(work, config, folder.path)
    # One of several processes held the lock so far: nobody may have started another run here.
    with lock_run(folder.path) if is_first_process() else nullcontext():
        return folder.run()


def _with_answers(config: Config, split: TrainingSplit, answers: Sequence[Answer]) -> tuple[Config, TrainingSplit]:
    """What people confirmed as known labels; the method is chosen without them.

    Questions are asked where an answer helps, so that answers say nothing of how often other labels are known.
    """
    if config.method == "auto":
        config = with_method(config, split, to_be_answered=True)
    dataset, applied = with_answers(split.dataset, answers)
    log.info(f"answers: {applied.describe()}")
    return config, split._replace(dataset=dataset)


def prepare_torch() -> None:
    """Avoids searching for a GPU at each step on a machine without one.

    Adam checks each time, and Fabric has torch open the driver's library for the answer, so that the check does not
    break processes that are forked later; without a driver, that only takes time.
    """
    if not torch.cuda.is_available():
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "0"


@dataclass(frozen=True)
class ProcessWork:
    """What to train; calling it does the work of one process, possibly another than the one that created it."""

    split: TrainingSplit
    config: Config
    folder: RunFolder
    resume: bool
    overwrite: bool
    source: Mapping[str, Any]
    show: bool = field(default_factory=is_shown)
    plugins: InUse = field(default_factory=in_use)

    def __call__(self, fabric: Fabric) -> None:
        restore_plugins(self.plugins)
        silence = nullcontext() if fabric.is_global_zero else quiet(bars=True)
        with shown(self.show), silence, lost_worker_explained():
            self._train(fabric)

    def _train(self, fabric: Fabric) -> None:
        with self._folder_held(fabric):
            if has_rounds(self.config):
                self._train_in_rounds(fabric)
            else:
                self._train_round(fabric, self.config, self.resume)

    def _train_in_rounds(self, fabric: Fabric) -> None:
        check_rounds(self.split, self.config, self.folder)
        if not self.resume:
            self._describe_first(fabric)
        teach(fabric, self.split, self.config, self.folder, partial(self._train_first, fabric))
        log.info(f"last round ({self.folder.path})")
        self._train_round(fabric, last_config(self.config, self.folder), begun=True)

    def _train_first(self, fabric: Fabric, split: TrainingSplit, config: Config, folder: RunFolder) -> None:
        """Trains a first round in its own folder, or resumes it; this folder's lock keeps others from it, too."""
        begun = fabric.broadcast(folder.is_described())
        ProcessWork(split, config, folder, begun, True, self.source)._train_round(fabric, config, begun)
        gc.collect()  # its images make room for those of the next round
        if fabric.device.type == "cuda":
            torch.cuda.empty_cache()

    def _train_round(self, fabric: Fabric, config: Config, begun: bool) -> None:
        """config: of this round. begun: the folder has its description, and perhaps a checkpoint."""
        job = self._start(fabric, config, begun)
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

    def _describe_first(self, fabric: Fabric) -> None:
        """Makes the folder before the first round, so that the run can be resumed from then on."""
        config, dataset, path = self.config, self.split.dataset, self.folder.path
        size = config.image_size or create_backbone(config.backbone).image_size
        check_all_see(path.parent, fabric)
        images = dataset.images_of(self.split.train)  # what cannot be opened is refused before a run is replaced
        open_images(*images, size, fabric.device, "none", config.workers, config.broken, fabric.is_global_zero)
        if fabric.is_global_zero:
            self.folder.make_empty()
            self.folder.describe(RunDescription(config, list(dataset.classes), size, self.source), self.split.labels)
        fabric.barrier()

    def _start(self, fabric: Fabric, config: Config, begun: bool) -> Job:
        check_all_see(self.folder.path if begun else self.folder.path.parent, fabric)
        resumes = begun and self.folder.last.exists()
        if begun:
            refuse_other_settings(self.folder, self.config)
        job = prepare(fabric, self.split, config, self.folder, resumes)
        if begun:
            if has_rounds(self.config) and not resumes:  # it was described before its images were opened
                if fabric.is_global_zero:
                    job.labels.save(self.folder.labels)
                fabric.barrier()
            restore(job, self.config)
            if fabric.is_global_zero:
                self.folder.remove_leftovers()
        elif fabric.is_global_zero:
            classes, image_size = list(self.split.dataset.classes), job.model.backbone.image_size
            self.folder.make_empty()
            about = RunDescription(self.config, classes, image_size, self.source)
            self.folder.describe(about, job.labels, job.val_labels.ids)
        if job.left_out and fabric.is_global_zero:
            write_left_out(job.left_out, self.folder.left_out)
        fabric.barrier()
        return job
