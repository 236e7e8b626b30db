"""Dataset: images, their labels and their splits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.printable import plural

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, repr=False)
class Dataset:
    """Row i is image ids[i], found at paths[i] (or images[i]), with labels row i.

    `splits` maps a name ("train", "val", "test", …) to row numbers. `truth` holds the full labels where they are
    known and `labels` had some hidden on purpose: it is for scoring and diagnosis, never for learning.
    `notes` lists the rules that the reader applied (for example what an empty cell means).
    """

    ids: Sequence[str]
    paths: Sequence[str] | None
    labels: Labels
    splits: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    boxes: Boxes | None = None
    images: "torch.Tensor | None" = None  # N×3×H×W uint8, if the images are already in memory
    truth: Labels | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, rows in (
            ("ids", self.ids),
            ("paths", self.paths),
            ("images", self.images),
            ("truth", self.truth),
        ):
            if rows is not None and len(rows) != len(self.labels):
                raise TrilabelError(f"data set with {len(self.labels)} rows of labels but {len(rows)} {what}")
        if self.paths is None and self.images is None:
            raise TrilabelError("a data set needs paths of images or the images themselves")
        for name, index in self.splits.items():
            if len(index) and (index.min() < 0 or index.max() >= len(self.labels)):
                raise TrilabelError(f"split {name!r} contains rows that the data set does not have")

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        splits = "".join(f", {name} {len(rows):,}" for name, rows in self.splits.items())
        return f"Dataset({self.labels!r}{splits})"

    @property
    def classes(self) -> Sequence[str]:
        """Class names, in column order."""
        return self.labels.classes

    def rows_of(self, split: str) -> NDArray[np.int64]:
        """Row numbers of a split; "all" is every row, unless the data set has a split of that name."""
        if split == "all" and split not in self.splits:
            return np.arange(len(self))
        if split not in self.splits:
            known = ", ".join(self.splits) or "none"
            raise TrilabelError(f"no split named {split!r} in this data set (it has: {known}); all takes every image")
        return self.splits[split]

    def first_split(self) -> tuple[list[str], NDArray[np.int64]]:
        """(the split of each image, "" for none and the first of several; rows of the images in several)."""
        split, times = np.full(len(self), "", object), np.zeros(len(self), np.int64)
        for name, rows in reversed(list(self.splits.items())):
            split[rows] = name
            times[rows] += 1
        return list(split), np.flatnonzero(times > 1)

    def images_of(self, rows: NDArray[np.int64]) -> "tuple[torch.Tensor | None, Sequence[str] | None]":
        """(images in memory, paths) of these rows; one of the two is None."""
        if self.images is not None:
            return self.images[rows], None
        paths = self.paths or ()
        take = getattr(paths, "take", None)  # selects millions of paths without creating strings
        return None, take(rows) if take else [paths[row] for row in rows.tolist()]

    def take(self, rows: NDArray[np.int64]) -> "Dataset":
        """Only these images, in this order."""
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        splits = {name: place[of][place[of] >= 0] for name, of in self.splits.items()}
        boxes = None
        if self.boxes is not None:
            kept = np.flatnonzero(place[self.boxes.image] >= 0)
            boxes = Boxes(place[self.boxes.image[kept]], self.boxes.cls[kept], self.boxes.xyxy[kept])
        labels = self.labels[rows]
        images, paths = self.images_of(rows)
        truth = None if self.truth is None else self.truth[rows]
        return Dataset(labels.ids, paths, labels, splits, boxes, images, truth, self.notes)

    def with_labels(self, labels: Labels) -> "Dataset":
        """The same images with other labels (for example some of them hidden); the previous labels become the truth."""
        return replace(self, labels=labels, truth=self.truth or self.labels)

    def with_split_off(self, name: str, share: float, of: str = "train", seed: int = 0) -> "Dataset":
        """Moves a random share of split `of`, or a number of its images (an int), into a new split `name`."""
        rows = self.rows_of(of)
        if isinstance(share, int):
            count = share if 0 < share < len(rows) else 0
        elif 0 < share < 1:
            count = min(max(1, round(share * len(rows))), len(rows) - 1)
        else:
            raise TrilabelError(f"a share of images to hold out must be between 0 and 1, not {share}")
        shuffled = np.random.default_rng(seed).permutation(rows)
        if count < 1:
            raise TrilabelError(f"split {of!r} has {plural(len(rows), 'image')}: too few to hold out a share")
        parts = {name: np.sort(shuffled[:count]), of: np.sort(shuffled[count:])}
        return replace(self, splits={**self.splits, **parts})


def no_data(given: object) -> TrilabelError:
    """The error about something that names no data: it says what does."""
    kind = type(given).__name__
    if kind == "DataFrame":
        return TrilabelError(
            "data: a DataFrame; give the path of a file (table.to_csv writes one), or a tl.data.Dataset with "
            "tl.Labels.from_frame(table)"
        )
    return TrilabelError(f"data: {kind}; give the path of a file or folder, or a tl.data.Dataset")
