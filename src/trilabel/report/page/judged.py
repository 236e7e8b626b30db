"""By which scores a run is judged: of images that the model which scored them had not learned from."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logit
from torch import Tensor

from trilabel import metrics
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names
from trilabel.printable import plural
from trilabel.training.decisions import Decisions
from trilabel.training.out_of_fold import load_out_of_fold
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import validation_truth
from trilabel.training.validation_scores import load_validation_scores

_MOST_LABELS = 20_000_000  # above that, a part of the images says as much
_MOST_SCORED_AGAIN = 2_000  # images, where the run kept no scores
ReadData = Callable[[Path], Dataset]  # the data of a run, by its folder; raises TrilabelError


@dataclass(frozen=True)
class Judged:
    """Logits as the network gives them (N×C), what is known of the same images, and where both come from."""

    logits: Tensor
    labels: Labels
    images: str  # what they are, for people
    fitted_here: bool  # calibration and thresholds were fitted on these labels

    @property
    def unknown_as_absent(self) -> bool:
        """Whether nothing is known to be absent, so that unknown counts as absent."""
        return not self.labels.counts_per_class()[1].any()

    def truth(self) -> Labels | NDArray[np.int8]:
        """What scores are compared with."""
        return validation_truth(self.labels)


def kept_scores(folder: RunFolder, learned: Labels | None) -> Judged | None:
    """From the run folder; None where it has none. learned: the labels that the run learned from."""
    if learned is not None and folder.out_of_fold.is_file():
        logits = load_out_of_fold(folder, learned)
        return _judged(logits, learned, "training images, each scored by one of five heads, fitted without it", True)
    kept = load_validation_scores(folder)
    return None if kept is None else _judged(*kept, "validation images", True)


def metrics_as_decided(folder: RunFolder) -> dict[str, Any] | None:
    """`metrics.evaluate` of the kept scores at the thresholds that the run fitted; None where it has none of either."""
    judged = kept_scores(folder, Labels.load(folder.labels) if folder.labels.is_file() else None)
    if judged is None or not folder.decisions.is_file():
        return None
    decisions = Decisions.load(folder.decisions, judged.labels.shape[1])
    limits = logit(np.array(decisions.thresholds))
    return metrics.evaluate(decisions.logits(judged.logits), judged.truth(), threshold=limits)


def score_split(run: Path, dataset: Dataset, split: str, device: str) -> Judged:
    """Scores a split of a data set with the best model of a run."""
    rows = dataset.rows_of(split)
    if not len(rows):
        raise TrilabelError(f"split {split!r} has no images to score")
    return _scored(run, dataset, rows, device, f"images of split {split!r}, scored for this page", False)


def score_validation(folder: RunFolder, read: Callable[[], Dataset], device: str) -> Judged | None:
    """Scores the validation images of a run again, or some of them; None where the run has none.

    For runs with so many of them that their scores are not kept. read: gives the data, if it is needed.
    """
    _, ids = folder.seen_images()
    if not len(ids):
        return None
    dataset = read()
    rows = Names(dataset.ids).positions(Names(ids))
    rows = rows[rows >= 0]
    if not len(rows):
        raise TrilabelError("the data does not have the validation images of the run; give its data with --data")
    chosen = _spread(len(rows), _MOST_SCORED_AGAIN)
    some = f" ({len(chosen):,} of {len(rows):,})" if len(chosen) < len(rows) else ""
    return _scored(folder.path, dataset, rows[chosen], device, f"validation images{some}, scored for this page", True)


def _scored(run: Path, dataset: Dataset, rows: NDArray[np.int64], device: str, images: str, fitted: bool) -> Judged:
    from trilabel.inference.loading import load

    model = load(run, device)
    logits, rows = model.score_rows(dataset, rows, broken="skip")
    if not len(rows):
        raise TrilabelError("none of the images to score can be read")
    return _judged(logits.numpy(), dataset.labels[rows][:, list(model.classes)], images, fitted)


def _judged(logits: NDArray[Any], labels: Labels, images: str, fitted: bool) -> Judged:
    rows = _spread(len(labels), max(1, _MOST_LABELS // max(1, labels.shape[1])))
    if len(rows) < len(labels):
        images, labels = f"{images} ({plural(len(rows), 'image')} of {len(labels):,})", labels[rows]
    return Judged(torch.from_numpy(np.array(logits[rows], np.float32)), labels, images, fitted)


def _spread(count: int, most: int) -> NDArray[np.int64]:
    """Places of at most so many items, evenly over all of them."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.int64)
