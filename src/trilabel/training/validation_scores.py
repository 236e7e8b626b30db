"""The scores of the validation images by the best model, kept in the run folder: what a report judges a run by."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from trilabel.files import replacing
from trilabel.labels import Labels
from trilabel.training.out_of_fold import load_logits
from trilabel.training.run_folder import RunFolder

_MOST_KEPT = 20_000_000  # labels, 4 bytes each


def save_validation_scores(folder: RunFolder, logits: Tensor, labels: Labels) -> None:
    """Writes logits (N×C) and the labels of the same images; nothing where there are too many for that."""
    if logits.numel() > _MOST_KEPT:
        return
    labels.save(folder.validation_labels)
    with replacing(folder.validation_scores) as temporary, temporary.open("wb") as file:
        np.save(file, logits.float().cpu().numpy())


def load_validation_scores(folder: RunFolder) -> tuple[NDArray[np.float32], Labels] | None:
    """(N×C logits, memory-mapped, and the labels of these images); None where the run has none."""
    path = folder.validation_scores
    if not (path.is_file() and folder.validation_labels.is_file()):
        return None
    labels = Labels.load(folder.validation_labels)
    return load_logits(path, labels), labels
