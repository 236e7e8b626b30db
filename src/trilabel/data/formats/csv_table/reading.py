"""Reading the rows of a table: fast where nothing is wrong with it, and row by row to say what is where something is.

Pandas reads a table in pieces, as text, and NumPy finds out *whether* something is wrong with it. Only then does
`_refuse` walk through it, so that tables without faults are read fast.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.data.formats._shared.table_file import TAG_COLUMNS, NameTooLong, Table
from trilabel.data.formats.csv_table.tag_lists import is_list, tags_of, usual_separator
from trilabel.data.image_paths import split_name
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names

SIGNS = {"": 0, "1": 1, "1.0": 1, "true": 1, "false": -1, "0": -1, "0.0": -1, "-1": -1, "-1.0": -1}
_NO_LABEL = 2  # stands for the text of a cell that is no label
_Splits = dict[str, NDArray[np.int64]]
_Found = tuple[Labels, Names | None, _Splits]  # labels, files where there is such a column, rows of each split


@dataclass
class Cells:
    """What the text of a cell says, and which texts there were."""

    signs: dict[str, int]
    seen: set[str] = field(default_factory=set)

    def sign(self, text: str) -> int:
        """+1, −1 or 0, or _NO_LABEL."""
        return self.signs.get(text.strip().lower(), _NO_LABEL)

    def sign_all(self, cells: NDArray[Any]) -> NDArray[np.int8]:
        """`sign` of every cell, worked out once for each of the few texts that stand in them."""
        codes, texts = pd.factorize(cells)
        self.seen.update(text.strip().lower() for text in texts)
        return np.array([self.sign(text) for text in texts], np.int8)[codes]


def read_table(table: Table, cells: Cells, rule: Any) -> _Found:
    """All labels of a table; `rule` is what becomes of contradictions in a long one, or what separates tags."""
    layout = _read_long if table.label >= 0 else _read_tags if table.tags >= 0 else _read_wide
    name_size = 64
    while True:
        try:
            return layout(table, cells, rule, name_size)
        except NameTooLong:
            name_size *= 8


def _chunks(table: Table, cells: Cells, name_size: int) -> Iterator[tuple[Names, pd.DataFrame]]:
    """The table's chunks, and after the last an error if something was wrong that pandas does not mention."""
    rows = 0
    try:
        for names, chunk in table.chunks(name_size):
            rows += len(chunk)
            yield names, chunk
    except (ValueError, EOFError, OSError, zlib.error) as error:  # pandas has several kinds of ValueError
        _refuse(table, cells, f"cannot be read as a table ({str(error).strip()})")
    if not rows:
        raise TrilabelError(f"{table.path}: no rows below the header")
    if not table.looks_whole(rows):
        _refuse(table, cells, otherwise=None)


def _read_wide(table: Table, cells: Cells, _: Any, name_size: int) -> _Found:
    images, parts = _Images(table, cells), []
    for names, chunk in _chunks(table, cells, name_size):
        values = cells.sign_all(chunk[table.classes].to_numpy().ravel()).reshape(-1, len(table.classes))
        if (values == _NO_LABEL).any():
            _refuse(table, cells)
        parts.append(sp.csr_array(values))
        images.add(chunk, np.arange(len(chunk)), names)
    codes, ids, files, splits = images.join()
    if len(ids) < len(codes):
        _refuse(table, cells)
    classes = Names([table.header[column] for column in table.classes])
    return Labels(sp.csr_array(sp.vstack(parts, format="csr")), classes, ids), files, splits


def _read_long(table: Table, cells: Cells, conflict: Any, name_size: int) -> _Found:
    images, classes, added = _Images(table, cells), {"": -1}, 0
    rows, columns, values = [], [], []
    for all_names, chunk in _chunks(table, cells, name_size):
        codes, names = all_names.distinct()
        column = _codes(chunk[table.label], classes)
        value = (column >= 0).astype(np.int8)
        if table.value >= 0:
            value = cells.sign_all(chunk[table.value].to_numpy())
        if (value == _NO_LABEL).any() or value[column < 0].any():
            _refuse(table, cells)
        known = np.flatnonzero(value)
        rows.append((codes[known] + added).astype(np.int32))
        columns.append(column[known])
        values.append(value[known])
        images.add(chunk, codes, names)
        added += len(names)
    codes, ids, files, splits = images.join()
    row = codes[np.concatenate(rows)].astype(np.int32)
    del rows, codes
    entries = row, np.concatenate(columns), np.concatenate(values)
    for name in [name for name in classes if is_list(name)][:1]:
        raise TrilabelError(f"{table.path}: label {name!r} is a list; if cells hold several tags, say layout='tags'")
    try:
        return Labels.from_entries(*entries, list(classes)[1:], ids, conflict), files, splits
    except TrilabelError as error:
        raise TrilabelError(f"{table.path}: {error}") from None


