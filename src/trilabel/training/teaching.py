"""From the scores of teachers to the file of targets that the next round learns from."""

import json
import time
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor

from trilabel.config import Config
from trilabel.errors import TrilabelError, one_line
from trilabel.files import write_text
from trilabel.input_files import read_input
from trilabel.labels import Labels
from trilabel.labels.targets import Targets, thinned
from trilabel.log import log
from trilabel.methods.posterior.calibration import class_biases, targets_of
from trilabel.methods.posterior.silence import Silence, find_silence
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import TrainingSplit
from trilabel.training.target_worth import describe, ranking_of, rests_on, worth_of
from trilabel.training.teacher_scores import Part, Scored, teacher_scores
from trilabel.training.teachers import fitted_rates_of, posterior_settings

_MOST_LABELS_KEPT = 500_000_000  # whose scores are in memory at once, 2 bytes each
_LABELS_AT_ONCE = 2**24


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
    for each in scored:  # only one where they are kept
        if fabric.is_global_zero:
            labels = dataset.labels[each.rows]
            scores = each.logits + class_biases(each.logits, labels, silence).half() if kept else each.logits
            rows.append(each.rows)
            found.append(targets_from_scores(scores, labels, silence))
    if fabric.is_global_zero:
        labels, csr = dataset.labels[np.concatenate(rows)], sp.csr_array(sp.vstack(found))
        truth = None if dataset.truth is None else dataset.truth[np.concatenate(rows)]
        summary = worth_of(csr, labels, truth) | rests_on(silence)
        if kept and truth is not None:
            summary |= ranking_of(scores, labels, truth, silence)
        log.info(describe(summary))
        summary["seconds"] = round(time.monotonic() - began, 3)
        write_text(folder.targets_summary, json.dumps(summary, indent=1))
        # Last: where this file is, the first round is done with.
        Targets.from_csr(csr, labels.classes, labels.ids, silence.known_rates()).save(folder.targets)
    fabric.barrier()


def _joined(parts: Sequence[Scored]) -> Scored:
    return Scored(np.concatenate([part.rows for part in parts]), torch.cat([part.logits for part in parts]))


def targets_from_scores(scores: Tensor, labels: Labels, silence: Silence) -> sp.csr_array:
    """Images × classes: what each unknown label most likely is, given that nobody named it; without what is near 0.

    scores: N×C logits.
    """
    at_once = max(1, _LABELS_AT_ONCE // max(scores.shape[1], 1))
    found = [
        thinned(targets_of(scores[rows].float(), labels.rows(rows.numpy()), silence).numpy())
        for rows in torch.split(torch.arange(len(scores)), at_once)
    ]
    return sp.csr_array(sp.vstack(found))


def targets_seconds(folder: RunFolder) -> float:
    """How long the targets of a run took, without the first round; 0 where there are none."""
    if not folder.targets_summary.is_file():
        return 0.0
    try:
        return float(json.loads(read_input(folder.targets_summary))["seconds"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TrilabelError(f"{folder.targets_summary}: damaged ({one_line(error)}); restore it") from error
