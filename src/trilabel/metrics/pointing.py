"""The pointing game: does the class map of a present class peak inside a box of that class?"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.metrics.matrices import LabelMatrix, Matrix, as_tensor, check_inputs


class HasBoxes(Protocol):
    """Boxes around objects in images, M of them; `trilabel.data.Boxes` is one."""

    @property
    def image(self) -> NDArray[np.int64]: ...  # M: row of the scores
    @property
    def cls(self) -> NDArray[np.int64]: ...  # M: column of the labels
    @property
    def xyxy(self) -> NDArray[np.float32]: ...  # M×4: left, top, right, bottom in [0, 1]


def pointing_game(maps: Matrix, labels: LabelMatrix, boxes: HasBoxes) -> float:
    """Share of the present classes of all images whose class map peaks inside a box of that class.

    maps are N×C×H×W, labels N×C in +1/−1/0; the peak is the center of the first highest cell. Present classes without a
    box are left out, since their place is unknown.
    """
    hits, pairs = pointing_counts(maps, labels, boxes).sum(axis=1)
    return float(hits / pairs) if pairs else float("nan")


def pointing_counts(maps: Matrix, labels: LabelMatrix, boxes: HasBoxes) -> NDArray[np.int64]:
    """The pointing game counted [2×C]: present classes whose map peaks inside a box, and all that have a box.

    maps are N×C×H×W, labels N×C in +1/−1/0.

    Counts of batches add up to those of all images, whose maps need not be in memory at once.
    """
    stack = as_tensor(maps)
    image, label, corners = np.asarray(boxes.image), np.asarray(boxes.cls), np.asarray(boxes.xyxy)
    if stack.ndim != 4 or corners.shape != (len(image), 4) or label.shape != image.shape:
        raise TrilabelError(
            f"class maps {tuple(stack.shape)}, boxes {image.shape}, {label.shape}, {corners.shape}; "
            "give N×C×H×W maps, and M image rows, M classes and M×4 corners"
        )
    images, classes, height, width = stack.shape
    if len(image) == 0:
        return np.zeros((2, classes), np.int64)
    if min(image.min(), label.min()) < 0 or image.max() >= images or label.max() >= classes:
        raise TrilabelError(f"a box is outside the {images} images or {classes} classes; count from 0")
    highest, peak = stack.flatten(2).max(dim=2)
    truth = check_inputs(highest, labels, needs_absent=False)[1]
    signs = truth.cpu().numpy() if isinstance(truth, Tensor) else truth.toarray()
    row, column = np.divmod(peak.cpu().numpy()[image, label], width)
    x, y = (column + 0.5) / width, (row + 0.5) / height
    x0, y0, x1, y1 = corners.T
    inside = (x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)
    present = signs[image, label] > 0
    pairs = image * classes + label
    return np.stack(
        [np.bincount(np.unique(pairs[chosen]) % classes, minlength=classes) for chosen in (present & inside, present)]
    )
