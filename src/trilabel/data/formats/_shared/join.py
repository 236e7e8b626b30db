"""Several files that are the splits of one data set."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.image_paths import RootedPaths
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names

Part = tuple[str, str, Dataset]  # its split, what to write before its ids, its images


def join_parts(path: Path, parts: Sequence[Part]) -> Dataset:
    """All images of the parts, each in its split unless it has splits of its own.

    A class that only some parts have is unknown in the images of the others. An image in two parts is refused.
    """
    starts = np.cumsum([0, *(len(part) for _, _, part in parts)])
    ids = Names(before + name for _, before, part in parts for name in part.ids)
    _refuse_repeats(path, parts, ids, starts)
    classes = Names(dict.fromkeys(name for _, _, part in parts for name in part.classes))
    columns = [classes.positions(part.labels.classes) for _, _, part in parts]
    matrices = []
    for (_, _, part), column in zip(parts, columns, strict=True):
        csr, shape = part.labels.csr, (len(part), len(classes))
        matrices.append(sp.csr_array((csr.data, column[csr.indices], csr.indptr), shape=shape))
    matrix = sp.csr_array(sp.vstack(matrices, format="csr"))
    matrix.sort_indices()
    labels = Labels(matrix, classes, ids)
    return Dataset(
        ids,
        RootedPaths("", Names(chain.from_iterable(part.paths or () for _, _, part in parts))),
        labels,
        _splits(parts, starts),
        _boxes(parts, columns, starts),
        notes=_notes(parts, len(classes)),
    )


def _refuse_repeats(path: Path, parts: Sequence[Part], ids: Names, starts: NDArray[np.int64]) -> None:
    codes, distinct = ids.distinct()
    if len(distinct) == len(ids):
        return
    first = np.full(len(distinct), -1)
    for row, code in enumerate(codes.tolist()):
        if first[code] >= 0:
            one, two = (parts[int(np.searchsorted(starts, at, "right")) - 1][0] for at in (first[code], row))
            raise TrilabelError(f"{path}: image {ids[row]!r} is in splits {one!r} and {two!r}; remove it from one")
        first[code] = row


def _splits(parts: Sequence[Part], starts: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    found: dict[str, list[NDArray[np.int64]]] = {}
    for (split, _, part), start in zip(parts, starts[:-1], strict=True):
        for name, rows in (part.splits or {split: np.arange(len(part))}).items():
            found.setdefault(name, []).append(rows + start)
    return {name: np.concatenate(rows) for name, rows in found.items()}


def _boxes(parts: Sequence[Part], columns: Sequence[NDArray[np.int64]], starts: NDArray[np.int64]) -> Boxes | None:
    drawn = [
        (part.boxes.image + start, column[part.boxes.cls], part.boxes.xyxy)
        for (_, _, part), column, start in zip(parts, columns, starts[:-1], strict=True)
        if part.boxes is not None
    ]
    return Boxes(*(np.concatenate(arrays) for arrays in zip(*drawn, strict=True))) if drawn else None


def _notes(parts: Sequence[Part], classes: int) -> tuple[str, ...]:
    by_note: dict[str, list[str]] = {}
    for split, _, part in parts:
        for note in part.notes:
            by_note.setdefault(note, []).append(split)
    notes = [note if len(splits) == len(parts) else f"{', '.join(splits)}: {note}" for note, splits in by_note.items()]
    partial = [split for split, _, part in parts if len(part.classes) < classes]
    if partial:
        notes.append(f"some classes are not in {', '.join(partial)}: they are unknown in these images")
    return tuple(notes)
