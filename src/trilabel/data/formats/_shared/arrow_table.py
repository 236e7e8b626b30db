"""Parquet, Arrow and Feather tables, read through pyarrow (extra `parquet`) as if they were text."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from trilabel.archives.table_rows import batches_of, damage_named
from trilabel.data.formats._shared.table_file import TableFile
from trilabel.errors import TrilabelError
from trilabel.input_files import TEXT_BYTES, check_regular, limit, too_much
from trilabel.labels.names import Names
from trilabel.log import progress

ARROW_ENDS = (".parquet", ".arrow", ".feather")
_ROWS, _CELLS = 1 << 16, 1 << 22  # the most to read at once
_INDEX = "__index_level_"  # the row numbers that pandas writes


def open_rows(path: Path, delimiter: str | None = None) -> TableFile:
    """A table of any kind, opened to read its rows."""
    return ArrowTable(path) if path.suffix.lower() in ARROW_ENDS else TableFile(path, delimiter)


def header_of(path: Path) -> list[str]:
    """The names of the columns; none if the file is damaged or pyarrow is not installed."""
    try:
        with ArrowTable(path) as file:
            return file.header
    except TrilabelError:
        return []


class ArrowTable(TableFile):
    """An open table, with the cells as text: 1 and 0, true and false, lists as JSON, nothing for null."""

    def __init__(self, path: Path) -> None:
        check_regular(path)
        self.path, self.delimiter = path, ","
        try:
            import_module("pyarrow.parquet")
        except ImportError:
            message = (
                f"{path}: needs pyarrow to be read; install it (pip install 'trilabel[parquet]'), or save it as CSV"
            )
            raise TrilabelError(message) from None
        with damage_named(str(path)):
            self._opened = _Parquet(path) if path.suffix.lower() == ".parquet" else _Arrow(path)
        self._names = [name for name in self._opened.schema.names if not name.startswith(_INDEX)]
        self.header = [name.strip() for name in self._names]
        try:
            self._refuse_unreadable()
        except TrilabelError:
            self._opened.close()
            raise

    def _refuse_unreadable(self) -> None:
        if not self.header:
            raise TrilabelError(f"{self.path}: the table has no columns")
        allowed = limit(TEXT_BYTES)
        # Equal cells take no bytes in a Parquet file, but here.
        size = max(self._opened.size, 8 * self._opened.rows * len(self.header))
        if size > allowed:
            raise TrilabelError(f"{self.path}: {too_much(f'{size:,} bytes in memory', allowed, TEXT_BYTES)}")
        for field in self._opened.schema:
            if str(field.type).startswith("struct<bytes: binary"):
                raise TrilabelError(
                    f"{self.path}: column {field.name!r} contains the images themselves; pass format='huggingface'"
                )

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def sample(self, count: int) -> list[list[str]]:
        """The cells of the first rows, including the header."""
        first = next(self._frames(max(1, count - 1)), pd.DataFrame())
        return [self.header, *first.to_numpy().tolist()][:count]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """(number, cells) of every row."""
        every = (cells for frame in self._frames(_ROWS) for cells in frame.to_numpy().tolist())
        yield from enumerate(every, start=1)

    def chunks(self, image: int, name_size: int) -> Iterator[tuple[Names, pd.DataFrame]]:
        """The rows as text, many at a time: names of images, and all columns, called 0, 1, …"""
        with progress(f"reading {self.path.name}, rows", self._opened.rows) as advance:
            for frame in self._frames(min(_ROWS, _CELLS // len(self.header) + 1)):
                yield Names(frame[image]), frame
                advance(len(frame))

    def _frames(self, size: int) -> Iterator[pd.DataFrame]:
        batches = self._opened.batches(size, self._names)
        while True:
            with damage_named(str(self.path)):
                batch = next(batches, None)
                if batch is None:
                    return
                texts = {number: _texts(batch.column(name)) for number, name in enumerate(self._names)}
            yield pd.DataFrame(texts, dtype=object)


class _Parquet:
    def __init__(self, path: Path) -> None:
        self._file: Any = import_module("pyarrow.parquet").ParquetFile(path)
        about = self._file.metadata
        self.schema, self.rows, self.close = self._file.schema_arrow, int(about.num_rows), self._file.close
        self.size = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))

    def batches(self, size: int, names: list[str]) -> Iterator[Any]:
        """The rows, at most `size` at a time."""
        return iter(self._file.iter_batches(batch_size=size, columns=names))


class _Arrow:
    """An Arrow file of either kind; Feather is one."""

    def __init__(self, path: Path) -> None:
        file: Any = import_module("pyarrow").memory_map(str(path))
        self._batches, self.close = batches_of(str(path), file), file.close
        if not self._batches:
            raise TrilabelError(f"{path}: the table has no rows")
        self.schema = self._batches[0].schema
        self.rows = sum(batch.num_rows for batch in self._batches)
        self.size = sum(batch.nbytes for batch in self._batches)

    def batches(self, size: int, names: list[str]) -> Iterator[Any]:
        """The rows, at most `size` at a time."""
        for batch in self._batches:
            batch.validate(full=True)  # offsets that lead out of the file would crash the process
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size).select(names)


def _texts(column: Any) -> list[str]:
    return [_text(cell) for cell in column.to_pylist()]


def _text(cell: Any) -> str:
    if cell is None or cell != cell:  # NaN
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return json.dumps(cell, default=str, ensure_ascii=False) if isinstance(cell, list | dict) else str(cell)
