"""The pointing game over batches: how often the peak of a class map lies in a box of that class."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilabel import metrics
from trilabel.data.boxes import Boxes, BoxesByImage
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.models import Output


def require_boxes(dataset: Dataset, rows: NDArray[np.int64], split: str) -> None:
    """Raises an error if none of the images has a box."""
    if dataset.boxes is None or not np.isin(dataset.boxes.image, rows).any():
        raise TrilabelError(f"split {split!r} has no boxes: the pointing game needs them")


class PointingGame:
    """Counts hits batch by batch, because the class maps of all images would not fit into memory."""

    def __init__(
        self, boxes: Boxes, labels: Labels, label_columns: NDArray[np.int64], model_columns: NDArray[np.int64]
    ) -> None:
        """The game uses these columns of the labels; model_columns[i] is the model's column for label_columns[i]."""
        position = np.full(labels.shape[1], -1)
        position[label_columns] = np.arange(len(label_columns))
        used = position[boxes.cls] >= 0
        self.boxes = BoxesByImage(Boxes(boxes.image[used], position[boxes.cls[used]], boxes.xyxy[used]))
        self.labels, self.label_columns, self.model_columns = labels, label_columns, model_columns
        self.counts = np.zeros((2, len(label_columns)), np.int64)  # hits, pairs of an image and a present class

    def add(self, rows: NDArray[np.int64], output: Output) -> None:
        """Counts a batch: rows of the data set, and the model's output for them."""
        if output.maps is not None:
            maps, truth = output.maps[:, self.model_columns], self.labels.rows(rows)[:, self.label_columns]
            self.counts += metrics.pointing_counts(maps, truth, self.boxes.of(rows))

    def result(self) -> dict[str, Any]:
        """The entries that `Model.evaluate` adds."""
        hits, pairs = self.counts
        names = [self.labels.classes[column] for column in self.label_columns.tolist()]
        per_class = {name: hit / of for name, hit, of in zip(names, hits.tolist(), pairs.tolist(), strict=True) if of}
        total = int(pairs.sum())
        return {
            "pointing_game": int(hits.sum()) / total if total else None,
            "pointing_game_by_class": sum(per_class.values()) / len(per_class) if per_class else None,
            "pointing_game_pairs": total,
            "per_class_pointing_game": per_class,
        }
