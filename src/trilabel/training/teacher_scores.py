"""Scores of training images by the runs that teach the next round; several processes score a part each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor

from trilabel.config import Config
from trilabel.data.images import open_images
from trilabel.errors import TrilabelError
from trilabel.log import log
from trilabel.methods.posterior.calibration import same_counts
from trilabel.models.scoring import ProcessGroup, Scorer
from trilabel.training.distributed import Processes
from trilabel.training.splits import TrainingSplit
from trilabel.training.teachers import Teachers, open_teachers

_LABELS_AT_ONCE = 2**26  # scored before they become 2 bytes each
_IMAGES_AT_ONCE = 2**15  # those in memory are copied
_NOTHING = -20.0  # the logits of an image that could not be read: no label of it has a target


@dataclass(frozen=True)
class Part:
    """Training images, by row of the data set, and the runs that score them."""

    rows: NDArray[np.int64]
    runs: list[Path]


@dataclass(frozen=True)
class Scored:
    """Images by row of the data set, and their logits."""

    rows: NDArray[np.int64]
    logits: Tensor  # N×C float16


def teacher_scores(fabric: Fabric, split: TrainingSplit, config: Config, parts: Sequence[Part]) -> Iterator[Scored]:
    """All images, as many at a time as memory holds; every process gets all of them."""
    processes, classes = Processes(fabric), split.dataset.classes
    at_once = min(_IMAGES_AT_ONCE, max(1, _LABELS_AT_ONCE // len(classes)))
    for part in parts:
        teachers = fabric.to_device(open_teachers(part.runs, classes, config))
        for start in range(0, len(part.rows), at_once):
            yield _score(processes, split, config, teachers, part.rows[start : start + at_once])


def _score(
    processes: Processes, split: TrainingSplit, config: Config, teachers: Teachers, rows: NDArray[np.int64]
) -> Scored:
    fabric, dataset = processes.fabric, split.dataset
    images, errors = open_images(
        *dataset.images_of(rows), teachers.image_size, fabric.device, "none", config.workers, config.broken
    )
    opened = np.delete(np.arange(len(rows)), [position for position, _ in errors])
    group = ProcessGroup(processes.rank, processes.count, processes.gather)
    classes, batch_size = len(dataset.classes), (4 if fabric.device.type == "cuda" else 2) * config.batch_size
    columns = classes * (2 if teachers.views == "crops" else 1)
    scorer = Scorer(teachers, torch.Tensor.contiguous, columns, batch_size, fabric.autocast, True, group)
    scores = scorer.score(images, "scoring for the next round")
    if len(bad := scores.nan()):
        raise TrilabelError(
            f"a first round gives NaN for {len(bad):,} of {len(opened):,} images: its training diverged; start again "
            "with a lower --lr or with --clip-gradient"
        )
    for _, message in scores.errors:
        if config.broken == "stop":
            raise TrilabelError(f"{message}; replace it, or leave such images out with --broken skip")
        log.warning(f"no targets: {message}")
    scores.logits[torch.from_numpy(scores.failed)] = _NOTHING
    found = scores.logits[:, :classes]
    if teachers.views == "crops":
        # The highest of many crops is high for every image: they say which images, the whole ones how many.
        found = found + same_counts(found, scores.logits[:, classes:], dataset.labels[rows[opened]])
    logits = torch.full((len(rows), classes), _NOTHING, dtype=torch.float16)
    logits[torch.from_numpy(opened)] = found.half()
    return Scored(rows, logits)
