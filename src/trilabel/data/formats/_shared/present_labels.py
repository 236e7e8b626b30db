"""What formats without absent labels can hold: present labels, and boxes of these."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.labels import Labels

BoxesOfImages = dict[int, list[tuple[int, tuple[float, float, float, float]]]]  # by row: class, and corners as shares


def present_columns(labels: Labels) -> Iterator[list[int]]:
    """The columns of the present labels of each image."""
    present: NDArray[np.bool_] = labels.csr.data > 0
    ends = np.concatenate(([0], np.cumsum(present)))[labels.csr.indptr]
    columns = labels.csr.indices[present]
    return (columns[start:end].tolist() for start, end in pairwise(ends.tolist()))


def boxes_of_present(dataset: Dataset, notes: list[str]) -> Boxes:
    """The boxes of present labels; `notes` gets the number of others, which whoever reads would take for present."""
    boxes = dataset.boxes or Boxes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 4), np.float32))
    known = dataset.labels.csr.tocoo()
    present = (known.row.astype(np.int64) * dataset.labels.shape[1] + known.col)[known.data > 0]
    kept = np.isin(boxes.image * dataset.labels.shape[1] + boxes.cls, present)
    if not kept.all():
        notes.append(f"{(~kept).sum()} boxes of labels that are not present are not written")
    return Boxes(boxes.image[kept], boxes.cls[kept], boxes.xyxy[kept])


def by_image(boxes: Boxes) -> BoxesOfImages:
    """The boxes of each image that has some."""
    found: BoxesOfImages = defaultdict(list)
    corners = boxes.xyxy.astype(np.float64).tolist()
    for row, cls, (left, top, right, bottom) in zip(boxes.image.tolist(), boxes.cls.tolist(), corners, strict=True):
        found[row].append((cls, (left, top, right, bottom)))
    return found


def note_lost(dataset: Dataset, notes: list[str], absent: bool = True) -> None:
    """Notes on images in several splits, on splits without images and, with `absent`, on absent labels."""
    if absent and (count := int((dataset.labels.csr.data < 0).sum())):
        notes.append(f"{count:,} absent labels are not written: the format has none")
    _, several = dataset.first_split()
    if len(several):
        notes.append(f"{len(several)} images are in more than one split: only the first is written")
    if empty := sum(not len(rows) for rows in dataset.splits.values()):
        notes.append(f"{empty} splits without images are left out")
