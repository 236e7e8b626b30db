"""Scoring the validation images after an epoch, with the weights that the run would keep."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from trilabel import metrics
from trilabel.data.images import ImageSource
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.expected_positives import expected_positives
from trilabel.log import log
from trilabel.models.scoring import ProcessGroup, Scorer, Scores
from trilabel.training.decisions import fit_decisions
from trilabel.training.diagnosis import validation_histogram
from trilabel.training.finite import check_scores
from trilabel.training.out_of_fold import judge_out_of_fold
from trilabel.training.record import EpochRecord
from trilabel.training.setup import Job
from trilabel.training.splits import FOLDS, judged_labels
from trilabel.training.stages import Stage
from trilabel.training.validation_scores import save_validation_scores


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


def validate(job: Job, record: EpochRecord, model: nn.Module, images: ImageSource) -> tuple[EpochRecord, Scores | None]:
    """The record with validation metrics, and the scores; unchanged and None if there are no validation images."""
    if not len(images):
        return record, None
    begun = time.monotonic()
    scores = score_images(job, model, images)
    check_scores(job, len(scores.nan()), len(images))
    good = np.delete(np.arange(len(images)), scores.failed)
    logits, truth = scores.logits[torch.from_numpy(good)], job.val_truth[good]
    record = replace(
        record,
        val=metrics.evaluate(logits, truth, threshold=0.0),
        val_probabilities=validation_histogram(logits, truth),
        val_unknown_as_absent=job.val_truth is not job.val_labels,
        val_seconds=round(time.monotonic() - begun, 3),
    )
    return record, scores


def decide(job: Job, model: nn.Module, images: ImageSource) -> None:
    """Fits how the best model decides, on images that it did not learn from, and writes it to the run folder."""
    if job.config.val == FOLDS:
        if job.processes.is_first:
            judged = judged_labels(job.config, job.labels)
            _decide(job, judge_out_of_fold(job), judged, "training images, each scored by a head fitted without it")
        return
    if not len(images):
        return
    scores = job.best_scores or score_images(job, model, images)  # scored again only by a run that was resumed
    if len(scores.nan()):  # it did not when it was kept
        raise TrilabelError(f"{job.folder.best}: gives NaN for validation images; restore it, or train again")
    good = np.delete(np.arange(len(images)), scores.failed)
    if job.processes.is_first and len(good):
        logits, labels = scores.logits[torch.from_numpy(good)], job.val_labels[good]
        save_validation_scores(job.folder, logits, labels)
        _decide(job, logits, labels, "validation images")


def _decide(job: Job, logits: Tensor, labels: Labels, images: str) -> None:
    expected = expected_positives(job.labels, job.val_labels)
    found = fit_decisions(logits, labels, expected, images, job.method.known_rates())
    if found is not None:
        found.save(job.folder.decisions)
        low, high = min(found.thresholds), max(found.thresholds)
        what = f"{low:.2f} to {high:.2f} by class" if high > low else f"{low:.2f} for all classes"
        log.info(f"thresholds: probability {what}, {found.basis}")


def score_images(job: Job, model: nn.Module, images: ImageSource) -> Scores:
    """The logits of all images, known to every process."""
    fabric, skip_broken = job.fabric, job.config.broken == "skip"
    group = ProcessGroup(job.processes.rank, job.processes.count, job.processes.gather)
    classes, batch_size = job.labels.shape[1], job.scoring_batch_size
    scorer = Scorer(model, job.views.plain, classes, batch_size, fabric.autocast, skip_broken, group)
    scores = scorer.score(images)
    for _, message in scores.errors:
        log.warning(f"left out of scoring: {message}")
    return scores


def out_of_patience(job: Job, stage: Stage) -> bool:
    """Whether the stage has continued for too long without improvement."""
    now, patience = job.state.progress, job.config.patience
    if stage.warm_up or now.best is None or patience is None:
        return False
    return now.epoch - 1 - now.best.epoch >= patience
