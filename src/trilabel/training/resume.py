"""Resuming a run: from its last checkpoint, with the labels and settings it was started with."""

import json
from dataclasses import fields

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.training import checkpoint, history
from trilabel.training.run_folder import RunFolder
from trilabel.training.setup import Job

# Between start and resumption.
MAY_CHANGE = {"cache", "workers", "save_minutes", "device", "devices", "patience", "epochs", "log"}
_MOST_LINES_WITHOUT_CHECKPOINT = 3  # of metrics.jsonl: what writes checkpoints on a GPU is at most two behind


def refuse_other_settings(folder: RunFolder, config: Config) -> None:
    """Raises an error if a run was started with other settings."""
    about = folder.read()
    about.require(["method", "head"], folder.path, unchanged=True)
    before, now = about.config, Config.from_json(json.loads(json.dumps(config.to_json())))  # lists for tuples
    changed = {f.name for f in fields(Config) if getattr(before, f.name) != getattr(now, f.name)} - MAY_CHANGE
    if changed:
        raise TrilabelError(
            f"{folder.path}: this run was started with other settings ({', '.join(sorted(changed))}); start a new one"
        )


def restore(job: Job, config: Config) -> None:
    """Loads the last checkpoint; raises an error if labels differ from those of the start.

    config: the run's, as its folder has it; that of the job differs from it in the last of several rounds.
    """
    path = job.folder.path
    if Labels.load(job.folder.labels) != job.labels:
        raise TrilabelError(f"{path}: the labels differ from those this run was started with; start a new one")
    if job.folder.last.exists():  # otherwise it was stopped before its first checkpoint and starts from the beginning
        job.state.load(job.folder.last, job.processes.rank, job.processes.count)
        _refuse_impossible_position(job)
        _refuse_missing_files(job)
        _forget_replaced_best(job)
    elif len(job.folder.read_history()) > _MOST_LINES_WITHOUT_CHECKPOINT:
        raise TrilabelError(f"{job.folder.last}: missing, though epochs are done; restore it or start a new run")
    history.check(job.folder.metrics, job.state.progress.records)
    if job.processes.is_first:
        job.folder.mark_begun()
        job.folder.change_config(config)
        history.cut(job.folder.metrics, job.state.progress.records)


def _refuse_impossible_position(job: Job) -> None:
    now = job.state.progress
    possible = 0 <= now.stage < len(job.stages) and now.epoch >= 1 and now.step >= 0 and now.records >= 0
    began = now.processes >= 1 and all(processes >= 1 and steps >= 1 for processes, steps in now.earlier)
    if not (possible and began and sum(steps for _, steps in now.earlier) <= now.step):
        raise TrilabelError(f"{job.folder.last}: the position of the run is not one of this run; restore the file")


def _refuse_missing_files(job: Job) -> None:
    """Raises an error before hours of training rather than after them."""
    now = job.state.progress
    needed = [job.folder.start] if job.stages[now.stage].warm_up else []
    if now.best is not None:
        needed.append(job.best_file(now.stage))
    for file in needed:
        if not file.is_file():
            raise TrilabelError(f"{file}: missing, and the run needs it to resume; restore it or start a new run")


def _forget_replaced_best(job: Job) -> None:
    """If the run was killed after it wrote a better model and before the checkpoint, the one before is gone.

    The epoch of the better one is repeated, and other devices may give another score. Whatever it is, its model is
    kept: no file would have the one that the checkpoint remembers.
    """
    now = job.state.progress
    if now.best is not None:
        written = checkpoint.load_state(job.best_file(now.stage))
        if json.dumps(written) != json.dumps(now.best.to_json()):  # as text: NaN is not equal to itself
            now.best = None
