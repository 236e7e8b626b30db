"""trilabel's own file, with splits, boxes, and images that are not where the ids say."""

from pathlib import Path

import numpy as np

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.formats.native import write as write_native
from trilabel.data.image_paths import RootedPaths
from trilabel.labels import Labels

SIGNED = [[1, -1, 0], [0, 0, 0], [-1, 1, 1], [1, 0, 0]]


def dataset(root: Path) -> Dataset:
    labels = Labels.from_signed(SIGNED, ["Katze, groß", "dog", "鳥"], ["1", "2", "drei", "4"])
    paths = RootedPaths(root / "photos", [f"{name}.jpg" for name in labels.ids])
    boxes = Boxes(np.array([0, 2]), np.array([0, 2]), np.array([[0, 0, 0.5, 1], [0.1, 0.2, 0.3, 0.4]], np.float32))
    splits = {"train": np.array([0, 1]), "test": np.array([2])}
    return Dataset(labels.ids, paths, labels, splits, boxes, notes=("empty cells are unknown",))


def write(root: Path) -> Path:
    write_native(dataset(root), root / "labels.trilabel")
    return root / "labels.trilabel"
