"""From the scores of teachers to the targets of a next round, and what these are worth where the truth is known."""

import json
import time
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor

from trilabel import metrics
from trilabel.config import Config
from trilabel.files import write_text
from trilabel.labels import Labels
from trilabel.labels.targets import LOWEST, Targets, thinned
from trilabel.log import log
from trilabel.methods.posterior.calibration import class_biases, targets_of
from trilabel.methods.posterior.silence import Silence, find_silence
from trilabel.metrics.means import mean
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import TrainingSplit
from trilabel.training.teacher_scores import Part, Scored, teacher_scores
from trilabel.training.teachers import fitted_rates_of, posterior_settings

_MOST_LABELS_KEPT = 1_000_000_000  # whose scores are in memory at once, 2 bytes each
_MOST_LABELS_RANKED = 200_000_000  # for the average precision of hidden positives
_LABELS_AT_ONCE = 2**24
_BINS = 20  # of the calibration error


def make_targets(
    fabric: Fabric, split: TrainingSplit, config: Config, folder: RunFolder, parts: Sequence[Part]
) -> None:
    """Has the training images scored and writes their targets, a file and a summary; every process takes part."""
    began, dataset = time.monotonic(), split.dataset
    runs = list(dict.fromkeys(run for part in parts for run in part.runs))
    settings, validation = posterior_settings(config), dataset.labels[split.val]
    silence = find_silence(settings, split.labels, validation, fitted_rates_of(runs))
    log.info(f"targets: {silence.note}")
    scored: Iterator[Scored] = teacher_scores(fabric, split, config, parts)
    kept = len(split.train) * len(dataset.classes) <= _MOST_LABELS_KEPT
    if kept:
        scored = iter([_joined(list(scored))])
    else:
        log.info("targets: too many labels to be calibrated by class")
    rows, found = list[NDArray[np.int64]](), list[sp.csr_array]()
    for each in scored:
        if fabric.is_global_zero:
            rows.append(each.rows)
            found.append(targets_from_scores(each.logits, dataset.labels[each.rows], silence, calibrated=kept))
    if fabric.is_global_zero:
        labels, csr = dataset.labels[np.concatenate(rows)], sp.csr_array(sp.vstack(found))
        truth = None if dataset.truth is None else dataset.truth[np.concatenate(rows)]
        summary = worth_of(csr, labels, truth)
        log.info(describe(summary))
        summary["seconds"] = round(time.monotonic() - began, 3)
        write_text(folder.targets_summary, json.dumps(summary, indent=1))
        # Last: where this file is, the first round is done with.
        Targets.from_csr(csr, labels.classes, labels.ids).save(folder.targets)
    fabric.barrier()


def _joined(parts: Sequence[Scored]) -> Scored:
    return Scored(np.concatenate([part.rows for part in parts]), torch.cat([part.logits for part in parts]))


def targets_from_scores(scores: Tensor, labels: Labels, silence: Silence, calibrated: bool = True) -> sp.csr_array:
    """Images × classes: what each unknown label most likely is, given that nobody named it; without what is near 0.

    scores: N×C logits. calibrated: corrected by class first (`class_biases`).
    """
    biases = class_biases(scores, labels, silence) if calibrated else torch.zeros(scores.shape[1])
    at_once = max(1, _LABELS_AT_ONCE // max(scores.shape[1], 1))
    found = [
        thinned(targets_of(scores[rows].float() + biases, labels.rows(rows.numpy()), silence).numpy())
        for rows in torch.split(torch.arange(len(scores)), at_once)
    ]
    return sp.csr_array(sp.vstack(found)) if found else sp.csr_array(scores.shape, dtype=np.float32)


def worth_of(targets: sp.csr_array, labels: Labels, truth: Labels | None) -> dict[str, float]:
    """Numbers about targets (images × classes): how many, and how right they are where labels were hidden on purpose.

    calibration_error: of targets that are not near 0, how far the mean target of a bin is from the share that is
    present, in the mean. average_precision: of hidden positives among unknown labels, by class and of all together.
    """
    images = max(targets.shape[0], 1)
    numbers: dict[str, float] = {
        "images": targets.shape[0],
        "targets": int(targets.nnz),
        "above_half": int((targets.data > 0.5).sum()),
        "known_positives_per_image": float(labels.counts_per_class()[0].sum() / images),
        "expected_per_image": float(targets.data.sum() / images),
    }
    if truth is None:
        return numbers
    of_targets = truth.csr[targets.nonzero()]
    judged = of_targets != 0
    values, present = targets.data[judged].astype(np.float64), of_targets[judged] > 0
    if (sure := values > 0.5).any():
        numbers["precision_above_half"] = float(present[sure].mean())
    if len(values):
        place = (values * _BINS).astype(int).clip(0, _BINS - 1)
        gaps = np.bincount(place, values - present, _BINS)
        numbers["calibration_error"] = float(np.abs(gaps).sum() / len(values))
    if np.prod(targets.shape) <= _MOST_LABELS_RANKED:
        hidden = np.where(labels.to_signed() == 0, truth.to_signed(), 0).astype(np.int8)
        numbers["hidden_positives"] = int((hidden > 0).sum())
        scores = targets.toarray()
        by_class = mean(metrics.average_precision(scores, hidden))
        together = mean(metrics.average_precision(scores.reshape(-1, 1), hidden.reshape(-1, 1)))
        ranked = {"average_precision": by_class, "average_precision_of_all": together}
        numbers |= {name: value for name, value in ranked.items() if not np.isnan(value)}
    return numbers


def describe(numbers: dict[str, float]) -> str:
    """One line for a person."""
    words = [
        f"targets: {numbers['targets']:,} of {LOWEST} or more, {numbers['above_half']:,} above a half",
        f"{numbers['expected_per_image']:.2f} hidden positives expected per image",
    ]
    names = {
        "precision_above_half": "of those above a half are right",
        "average_precision": "average precision of hidden positives (mean over classes)",
        "average_precision_of_all": "of all classes together",
        "calibration_error": "calibration error",
    }
    return "; ".join(words + [f"{numbers[name]:.1%} {text}" for name, text in names.items() if name in numbers])
