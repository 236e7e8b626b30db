"""The linear stage as a fit: normalized features, large batches, and weights that move as far as known labels bear.

How far that is, and the rate that follows from it, is in `reach`.
"""

from dataclasses import replace

import torch
from torch import Tensor

from trilabel.config import Config
from trilabel.data.images import ImageSource
from trilabel.log import log
from trilabel.models.heads.gap import GapHead
from trilabel.training.reach import BATCH, choose_reach, class_logits, fit_schedule
from trilabel.training.setup import Job
from trilabel.training.splits import validation_truth
from trilabel.training.stages import Stage


def fits_head(job: Job, stage: Stage) -> bool:
    """Whether the stage chooses rate, batches and schedule by itself: no rate is given, and the head normalizes."""
    head = job.model.head
    return stage.linear and job.config.linear_lr is None and isinstance(head, GapHead) and head.settings.normalize


def plan_fit(job: Job, stage: Stage, images: ImageSource) -> tuple[Stage, Config, int]:
    """The stage with its rate, the configuration as it takes it, and passes over the images per epoch.

    At the start of the stage, the head's weights are set to where the fit begins.
    """
    config, head, now = job.config, job.model.head, job.state.progress
    assert isinstance(head, GapHead) and isinstance(images.store, Tensor)
    features = images.store
    labels = validation_truth(job.labels)
    if (now.epoch, now.step) == (1, 0) and not (config.keep_head and config.weights):
        head.fit_normalization(features)
        with torch.no_grad():
            head.linear.weight.zero_()
        if stage.warm_up or job.method.initial_logits() is None:
            head.start_at(class_logits(labels).to(features))
    reach = job.fabric.broadcast(choose_reach(head.normalized(features), labels))
    batch = max(config.batch_size, BATCH)
    count, size = features.shape
    passes, lr = fit_schedule(reach, count, size, batch * job.processes.count, stage.epochs)
    log.info(f"linear stage: features normalized, weights regularized by cross-validation (reach {reach:g})")
    taken = replace(config, batch_size=batch, accumulate=1, lr_schedule="cosine", weight_decay=0.0)
    return replace(stage, lr=lr), taken, passes
