"""Every metric of `evaluate` from scores that come in batches: exact, and never images × classes in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilabel.errors import TrilabelError
from trilabel.metrics.average_precision_cpu import both_of_known
from trilabel.metrics.calibration import calibration_error_of_logits
from trilabel.metrics.counts import Counts, Threshold, count
from trilabel.metrics.evaluate import summary, tops_of
from trilabel.metrics.intervals import intervals_of_known
from trilabel.metrics.known_scores import KnownScores, Segment
from trilabel.metrics.matrices import LabelMatrix, Matrix, check_inputs


class Evaluation:
    """Collects what metrics need of each batch: the scores of its known labels, and counts by class and by image.

    >>> evaluation = Evaluation(classes=2)
    >>> evaluation.add(np.array([[0.9, 0.1]]), np.array([[1, -1]]))
    >>> evaluation.add(np.array([[0.4, 0.2]]), np.array([[-1, 0]]))
    >>> result = evaluation.result()
    >>> result["mAP"], result["known_share"], result["images"]
    (1.0, 0.75, 2)
    """

    def __init__(self, classes: int, threshold: Threshold = 0.5, keep_images: bool = False) -> None:
        """threshold: as for `evaluate`. keep_images: also what `intervals` needs."""
        self.classes, self.threshold = classes, threshold
        self.known = KnownScores(classes, keep_images)
        self._by_class = np.zeros((1 + len(tops_of(classes)), 4, classes), np.int64)
        self._by_image: list[NDArray[Any]] = []  # rules × 4 × B
        self._index: list[NDArray[np.int64]] = []
        self._small = np.min_scalar_type(classes)  # a million images have 20 numbers each

    @property
    def images(self) -> int:
        """How many were added."""
        return sum(map(len, self._index))

    def add(self, scores: Matrix, labels: LabelMatrix, index: NDArray[np.int64] | None = None) -> None:
        """Adds scores and labels (B×C) of images that were not added before.

        index: their numbers [B] in the data set, where batches come in another order; none: as they come.
        """
        table, truth = check_inputs(scores, labels, needs_absent=False)
        if table.shape[1] != self.classes:
            raise TrilabelError(f"scores of {table.shape[1]} classes, but the evaluation is of {self.classes}")
        if index is None:
            index = np.arange(self.images, self.images + len(table))
        self.known.add(table, truth, index)
        counts = count(table, truth, self.threshold, tops_of(self.classes))
        self._by_class += np.stack([part.by_class for part in counts])
        self._by_image.append(np.stack([part.by_image for part in counts]).astype(self._small))
        self._index.append(index)

    def result(self, class_names: Sequence[str] | None = None, annotations: ArrayLike | None = None) -> dict[str, Any]:
        """What `evaluate` gives for all images together."""
        counts = [
            Counts(by_class, by_image[:, self._order()].astype(np.int32))
            for by_class, by_image in zip(self._by_class, self._all_by_image(), strict=True)
        ]
        return summary(both_of_known(self.known), counts, class_names, annotations)

    def counts_per_class(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(present, absent): how many known labels of each class were added."""
        present, known = self._by_class[0, 2:]
        return present, known - present

    def calibration_error(self) -> float:
        """`expected_calibration_error` of the sigmoid of the scores."""
        return calibration_error_of_logits(self.known)

    def intervals(self) -> NDArray[np.float64]:
        """`average_precision_intervals` of the scores."""
        index = self._all_index()
        place = np.zeros(1 + int(index.max(initial=-1)), np.int32)
        place[index[self._order()]] = np.arange(self.images)
        ranked = KnownScores(self.classes, keep_images=True)
        ranked.segments = [part._replace(images=place[part.images]) for part in self.known.all_segments()]
        return intervals_of_known(ranked, self.images)

    def index(self) -> NDArray[np.int64]:
        """The numbers of the images that were added, in order."""
        return np.sort(self._all_index())

    def _all_index(self) -> NDArray[np.int64]:
        return np.concatenate([np.zeros(0, np.int64), *self._index])

    def _all_by_image(self) -> NDArray[Any]:
        return np.concatenate([np.zeros((len(self._by_class), 4, 0), self._small), *self._by_image], axis=2)

    def _order(self) -> NDArray[np.int64]:
        """The images in the order of their numbers."""
        return np.argsort(self._all_index(), kind="stable")

    def save(self, path: Path) -> None:
        """Writes what was added, for `merge_file` of another process."""
        arrays: dict[str, Any] = {"by_class": self._by_class, "by_image": self._all_by_image()}
        arrays["index"] = self._all_index()
        for number, segment in enumerate(self.known.all_segments()):
            arrays |= {f"{number}.{name}": value for name, value in segment._asdict().items()}
        np.savez(path, **arrays)

    def merge_file(self, path: Path) -> None:
        """Adds what another process saved."""
        with np.load(path, allow_pickle=False) as arrays:
            self._by_class += arrays["by_class"]
            self._by_image.append(arrays["by_image"])
            self._index.append(arrays["index"])
            for number in range(sum(name.endswith(".starts") for name in arrays.files)):
                self.known.segments.append(Segment(*(arrays[f"{number}.{name}"] for name in Segment._fields)))
