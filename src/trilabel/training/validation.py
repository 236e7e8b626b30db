"""Scoring the validation images after an epoch, with the weights that the run would keep."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from torch import Tensor, nn

from trilabel import metrics
from trilabel.data.images import ImageSource
from trilabel.errors import TrilabelError
from trilabel.log import log
from trilabel.models.scoring import ProcessGroup, Scorer
from trilabel.training.diagnosis import validation_histogram
from trilabel.training.record import EpochRecord
from trilabel.training.setup import Job
from trilabel.training.stages import Stage


@contextmanager
def scoring_weights(job: Job, model: nn.Module) -> Iterator[None]:
    """Inside this context, the model has the EMA weights, if there are any, and the first process's statistics."""
    job.processes.sync_buffers(model)
    ema = job.state.ema
    if ema is None:
        yield
        return
    ema.swap()
    job.processes.sync_buffers(model)
    try:
        yield
    finally:
        ema.swap()


def validate(job: Job, record: EpochRecord, model: nn.Module, images: ImageSource) -> EpochRecord:
    """The record with validation metrics; unchanged if there are no validation images."""
    if not len(images):
        return record
    begun = time.monotonic()
    scores = score_images(job, model, images)
    good = ~scores[:, 0].isnan()  # the others could not be read
    if not good.all() and job.config.broken == "stop":
        raise TrilabelError(f"the model gives NaN for validation after epoch {record.epoch}: lower --lr")
    truth = job.val_truth[good.numpy()]
    return replace(
        record,
        val=metrics.evaluate(scores[good], truth, threshold=0.0),
        val_probabilities=validation_histogram(scores[good], truth),
        val_unknown_as_absent=job.val_truth is not job.val_labels,
        val_seconds=round(time.monotonic() - begun, 3),
    )


def score_images(job: Job, model: nn.Module, images: ImageSource) -> Tensor:
    """N×C logits on the CPU (NaN for an image that had to be left out)."""
    fabric, skip_broken = job.fabric, job.config.broken == "skip"
    group = ProcessGroup(job.processes.rank, job.processes.count, job.processes.gather)
    classes, batch_size = job.labels.shape[1], job.scoring_batch_size
    scorer = Scorer(model, job.views.plain, classes, batch_size, fabric.autocast, skip_broken, group)
    scores, failed = scorer.score(images)
    for _, message in failed:
        log.warning(f"left out of scoring: {message}")
    return scores


def out_of_patience(job: Job, stage: Stage) -> bool:
    """Whether the stage has continued for too long without improvement."""
    now, patience = job.state.progress, job.config.patience
    if stage.warm_up or now.best is None or patience is None:
        return False
    return now.epoch - 1 - now.best.epoch >= patience
