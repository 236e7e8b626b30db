"""Scores of the training images by models that did not learn from them, so that none has to be held out.

Each of a few heads is fitted to all images but one part, which it then scores (cross-validation). What is decided by
these scores, as by those of validation images, is then used with the head that learned from all.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel import metrics
from trilabel.errors import TrilabelError, one_line
from trilabel.files import replacing, write_text
from trilabel.input_files import open_input
from trilabel.labels import Labels
from trilabel.log import progress
from trilabel.methods import METHODS, check_method
from trilabel.models import FeatureClassifier, create_head
from trilabel.training.diagnosis import validation_histogram
from trilabel.training.feature_fit import FeatureFit
from trilabel.training.head_fit import fits_head
from trilabel.training.run_folder import RunFolder
from trilabel.training.setup import Job, method_features
from trilabel.training.splits import judged_labels, validation_truth

_COUNT = 5
_SEED = 0  # not the run's: runs with different seeds should differ by their seed only


def fold_of_each(count: int, folds: int) -> NDArray[np.int64]:
    """For each of so many images the part that it belongs to, drawn at random; parts are equally large."""
    return np.random.default_rng(_SEED).permutation(count) % folds


def cross_scores(job: Job) -> Tensor:
    """N×C logits of the training images, each by a head that was fitted without it; after the linear stage of a run.

    How far weights may move is not chosen again for each part: it is one number of five, by all images.
    """
    assert job.features is not None and isinstance(job.features[0].store, Tensor)
    features, labels, config = job.features[0].store, job.labels, job.config
    settings, kind = check_method(config.method, config.settings, labels), METHODS[config.method]
    reach = job.reach if fits_head(job, job.stages[-1]) else None
    fold = fold_of_each(len(labels), min(_COUNT, len(labels)))
    logits = torch.empty(labels.shape)
    with progress("fitting to parts of the images", _COUNT) as advance:
        for number in np.unique(fold):
            kept, left_out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            if job.signals:  # a resumed run fits them again
                raise KeyboardInterrupt
            torch.manual_seed(config.seed)
            own = labels[kept]
            head = create_head(config, job.model.backbone.features, labels.shape[1], own).to(features.device)
            method = kind(settings, own, method_features(kind, job.model)).to(features.device)
            model = FeatureClassifier(head)
            fit = FeatureFit(config, model, method, features[kept], own, job.fabric.autocast, reach)
            fit.run()
            logits[left_out] = fit.score(features[left_out])
            advance(1)
    return logits


def judge_out_of_fold(job: Job) -> Tensor:
    """`cross_scores`, written to the run folder, and what they are worth."""
    logits = cross_scores(job)
    if logits.isnan().any():
        raise TrilabelError(f"{job.folder.path}: a head fitted to a part of the images gives NaN; train with --val 0.2")
    with replacing(job.folder.out_of_fold) as temporary, temporary.open("wb") as file:
        np.save(file, logits.numpy())
    truth = validation_truth(judged_labels(job.config, job.labels))
    record = replace(
        job.folder.best_record(),
        val=metrics.evaluate(logits, truth, threshold=0.0),
        val_probabilities=validation_histogram(logits, truth),
        val_unknown_as_absent=truth is not job.labels,
    )
    write_text(job.folder.out_of_fold_record, json.dumps(record.to_json()))
    return logits


def load_out_of_fold(folder: RunFolder, labels: Labels) -> NDArray[np.float32]:
    """N×C, memory-mapped; labels: those that the run learned from, whose images they are of."""
    return load_logits(folder.out_of_fold, labels)


def load_logits(path: Path, labels: Labels) -> NDArray[np.float32]:
    """N×C logits of the images and classes of these labels, memory-mapped."""
    try:
        with open_input(path):
            logits: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
        if logits.shape != labels.shape or logits.dtype != np.float32:
            raise ValueError(f"{logits.dtype} of shape {logits.shape}, not for {labels!r}")
    except (OSError, ValueError, EOFError) as error:
        raise TrilabelError(f"{path}: damaged ({one_line(error)}); restore it, or train again") from error
    return logits
