"""The linear stage as a fit: normalized features, large batches, and weights that move as far as known labels bear.

How far that is, and the rate that follows from it, is in `reach`.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.config import Config
from trilabel.data.images import ImageSource
from trilabel.labels import Labels
from trilabel.log import log
from trilabel.models.heads.gap import GapHead
from trilabel.training.reach import choose_reach, class_logits, fit_schedule
from trilabel.training.setup import Job
from trilabel.training.splits import judged_labels, validation_truth
from trilabel.training.stages import Stage

_BATCH = 256  # at least, where there are as many images


def fits_head(job: Job, stage: Stage) -> bool:
    """Whether the stage chooses rate, batches and schedule by itself: no rate is given, and the head normalizes."""
    head = job.model.head
    return stage.linear and job.config.linear_lr is None and isinstance(head, GapHead) and head.settings.normalize


def plan_fit(job: Job, stage: Stage, images: ImageSource) -> "HeadFit":
    """How the stage fits its head; at the start of the stage, the head's weights are set to where the fit begins."""
    config, head, now = job.config, job.model.head, job.state.progress
    assert isinstance(head, GapHead) and isinstance(images.store, Tensor)
    labels = validation_truth(judged_labels(config, job.labels))
    if (now.epoch, now.step) == (1, 0) and not (config.keep_head and config.weights):
        start_fit(head, images.store, labels, own_bias=not stage.warm_up and job.method.initial_logits() is not None)
    job.reach = job.fabric.broadcast(choose_reach(head.normalized(images.store), labels))
    log.info(f"linear stage: features normalized, weights regularized by cross-validation (reach {job.reach:g})")
    return head_fit(config, stage, images.store, job.reach, job.processes.count)


class HeadFit(NamedTuple):
    """A linear stage that fits a head."""

    stage: Stage  # with its rate
    config: Config  # as it takes it
    passes: int  # over the images in an epoch
    by_rows: bool = True  # whether the weights of a class are one row of `RowAdam`


def head_fit(config: Config, stage: Stage, features: Tensor, reach: float, processes: int = 1) -> HeadFit:
    """Rate, batches and schedule with which weights move as far as `reach` says; features: N×D."""
    batch = max(config.batch_size, _BATCH)
    count, size = features.shape
    passes, lr = fit_schedule(reach, count, size, batch * processes, stage.epochs)
    taken = replace(config, batch_size=batch, accumulate=1, lr_schedule="cosine", weight_decay=0.0)
    return HeadFit(replace(stage, lr=lr), taken, passes)


@torch.no_grad()
def start_fit(head: GapHead, features: Tensor, labels: Labels | NDArray[np.int8], own_bias: bool) -> None:
    """Sets the head to where a fit begins: weights 0, bias by class shares, unless the method has set it (own_bias)."""
    head.fit_normalization(features)
    head.linear.weight.zero_()
    if not own_bias:
        head.start_at(class_logits(labels).to(features))
