"""Boxes around the objects in images, as arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Boxes(NamedTuple):
    """Boxes around objects in images, M of them; coordinates are shares of width and height."""

    image: NDArray[np.int64]  # M: row of the data set
    cls: NDArray[np.int64]  # M: column of the labels
    xyxy: NDArray[np.float32]  # M×4: left, top, right, bottom in [0, 1]


class BoxesByImage:
    """Boxes in the order of their images, so that those of a batch are found without searching all of them."""

    def __init__(self, boxes: Boxes) -> None:
        order = np.argsort(boxes.image, kind="stable")
        self.boxes = Boxes(boxes.image[order], boxes.cls[order], boxes.xyxy[order])

    def of(self, rows: NDArray[np.int64]) -> Boxes:
        """The boxes of these rows of the data set, their images counted as in `rows`."""
        first, end = (np.searchsorted(self.boxes.image, rows, side) for side in ("left", "right"))
        counts = end - first
        places = np.repeat(np.arange(len(rows)), counts)
        index = np.arange(len(places)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        return Boxes(places, self.boxes.cls[index], self.boxes.xyxy[index])
