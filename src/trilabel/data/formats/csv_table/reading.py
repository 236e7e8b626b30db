"""Reading the rows of a table: pandas reads it in chunks, as text, and NumPy checks for errors.

Only if there is one, `faults.refuse` reads it row by row, so that correct tables are read fast.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.data.formats._shared.table_file import DamagedTable, NameTooLong, TableFile
from trilabel.data.formats._shared.tag_lists import is_list, separator_of, tags_of
from trilabel.data.formats.csv_table.cells import NO_LABEL, CellReader
from trilabel.data.formats.csv_table.faults import refuse
from trilabel.data.formats.csv_table.layout import TableLayout
from trilabel.data.image_paths import split_name
from trilabel.data.text_files import shown
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names

_Splits = dict[str, NDArray[np.int64]]


class TableLabels(NamedTuple):
    """The contents of a table."""

    labels: Labels
    files: Names | None  # where there is such a column
    splits: _Splits
    notes: list[str]


def read_table(
    file: TableFile, layout: TableLayout, cells: CellReader, conflict: Any, separator: str | None
) -> TableLabels:
    """All labels of a table; `conflict` is for long ones, `separator` for those with tags."""
    name_size = 64
    while True:
        table = _TableReader(file, layout, cells, name_size)
        try:
            if layout.label >= 0:
                return _read_long(table, conflict)
            return _read_tags(table, separator) if layout.tags >= 0 else _read_wide(table)
        except NameTooLong:
            name_size *= 8


@dataclass(frozen=True)
class _TableReader:
    """A table being read: the open file, its layout, and the reader of its cells."""

    file: TableFile
    layout: TableLayout
    cells: CellReader
    name_size: int

    def chunks(self) -> Iterator[tuple[Names, pd.DataFrame]]:
        """Names of images and all columns of many rows at a time; after the last, an error if bytes are damaged."""
        count = 0
        try:
            for names, chunk in self.file.chunks(self.layout.image, self.name_size):
                count += len(chunk)
                yield names, chunk
        except DamagedTable:
            self.refuse(otherwise=None)
        except TrilabelError:
            raise
        except (ValueError, EOFError, OSError, zlib.error) as error:  # pandas has several kinds of ValueError
            self.refuse(f"cannot be read as a table ({str(error).strip()})")
        if not count:
            raise TrilabelError(f"{self.file.path}: no rows below the header")

    def refuse(self, otherwise: str | None = "cannot be read as a table") -> None:
        """Raises an error about the first wrong row; if there is none, one with the message `otherwise`."""
        refuse(self.file, self.layout, self.cells, otherwise)


def _read_wide(table: _TableReader) -> TableLabels:
    images, columns, parts = _Images(table), table.layout.classes, []
    for names, chunk in table.chunks():
        values = table.cells.sign_all(chunk[columns].to_numpy().ravel()).reshape(-1, len(columns))
        if (values == NO_LABEL).any():
            table.refuse()
        parts.append(sp.csr_array(values))
        images.add(chunk, np.arange(len(chunk)), names)
    codes, ids, files, splits = images.join()
    signs, notes = sp.csr_array(sp.vstack(parts, format="csr")), []
    if len(ids) < len(codes):
        first = _first_of_each(codes, len(ids))
        again = np.flatnonzero(first[codes] != np.arange(len(codes)))
        if abs(signs[again] - signs[first[codes[again]]]).nnz:
            table.refuse()
        signs, notes = sp.csr_array(signs[first]), [_repeated_note(len(again))]
    classes = Names([table.layout.header[column] for column in columns])
    return TableLabels(Labels(signs, classes, ids), files, splits, notes)


def _repeated_note(count: int) -> str:
    return f"{count} rows repeat the image and labels of an earlier one: they count once"


def _read_long(table: _TableReader, conflict: Any) -> TableLabels:
    images, classes, added, rows_read = _Images(table), {"": -1}, 0, 0
    rows, columns, values = [], [], []
    for all_names, chunk in table.chunks():
        codes, names = all_names.distinct()
        column = _codes(chunk[table.layout.label], classes)
        value = (column >= 0).astype(np.int8)
        if table.layout.value >= 0:
            value = table.cells.sign_all(chunk[table.layout.value].to_numpy())
        if (value == NO_LABEL).any() or value[column < 0].any():
            table.refuse()
        known = np.flatnonzero(value)
        rows.append((codes[known] + added).astype(np.int32))
        columns.append(column[known])
        values.append(value[known])
        images.add(chunk, codes, names)
        added += len(names)
        rows_read += len(chunk)
    codes, ids, files, splits = images.join()
    row = codes[np.concatenate(rows)].astype(np.int32)
    del rows, codes
    entries = row, np.concatenate(columns), np.concatenate(values)
    may_be_lists = not table.layout.sure and table.layout.value < 0 and len(ids) == rows_read
    _refuse_lists(table.file.path, classes, may_be_lists)
    try:
        return TableLabels(Labels.from_entries(*entries, list(classes)[1:], ids, conflict), files, splits, [])
    except TrilabelError as error:
        raise TrilabelError(f"{table.file.path}: {error}") from None


def _refuse_lists(path: Path, labels: Iterable[str], separated: bool) -> None:
    """Refuses labels that are lists in brackets, and `separated` ones that look like several."""
    for name in [name for name in labels if is_list(name)][:1]:
        raise TrilabelError(f"{path}: label {shown(name)} is a list; if cells contain several tags, pass layout='tags'")
    try:
        mark, _ = separator_of(path, dict.fromkeys(labels, 1), lists=False) if separated else ("", "")
    except TrilabelError as error:
        raise TrilabelError(f"{error} and layout='tags'; or pass layout='long', if every row has one label") from None
    if mark:
        example = next(name for name in labels if mark in name)
        raise TrilabelError(
            f"{path}: label {shown(example)} looks like several tags; pass layout='tags', or layout='long' if it is one"
        )


def _read_tags(table: _TableReader, separator: str | None) -> TableLabels:
    images, lists, parts = _Images(table), {"": -1}, []
    for names, chunk in table.chunks():
        parts.append(_codes(chunk[table.layout.tags], lists))
        images.add(chunk, np.arange(len(chunk)), names)
    codes, ids, files, splits = images.join()
    cell, notes = np.concatenate(parts), []
    if len(ids) < len(codes):
        first = _first_of_each(codes, len(ids))
        if (cell != cell[first[codes]]).any():
            table.refuse()
        cell, notes = cell[first], [_repeated_note(len(codes) - len(ids))]
    if separator is None:
        rows = np.bincount(cell + 1, minlength=len(lists))[1:].tolist()
        separator, note = separator_of(table.file.path, dict(zip(list(lists)[1:], rows, strict=True)))
        notes += [note] if note else []
    of = [*[tags_of(text, separator) for text in lists if text], []]  # equal cells once; the last, −1, is the empty one
    classes = Names(dict.fromkeys(tag for tags in of for tag in tags))
    if not len(classes):
        raise TrilabelError(f"{table.file.path}: no image has a tag")
    sizes = np.array([len(tags) for tags in of])
    columns = np.split(classes.positions(Names(tag for tags in of for tag in tags)), np.cumsum(sizes)[:-1])
    column = np.concatenate([columns[code] for code in cell.tolist()])
    row = np.repeat(np.arange(len(ids)), sizes[cell])
    labels = Labels.from_entries(row, column, np.ones(len(row), np.int8), classes, ids)
    return TableLabels(labels, files, splits, notes)


class _Images:
    """The images of a table, collected chunk by chunk: names, and files and splits if there are such columns."""

    def __init__(self, table: _TableReader) -> None:
        self.table = table
        self.names: list[Names] = []
        self.files: list[Names] = []
        self.splits: list[NDArray[np.int32]] = []
        self.split_names = {"": -1}

    def add(self, chunk: pd.DataFrame, codes: NDArray[Any], names: Names) -> None:
        """Adds the images of a chunk; row i is about names[codes[i]]."""
        self.names.append(names)
        first = _first_of_each(codes, len(names))
        if self.table.layout.file >= 0:
            self.files.append(Names(chunk[self.table.layout.file].to_numpy()[first]))
        if self.table.layout.split >= 0:
            self.splits.append(
                self._one(_codes(chunk[self.table.layout.split], self.split_names, split_name), codes, first)
            )

    def join(self) -> tuple[NDArray[np.int64], Names, Names | None, _Splits]:
        """(codes, ids, files, splits): every image once; the i-th that was added is ids[codes[i]]."""
        joined = Names.join(self.names)
        self.names.clear()  # avoids having nine million names in memory twice
        codes, ids = joined.distinct()
        if not np.diff(ids.offsets).all():
            self.table.refuse()
        first = _first_of_each(codes, len(ids)) if self.files or self.splits else codes[:0]
        files = Names.join(self.files).take(first) if self.files else None
        of = self._one(np.concatenate(self.splits), codes, first) if self.splits else codes[:0]
        return codes, ids, files, {name: np.flatnonzero(of == i) for name, i in self.split_names.items() if name}

    def _one(self, of: NDArray[np.int32], codes: NDArray[Any], first: NDArray[Any]) -> NDArray[np.int32]:
        """The split of each image, after a check that all its rows agree."""
        split: NDArray[np.int32] = of[first]
        if (of != split[codes]).any():
            self.table.refuse()
        return split


def _first_of_each(codes: NDArray[Any], count: int) -> NDArray[np.int64]:
    """The first position of each of the codes 0 … count − 1."""
    first = np.empty(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last of several writes to one place stays
    return first


def _codes(column: "pd.Series[Any]", known: dict[str, int], name: Callable[[str], str] = str) -> NDArray[np.int32]:
    """The number of each cell's text; new texts are added to `known`, which starts out as {"": -1}."""
    codes, texts = pd.factorize(column.to_numpy())
    return np.array([known.setdefault(text, len(known) - 1) for text in map(name, texts)], np.int32)[codes]
