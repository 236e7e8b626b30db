"""Columns for writing tables: the labels of each image, and its split."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

_CELLS = 1 << 20  # at once


def label_cells(labels: Labels, floats: bool = False) -> Iterator[list[str]]:
    """The cells of each image, one per class: "1" is present, "0" absent, "" unknown.

    With `floats` they are "1.0" and "0.0" in classes with unknown labels: programs that guess types take a column with
    empty cells for floats, and find different types where other rows of it have none.
    """
    texts = np.array([["0", "", "1"], ["0.0", "", "1.0"]], object)
    known = np.bincount(labels.csr.indices, minlength=labels.shape[1])
    kind = ((known < len(labels)) & floats).astype(np.int8)
    step = _CELLS // labels.shape[1] + 1
    for start in range(0, len(labels), step):
        yield from texts[kind, labels.csr[start : start + step].toarray() + 1].tolist()


def split_column(dataset: Dataset, path: Path) -> list[str]:
    """The split of each image, which must be unique."""
    split, several = dataset.first_split()
    for row in several[:1].tolist():
        both = [repr(name) for name, rows in dataset.splits.items() if row in rows][:2]
        raise TrilabelError(f"{path}: image {dataset.ids[row]!r} is in splits {' and '.join(both)}; a table allows one")
    return split
