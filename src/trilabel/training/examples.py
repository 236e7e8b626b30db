"""A few training images whose labels are followed from epoch to epoch: their scores, and how each was treated.

Kim 2022: figure 1 (the loss of single labels) and figure 3 (which labels of an image are corrected, and when). Which
they are depends on the labels alone, so that all processes and a resumed run follow the same.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trilabel.labels import Labels
from trilabel.methods import AllReduce
from trilabel.training.record import Example

_IMAGES = 6
_KNOWN_POSITIVES, _HIDDEN_POSITIVES, _OTHERS = 2, 4, 2  # of an image, at most; the others are unknown labels
_CORRECTED = 4  # further labels of an image that an epoch treated as present, at most
_LARGEST_LOGIT = 1e4


class Examples(nn.Module):
    """The logits and targets of the followed images in the current epoch. On the device."""

    values: Tensor  # 3×F×C: logit, target, whether it was seen; those of several processes add up

    def __init__(self, labels: Labels, truth: Labels | None) -> None:
        super().__init__()
        rows = _choose_images(labels, truth)
        self.rows: list[int] = rows.tolist()
        self.images = [str(labels.ids[row]) for row in self.rows]
        self.classes = labels.classes
        self.labels = labels.rows(rows).numpy()
        self.truth = None if truth is None else truth.rows(rows).numpy()
        truths = [None] * len(rows) if self.truth is None else self.truth
        self.columns = [_choose_labels(*each) for each in zip(self.rows, self.labels, truths, strict=True)]
        self.register_buffer("values", torch.zeros(3, len(rows), labels.shape[1]))

    def note(self, positions: NDArray[np.int64], logits: Tensor, targets: Tensor | None) -> None:
        """Adds a step: B positions of images, B×C logits and, of a method that chooses, targets.

        Positions are not read off the device: most steps have no followed image, and ask nothing of it.
        """
        places = {position: place for place, position in enumerate(positions.tolist())}
        for number, row in enumerate(self.rows):
            if (place := places.get(row)) is not None:
                self.values[0, number] = logits[place]
                self.values[2, number] = 1
                if targets is not None:
                    self.values[1, number] = targets[place]

    def summary(self, all_reduce: AllReduce, chose: bool) -> list[Example]:
        """The followed labels in this epoch; chose: whether the method chose targets.

        Without truth and targets there is nothing to tell.
        """
        logits, targets, seen = all_reduce(self.values, "sum").cpu().numpy()
        if self.truth is None and not chose:
            return []
        found = []
        for number, columns in enumerate(self.columns):
            if not seen[number].any():  # its file could not be read
                continue
            if chose:
                columns = np.concatenate((columns, self._corrected(number, logits[number], targets[number])))
            bounded = np.nan_to_num(logits[number, columns]).clip(-_LARGEST_LOGIT, _LARGEST_LOGIT)
            found.append(
                Example(
                    self.images[number],
                    [str(self.classes[column]) for column in columns.tolist()],
                    self.labels[number, columns].tolist(),
                    [round(value, 3) for value in bounded.tolist()],
                    [] if self.truth is None else self.truth[number, columns].tolist(),
                    targets[number, columns].astype(int).tolist() if chose else [],
                )
            )
        return found

    def _corrected(self, number: int, logits: NDArray[np.float32], targets: NDArray[np.float32]) -> NDArray[np.int64]:
        """Unknown labels of an image that were treated as present, beside those that are always followed."""
        corrected = np.flatnonzero((self.labels[number] == 0) & (targets > 0))
        others = np.setdiff1d(corrected, self.columns[number])
        return others[np.argsort(-logits[others], kind="stable")][:_CORRECTED]


def _choose_images(labels: Labels, truth: Labels | None) -> NDArray[np.int64]:
    """Images with hidden positives or, where there are none, with unknown labels: evenly over all of them."""
    chosen = np.flatnonzero(np.diff(labels.csr.indptr) < labels.shape[1])
    if truth is not None:
        present = truth.csr > 0
        hidden = present.sum(1) - present.multiply(labels.csr != 0).sum(1)  # less those that are known, if wrongly
        chosen = np.flatnonzero(hidden) if hidden.any() else chosen
    places = np.linspace(0, len(chosen) - 1, min(_IMAGES, len(chosen)))
    return chosen[places.astype(np.int64)].astype(np.int64)


def _choose_labels(row: int, labels: NDArray[np.int8], truth: NDArray[np.int8] | None) -> NDArray[np.int64]:
    """Columns of an image to follow: some known positives (no wrong ones), hidden positives, other unknown labels."""
    true = np.zeros_like(labels) if truth is None else truth
    known, hidden = (labels > 0) & (true >= 0), (labels == 0) & (true > 0)
    draw = np.random.default_rng(row)
    wanted = ((known, _KNOWN_POSITIVES), (hidden, _HIDDEN_POSITIVES), ((labels == 0) & ~hidden, _OTHERS))
    return np.concatenate(
        [np.sort(draw.permutation(np.flatnonzero(which))[:count]) for which, count in wanted], dtype=np.int64
    )
