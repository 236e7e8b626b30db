"""Resuming a run: from its last checkpoint, with the labels and settings it was started with."""

import json

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.training import history
from trilabel.training.setup import Job

# Between start and resumption.
MAY_CHANGE = {"cache", "workers", "save_minutes", "device", "devices", "patience", "epochs"}
_MOST_LINES_WITHOUT_CHECKPOINT = 3  # of metrics.jsonl: what writes checkpoints on a GPU is at most two behind


def restore(job: Job) -> None:
    """Loads the last checkpoint; raises an error if labels or settings differ from those of the start."""
    path, before = job.folder.path, job.folder.read().config.to_json()
    now = json.loads(json.dumps(job.config.to_json()))  # as `before` was read: lists for tuples
    changed = {name for name in before if before[name] != now[name]} - MAY_CHANGE
    if changed:
        raise TrilabelError(
            f"{path}: this run was started with other settings ({', '.join(sorted(changed))}); start a new one"
        )
    if Labels.load(job.folder.labels) != job.labels:
        raise TrilabelError(f"{path}: the labels differ from those this run was started with; start a new one")
    if job.folder.last.exists():  # otherwise it was stopped before its first checkpoint and starts from the beginning
        job.state.load(job.folder.last, job.processes.rank, job.processes.count)
        _refuse_impossible_position(job)
        _refuse_missing_files(job)
    elif len(job.folder.read_history()) > _MOST_LINES_WITHOUT_CHECKPOINT:
        raise TrilabelError(f"{job.folder.last}: missing, though epochs are done; restore it or start a new run")
    history.check(job.folder.metrics, job.state.progress.records)
    if job.processes.is_first:
        job.folder.change_config(job.config)
        history.cut(job.folder.metrics, job.state.progress.records)


def _refuse_impossible_position(job: Job) -> None:
    now = job.state.progress
    if not (0 <= now.stage < len(job.stages) and now.epoch >= 1 and now.step >= 0 and now.records >= 0):
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
