"""The rows of a table with a row per box, read many at a time; a fault is then searched for row by row."""

import zlib
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trilabel.data.formats._shared.table_file import DamagedTable, NameTooLong, TableFile
from trilabel.data.formats.box_table.columns import BoxColumns
from trilabel.data.image_paths import split_name
from trilabel.data.text_files import shown
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names

_NOTHING = {"", "nan", "na", "null", "none"}  # for a box or size that is not there


class Rows(NamedTuple):
    """What all rows say, N of them."""

    ids: Names  # every image once
    image: NDArray[np.int64]  # N: of the ids
    label: NDArray[np.int64]  # N: of the classes, −1 for none
    classes: list[str]
    numbers: NDArray[np.float64]  # N×4 or N×6: the box and the size of the image; NaN where there is none
    splits: list[str]  # of each image; empty if there is no such column


def read_rows(file: TableFile, columns: BoxColumns) -> Rows:
    """All rows of the table."""
    name_size = 64
    while True:
        try:
            return _read(file, columns, name_size)
        except NameTooLong:
            name_size *= 8


def _read(file: TableFile, columns: BoxColumns, name_size: int) -> Rows:
    names: list[Names] = []
    classes: dict[str, int] = {"": -1}
    split_names: dict[str, int] = {"": -1}
    labels, numbers, splits = [], [], []
    try:
        for images, chunk in file.chunks(columns.image, name_size):
            found, wrong = _numbers(chunk, (*columns.box, *columns.size))
            if wrong or not np.diff(images.offsets).all():
                _refuse(file, columns)
            names.append(images)
            numbers.append(found)
            labels.append(_codes(chunk[columns.label], classes))
            if columns.split >= 0:
                splits.append(_codes(chunk[columns.split], split_names))
    except DamagedTable:
        _refuse(file, columns)
    except (pd.errors.ParserError, UnicodeDecodeError, EOFError, OSError, zlib.error) as error:
        _refuse(file, columns, str(error).strip())
    if not any(map(len, names)):
        raise TrilabelError(f"{file.path}: no rows below the header")
    image, ids = Names.join(names).distinct()
    split_of = _split_of(file, ids, image, np.concatenate(splits), list(split_names)[1:]) if splits else []
    return Rows(ids, image, np.concatenate(labels), list(classes)[1:], np.concatenate(numbers), split_of)


def _codes(column: "pd.Series[Any]", known: dict[str, int]) -> NDArray[np.int64]:
    codes, texts = pd.factorize(column.to_numpy())
    return np.array([known.setdefault(text.strip(), len(known) - 1) for text in texts], np.int64)[codes]


def _numbers(chunk: pd.DataFrame, columns: tuple[int, ...]) -> tuple[NDArray[np.float64], bool]:
    """The numbers in these columns, NaN for what is not there; and whether a cell is neither."""
    found, odd = [], set[str]()
    for column in columns:
        numbers = pd.to_numeric(chunk[column], errors="coerce").to_numpy(np.float64)
        odd |= set(chunk[column].to_numpy()[np.isnan(numbers)])
        found.append(numbers)
    return np.stack(found, 1), not {text.strip().lower() for text in odd} <= _NOTHING


def _split_of(
    file: TableFile, ids: Names, image: NDArray[np.int64], split: NDArray[np.int64], names: list[str]
) -> list[str]:
    of = np.full(len(ids), -1)
    of[image] = split
    for row in np.flatnonzero(of[image] != split)[:1].tolist():
        raise TrilabelError(f"{file.path}: image {ids[int(image[row])]!r} is in two splits; choose one")
    usual = [*map(split_name, names), ""]
    return [usual[code] for code in of.tolist()]


def _refuse(file: TableFile, columns: BoxColumns, otherwise: str = "its bytes are damaged") -> None:
    """Raises an error about the first wrong row."""
    for line, row in file.rows():
        where = f"{file.path}, row {line}"
        if len(row) != len(file.header):
            raise TrilabelError(f"{where}: {len(row)} cells, but the header has {len(file.header)}")
        if not row[columns.image].strip():
            raise TrilabelError(f"{where}: the image has no name")
        for column in (*columns.box, *columns.size):
            if not _is_number(row[column]):
                name = shown(file.header[column])
                raise TrilabelError(f"{where}: {shown(row[column])} in column {name} is not a number; correct it")
    raise TrilabelError(f"{file.path}: cannot be read as a table ({otherwise})")


def _is_number(text: str) -> bool:
    return text.strip().lower() in _NOTHING or not np.isnan(pd.to_numeric(pd.Series([text]), errors="coerce")[0])
