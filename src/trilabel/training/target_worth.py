"""What targets of unknown labels are worth: how many there are, and how right where labels were hidden on purpose."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from trilabel import metrics
from trilabel.errors import TrilabelError
from trilabel.input_files import read_input
from trilabel.labels import Labels
from trilabel.labels.targets import LOWEST
from trilabel.methods.posterior.silence import Silence
from trilabel.metrics.calibration import binned_error
from trilabel.metrics.means import mean

_MOST_LABELS_RANKED = 200_000_000
_BINS = 20  # of the calibration error


def worth_of(targets: sp.csr_array, labels: Labels, truth: Labels | None) -> dict[str, Any]:
    """Numbers about targets (images × classes): how many, and how right they are where labels were hidden on purpose.

    calibration_error: of targets that are not near 0, how far the mean target of a bin is from the share that is
    present, in the mean.
    """
    images = max(targets.shape[0], 1)
    numbers: dict[str, Any] = {
        "images": targets.shape[0],
        "targets": int(targets.nnz),
        "above_half": int((targets.data > 0.5).sum()),
        "known_positives_per_image": float(labels.counts_per_class()[0].sum() / images),
        "expected_per_image": float(targets.data.sum() / images),
    }
    if truth is None or not targets.nnz:  # SciPy gives a matrix for no places, and an array for some
        return numbers
    of_targets = truth.csr[targets.nonzero()]
    judged = of_targets != 0
    values, present = targets.data[judged].astype(np.float64), of_targets[judged] > 0
    if (sure := values > 0.5).any():
        numbers["precision_above_half"] = float(present[sure].mean())
    if len(values):
        numbers["calibration_error"] = binned_error(values, present, _BINS)
    return numbers


def ranking_of(scores: Tensor, labels: Labels, truth: Labels, silence: Silence) -> dict[str, float]:
    """The average precision of hidden positives among the unknown labels: mean over classes, and of all together.

    scores: N×C logits, of which targets were made. Nothing where there are too many labels for it.
    """
    if np.prod(labels.shape) > _MOST_LABELS_RANKED:
        return {}
    known = labels.to_signed()
    odds = scores.float() + silence.log_factor(scores.float(), torch.from_numpy(known))
    hidden = np.where(known == 0, truth.to_signed(), 0).astype(np.int8)
    ranked = {
        "average_precision": mean(metrics.average_precision(odds, hidden)),
        "average_precision_of_all": mean(metrics.average_precision(odds.view(-1, 1), hidden.reshape(-1, 1))),
    }
    found = {name: value for name, value in ranked.items() if not np.isnan(value)}
    return {"hidden_positives": int((hidden > 0).sum())} | found


def rests_on(silence: Silence) -> dict[str, Any]:
    """What targets rest on: a note for people and, where there are any, the rates of known labels of each class."""
    if silence.rates is None or not silence.rates.any():
        return {"note": silence.note}
    positives, negatives = ([round(rate, 4) for rate in rates] for rates in silence.rates.tolist())
    return {"note": silence.note, "rates": {"positives": positives, "negatives": negatives}}


def told_of_targets(summary: Path) -> list[str]:
    """Lines for a person from the file targets.json: what targets are worth and rest on; none where it is damaged."""
    try:
        numbers = json.loads(read_input(summary)) if summary.is_file() else {}
        return [describe(numbers), *filter(None, [str(numbers.get("note", ""))])] if numbers else []
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError, TrilabelError):
        return []


def describe(numbers: Mapping[str, Any]) -> str:
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
