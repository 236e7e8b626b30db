"""Open Images V3 to V7: labels verified by people, and on request those of a machine, for millions of images."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.table_file import DamagedTable, NameTooLong, TableFile
from trilabel.data.formats.openimages.files import LEFT_OUT, ClassChoice, label_files
from trilabel.data.image_paths import locate
from trilabel.data.options import check_choice
from trilabel.data.text_files import shown
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names

RULE = "verified with confidence 1: present, with 0: absent; everything else is unknown"
_NO_LABEL = 2  # marks text that is not a confidence
_Sign = Callable[[str], int]
_LabelFile = tuple[str, Path, _Sign]  # split, file, the label of a confidence
_Splits = dict[str, NDArray[np.int64]]


def detect(path: Path) -> bool:
    """Whether this folder, or one inside it, has label files named as Open Images names them."""
    return path.is_dir() and bool(label_files(path, "human", boxable=False))


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    classes: Literal["all", "trainable", "boxable"] = "all",
    machine: float | None = None,
) -> Dataset:
    """Reads the label files of all splits in the folder.

    `classes` "trainable" or "boxable" reads only the classes that the release lists as such. `machine` adds as present
    the labels that a machine gave at least this confidence and nobody verified.
    """
    check_choice(path, "classes", classes, ("all", "trainable", "boxable"))
    if machine is not None and not 0 < machine <= 1:
        raise TrilabelError(f"{path}: machine={machine}: a confidence must be above 0 and at most 1")
    wanted = ClassChoice(path, classes)
    sources = [(split, file, _verified) for split, file in _files(path, "human", classes).items()]
    notes = [RULE, "labels verified both ways are unknown"]
    if machine is not None:
        given = partial(_given, machine)
        sources += [(split, file, given) for split, file in _files(path, "machine", classes).items()]
        notes.append(f"labels that a machine gave confidence {machine:g} or more and nobody verified are present")
    labels, splits = _read(path, sources, wanted)
    if classes == "all":
        labels = _of_classes_that_occur(labels)
    paths, missing = locate(images or path, labels.ids)
    if missing:
        notes.append(f"{missing} of {len(labels)} images have no file in {paths.root}")
    return Dataset(labels.ids, paths, labels, splits, notes=(*notes, *wanted.notes()))


def _verified(text: str) -> int:
    return {1.0: 1, 0.0: -1}.get(_number(text), _NO_LABEL)


def _given(least: float, text: str) -> int:
    confidence = _number(text)
    return int(confidence >= least) if 0 <= confidence <= 1 else _NO_LABEL


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _files(path: Path, kind: Literal["human", "machine"], classes: str) -> dict[str, Path]:
    files = label_files(path, kind, boxable=classes == "boxable")
    if not files:
        raise TrilabelError(f"{path}: no label file such as train-annotations-{kind}-imagelabels.csv here")
    return files


def _read(path: Path, sources: Sequence[_LabelFile], wanted: ClassChoice) -> tuple[Labels, _Splits]:
    """The labels of all files, those verified by people first; an image is in the split of the files that list it."""
    parts: list[Names] = []
    rows, columns, values, split_of = [], [], [], []
    names = list(dict.fromkeys(split for split, _, _ in sources))
    added = verified = 0
    for split, file, sign in sources:
        for images, column, value in _pieces(file, wanted, sign):
            codes, distinct = images.distinct()
            known = np.flatnonzero((value != 0) & (column != LEFT_OUT))
            rows.append((codes[known] + added).astype(np.int32))
            columns.append(column[known])
            values.append(value[known])
            parts.append(distinct)
            split_of.append(np.full(len(distinct), names.index(split), np.int8))
            added += len(distinct)
            verified += len(known) if sign is _verified else 0
    joined = Names.join(parts)
    parts.clear()  # avoids having nine million names in memory twice
    codes, ids = joined.distinct()
    row = codes[np.concatenate(rows)].astype(np.int32)
    rows.clear()
    entries = row, np.concatenate(columns), np.concatenate(values)
    columns.clear()
    if verified < len(row):
        entries = _without_those_verified(*entries, verified)
    labels = Labels.from_entries(*entries, wanted.names(), ids, "unknown")
    return labels, _splits(path, names, np.concatenate(split_of), codes, ids)


def _without_those_verified(
    row: NDArray[np.int32], column: NDArray[np.int32], value: NDArray[np.int8], verified: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int8]]:
    """The entries without those of a machine about labels that people verified, even if people disagreed."""
    key = row.astype(np.int64) * (int(column.max(initial=0)) + 1) + column
    kept = np.concatenate([np.arange(verified), verified + np.flatnonzero(~np.isin(key[verified:], key[:verified]))])
    return row[kept], column[kept], value[kept]


def _splits(path: Path, names: list[str], of: NDArray[np.int8], codes: NDArray[np.int64], ids: Names) -> _Splits:
    """Rows of each split, after a check that every image is in only one."""
    split = np.empty(len(ids), np.int8)
    split[codes] = of
    for twice in np.flatnonzero(split[codes] != of)[:1]:
        both = f"{names[of[twice]]!r} and {names[split[codes[twice]]]!r}"
        raise TrilabelError(f"{path}: image {ids[int(codes[twice])]!r} is in splits {both}; remove it from one of them")
    return {name: np.flatnonzero(split == number) for number, name in enumerate(names)}


def _of_classes_that_occur(labels: Labels) -> Labels:
    """The labels without empty columns; `labels[:, …]` would make a second copy of them first."""
    occurs = np.bincount(labels.csr.indices, minlength=labels.shape[1]) > 0
    columns = (np.cumsum(occurs) - 1).astype(labels.csr.indices.dtype)[labels.csr.indices]
    shape = len(labels), int(occurs.sum())
    csr = sp.csr_array((labels.csr.data, columns, labels.csr.indptr), shape=shape)
    return Labels(csr, labels.classes.take(np.flatnonzero(occurs)), labels.ids)


# ---- one file


class _Columns(NamedTuple):
    image: int
    label: int
    confidence: int


def _columns(file: TableFile) -> _Columns:
    try:
        return _Columns(*(file.header.index(name) for name in ("ImageID", "LabelName", "Confidence")))
    except ValueError:
        names = "ImageID, LabelName and Confidence"
        raise TrilabelError(f"{file.path}, row 1: the columns {names} are not all here") from None


def _pieces(
    path: Path, wanted: ClassChoice, sign: _Sign
) -> Iterator[tuple[Names, NDArray[np.int32], NDArray[np.int8]]]:
    """(image, column, value) of all rows of a file, many at a time."""
    count = 0
    with TableFile(path, ",") as file:
        columns = _columns(file)
        try:
            for names, chunk in file.chunks(columns.image, name_size=64):
                codes, labels = pd.factorize(chunk[columns.label].to_numpy())
                value = _each(chunk[columns.confidence].to_numpy(), sign)
                if "" in labels or (value == _NO_LABEL).any() or not np.diff(names.offsets).all():
                    _refuse(file, columns, sign)
                yield names, wanted.columns(labels)[codes], value
                count += len(chunk)
        except DamagedTable:
            _refuse(file, columns, sign)
        except (pd.errors.ParserError, UnicodeDecodeError, EOFError, OSError, zlib.error, NameTooLong) as error:
            _refuse(file, columns, sign, str(error).strip() or "an image id of 64 letters or more")
    if not count:
        raise TrilabelError(f"{path}: no rows below the header")


def _each(cells: NDArray[Any], sign: _Sign) -> NDArray[np.int8]:
    """`sign` of every cell, found once for each of the few different texts."""
    codes, texts = pd.factorize(cells)
    return np.array([sign(text) for text in texts], np.int8)[codes]


def _refuse(file: TableFile, columns: _Columns, sign: _Sign, otherwise: str = "") -> None:
    """Raises an error about the first wrong row."""
    for line, row in file.rows():
        where = f"{file.path}, row {line}"
        if len(row) != len(file.header):
            raise TrilabelError(f"{where}: {len(row)} cells, but the header has {len(file.header)}")
        if not row[columns.image] or not row[columns.label]:
            raise TrilabelError(f"{where}: an image and a class must be named")
        if sign(row[columns.confidence]) == _NO_LABEL:
            allowed = "1 (present) or 0 (absent)" if sign is _verified else "between 0 and 1"
            raise TrilabelError(f"{where}: confidence {shown(row[columns.confidence])} is not {allowed}")
    if otherwise:
        raise TrilabelError(f"{file.path}: cannot be read as a table ({otherwise})")
