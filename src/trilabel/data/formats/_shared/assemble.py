"""From the entries of a reader to a `Dataset`."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.image_paths import split_name
from trilabel.data.memory import free_host_memory
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

Entry = tuple[int, int, int]  # image, class, +1 or −1
Box = tuple[int, int, float, float, float, float]  # image, class; left, top, right, bottom as shares of the image
_BYTES_A_LABEL = 12  # of the matrix and of what it is made from
Unlisted = Literal["absent", "unknown"]  # the value of a label that an annotated image does not list


def assemble(
    path: Path,
    *,
    ids: Sequence[str],
    paths: Sequence[str],
    classes: Sequence[str],
    entries: Iterable[Entry] | NDArray[np.int64],
    absent_in: Sequence[int] | NDArray[np.int64] = (),
    split_of: Sequence[str] = (),
    boxes: Iterable[Box] | NDArray[np.float64] | None = None,
    notes: Iterable[str] = (),
) -> Dataset:
    """A data set of the images `ids` at `paths`; `path` is what was read, for messages.

    An entry may be given more than once; a label with entries that disagree is unknown, and a note counts them. In the
    images `absent_in` every label without an entry is absent, in the others unknown. `split_of` names the split of
    each image ("" for none).
    """
    rows, columns, signs = _table(entries, 3, np.int64).T
    try:
        labels = Labels.from_entries(rows, columns, signs.astype(np.int8), classes, ids, "unknown")
    except TrilabelError as error:
        raise TrilabelError(f"{path}: {error}") from None
    keys = rows * len(classes) + columns
    contested = np.intersect1d(keys[signs > 0], keys[signs < 0]) if (signs < 0).any() else keys[:0]
    if len(absent_in):
        labels = fill_absent(path, labels, np.asarray(absent_in, np.int64), contested)
    notes = list(notes)
    if len(contested):
        notes.append(f"{len(contested)} labels are given both as present and as absent: they are unknown")
    return Dataset(
        labels.ids, paths, labels, _splits(split_of), None if boxes is None else _boxes(boxes), notes=tuple(notes)
    )


def numbers_first(name: str) -> tuple[int, int, str]:
    """Sorts names of classes: numbers as numbers, then other names."""
    number = name.isascii() and name.isdigit()
    return (0, int(name[:18]), name) if number else (1, 0, name)


def _table(rows: Iterable[tuple[Any, ...]] | NDArray[Any], width: int, dtype: Any) -> NDArray[Any]:
    if isinstance(rows, np.ndarray):
        return rows.reshape(-1, width).astype(dtype)
    return np.fromiter(chain.from_iterable(rows), dtype).reshape(-1, width)


def check_fits(path: Path, images: int, classes: int) -> None:
    """Refuses images with labels of all classes if these do not fit into memory, before any is made."""
    needed, free = images * classes * _BYTES_A_LABEL, free_host_memory()
    if needed > free:
        raise TrilabelError(
            f"{path}: {images:,} images × {classes:,} classes that are all present or absent need "
            f"{needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free; leave out some, or read labels that "
            "are not listed as unknown"
        )


def fill_absent(
    path: Path, labels: Labels, absent_in: NDArray[np.int64], contested: NDArray[np.int64] | None = None
) -> Labels:
    """The labels with unknown ones in the images `absent_in` made absent, except contested ones."""
    images, classes = labels.shape
    check_fits(path, len(absent_in), classes)
    sizes = np.diff(labels.csr.indptr).astype(np.int64)
    filled = np.zeros(images, bool)
    filled[absent_in] = True
    ends = np.zeros(images + 1, np.int64)
    np.cumsum(np.where(filled, classes, sizes), out=ends[1:])
    # A filled row has every class in order, so a label's place in it is its column; other rows are copied.
    row = np.repeat(np.arange(images), sizes)
    within = np.arange(len(row)) - labels.csr.indptr[row]
    place = ends[row] + np.where(filled[row], labels.csr.indices, within)
    values = np.full(ends[-1], -1, np.int8)
    values[place] = labels.csr.data
    columns = np.empty(ends[-1], np.int32)
    columns[np.repeat(filled, np.diff(ends))] = np.tile(np.arange(classes, dtype=np.int32), int(filled.sum()))
    columns[place] = labels.csr.indices
    if contested is not None:
        contested = contested[filled[contested // classes]]
        values[ends[contested // classes] + contested % classes] = 0
    csr = sp.csr_array((values, columns, ends), shape=labels.shape)
    csr.eliminate_zeros()
    return Labels(csr, labels.classes, labels.ids)


def _splits(split_of: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    names = {text: split_name(text) for text in dict.fromkeys(split_of)}
    of = np.array([names[text] for text in split_of], object)
    return {name: np.flatnonzero(of == name) for name in dict.fromkeys(names.values()) if name}


def _boxes(boxes: Iterable[Box] | NDArray[np.float64]) -> Boxes:
    table = _table(boxes, 6, np.float64)
    corners = np.nan_to_num(table[:, 2:]).clip(0, 1).astype(np.float32)
    return Boxes(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), corners)