def _read_tags(table: Table, cells: Cells, separator: str | None, name_size: int) -> _Found:
    images, lists, parts = _Images(table, cells), {"": -1}, []
    for names, chunk in _chunks(table, cells, name_size):
        parts.append(_codes(chunk[table.tags], lists))
        images.add(chunk, np.arange(len(chunk)), names)
    codes, ids, files, splits = images.join()
    if len(ids) < len(codes):
        _refuse(table, cells)
    separator = separator or usual_separator(lists)
    of = [*[tags_of(text, separator) for text in lists if text], []]  # equal cells once; the last, −1, is the empty one
    classes = Names(dict.fromkeys(tag for tags in of for tag in tags))
    if not len(classes):
        raise TrilabelError(f"{table.path}: no image has a tag")
    sizes = np.array([len(tags) for tags in of])
    columns = np.split(classes.positions(Names(tag for tags in of for tag in tags)), np.cumsum(sizes)[:-1])
    cell = np.concatenate(parts)
    column = np.concatenate([columns[code] for code in cell.tolist()])
    row = np.repeat(np.arange(len(ids)), sizes[cell])
    return Labels.from_entries(row, column, np.ones(len(row), np.int8), classes, ids), files, splits


class _Images:
    """The images of a table, gathered piece by piece: names, and files and splits where there are such columns."""

    def __init__(self, table: Table, cells: Cells) -> None:
        self.table, self.cells = table, cells
        self.names: list[Names] = []
        self.files: list[Names] = []
        self.splits: list[NDArray[np.int32]] = []
        self.split_names = {"": -1}

    def add(self, chunk: pd.DataFrame, codes: NDArray[Any], names: Names) -> None:
        """Adds the images of a piece; row i is about names[codes[i]]."""
        self.names.append(names)
        first = _first_of_each(codes, len(names))
        if self.table.file >= 0:
            self.files.append(Names(chunk[self.table.file].to_numpy()[first]))
        if self.table.split >= 0:
            self.splits.append(self._one(_codes(chunk[self.table.split], self.split_names, split_name), codes, first))

    def join(self) -> tuple[NDArray[np.int64], Names, Names | None, _Splits]:
        """(codes, ids, files, splits): every image once; the i-th that was added is ids[codes[i]]."""
        joined = Names.join(self.names)
        self.names.clear()  # nine million names need not be in memory twice
        codes, ids = joined.distinct()
        if not np.diff(ids.offsets).all():
            _refuse(self.table, self.cells)
        first = _first_of_each(codes, len(ids)) if self.files or self.splits else codes[:0]
        files = Names.join(self.files).take(first) if self.files else None
        of = self._one(np.concatenate(self.splits), codes, first) if self.splits else codes[:0]
        return codes, ids, files, {name: np.flatnonzero(of == i) for name, i in self.split_names.items() if name}

    def _one(self, of: NDArray[np.int32], codes: NDArray[Any], first: NDArray[Any]) -> NDArray[np.int32]:
        """The split of each image, once all its rows were seen to agree."""
        split: NDArray[np.int32] = of[first]
        if (of != split[codes]).any():
            _refuse(self.table, self.cells)
        return split


def _first_of_each(codes: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Where each of the codes 0 … count − 1 stands first."""
    first = np.empty(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of several writes to one place the last one stays
    return first


def _codes(column: "pd.Series[Any]", known: dict[str, int], name: Callable[[str], str] = str) -> NDArray[np.int32]:
    """The number of each cell's text; new texts are added to `known`, which starts out as {"": -1}."""
    codes, texts = pd.factorize(column.to_numpy())
    return np.array([known.setdefault(text, len(known) - 1) for text in map(name, texts)], np.int32)[codes]


# ---- slow, to say what is wrong


def _refuse(table: Table, cells: Cells, otherwise: str | None = "cannot be read as a table") -> None:
    """Raises an error about the first row with a fault; where there is none, an error that says `otherwise`."""
    lines: dict[str, int] = {}
    splits: dict[str, str] = {}
    for line, row in table.rows():
        where = f"{table.path}, row {line}"
        _check_row(table, cells, row, where)
        image = row[table.image]
        if table.label < 0 and lines.setdefault(image, line) != line:
            raise TrilabelError(f"{where}: image {image!r} stands in row {lines[image]} already; remove one of them")
        split = split_name(row[table.split]) if table.split >= 0 else ""
        if splits.setdefault(image, split) != split:
            raise TrilabelError(f"{where}: image {image!r} is in split {split!r} and in {splits[image]!r}; choose one")
    if otherwise:
        raise TrilabelError(f"{table.path}: {otherwise}")


def _check_row(table: Table, cells: Cells, row: list[str], where: str) -> None:
    if len(row) != len(table.header):
        raise TrilabelError(f"{where}: {len(row)} cells, but the header has {len(table.header)}")
    image = row[table.image]
    if not image:
        raise TrilabelError(f"{where}: the image has no name")
    values = [(table.header[column], row[column]) for column in table.classes]
    if table.value >= 0:
        values = [(row[table.label], row[table.value])]
    for name, text in values:
        if cells.sign(text) == _NO_LABEL:
            hint = f" (if {name!r} is no class, pass it in ignore)" if table.classes else ""
            if table.classes and (text.strip()[:1].isalpha() or name.strip().lower() in TAG_COLUMNS):
                hint = f" (if {name!r} is no class, pass it in ignore; if it holds tags, pass its name as tags)"
            raise TrilabelError(
                f"{where}: value {text!r} for image {image!r}, class {name!r}: "
                f"use 1 present, 0 absent, empty unknown{hint}"
            )
        if cells.sign(text) and not name:
            raise TrilabelError(f"{where}: value {text!r} for image {image!r}, but no label is named")
