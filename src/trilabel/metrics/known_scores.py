"""The scores of known labels alone, class by class, from batches: memory follows what is known."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.metrics.matrices import Truth, to_float32

Array = NDArray[Any]

_AT_ONCE = 1 << 22  # known labels that are put in the order of their classes at a time


class Segment(NamedTuple):
    """Some known labels in the order of their classes: those of class c are starts[c]:starts[c + 1]."""

    starts: NDArray[np.int64]
    scores: Array
    present: NDArray[np.bool_]
    images: NDArray[np.int32]  # the number of each label's image; empty where it is not kept


class KnownScores:
    """Scores of known labels, 5 bytes each; with the numbers of their images 9.

    >>> known = KnownScores(classes=2)
    >>> known.add(torch.tensor([[0.5, 0.6], [0.1, 0.2]]), torch.tensor([[1, 0], [-1, 1]]), np.array([0, 1]))
    >>> known.of_class(0).scores.tolist(), known.of_class(0).present.tolist()
    ([0.5, 0.10000000149011612], [True, False])
    """

    def __init__(self, classes: int, keep_images: bool = False) -> None:
        self.classes, self.keep_images = classes, keep_images
        self.segments: list[Segment] = []
        self._waiting: list[tuple[Array, Array, Array, Array]] = []  # columns, scores, present, images
        self._column = np.min_scalar_type(max(classes - 1, 0))  # sorting by 16 bits is fast

    def add(self, scores: Tensor, truth: Truth, images: NDArray[np.int64]) -> None:
        """Adds checked scores and labels B×C of images with these numbers [B]."""
        if isinstance(truth, Tensor):
            rows, columns = truth.cpu().numpy().nonzero()
            signs = truth.cpu().numpy()[rows, columns]
        else:
            stored = truth.tocoo()
            (rows, columns), signs = stored.coords, stored.data
        place = (torch.from_numpy(np.asarray(axis, np.int64)).to(scores.device) for axis in (rows, columns))
        values = to_float32(scores[tuple(place)]).cpu().numpy()
        kept = images[rows].astype(np.int32) if self.keep_images else np.zeros(0, np.int32)
        self._waiting.append((columns.astype(self._column), values, signs > 0, kept))
        if sum(len(part[0]) for part in self._waiting) >= _AT_ONCE:
            self._sort_waiting()

    def _sort_waiting(self) -> None:
        if not self._waiting:
            return
        columns, scores, present, images = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        order = np.argsort(columns, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(columns, minlength=self.classes))))
        kept = images[order] if self.keep_images else images
        self.segments.append(Segment(starts, scores[order], present[order], kept))
        self._waiting = []

    def all_segments(self) -> list[Segment]:
        """Everything that was added."""
        self._sort_waiting()
        return self.segments

    def of_class(self, column: int) -> Segment:
        """The known labels of one class; `starts` says nothing then."""
        parts = self.all_segments()
        places = [slice(part.starts[column], part.starts[column + 1]) for part in parts]
        return Segment(
            np.zeros(0, np.int64),
            _joined([part.scores[place] for part, place in zip(parts, places, strict=True)], np.float32),
            _joined([part.present[place] for part, place in zip(parts, places, strict=True)], np.bool_),
            _joined([part.images[place] for part, place in zip(parts, places, strict=True)], np.int32),
        )


def _joined(parts: list[Array], dtype: Any) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)
