"""A Parquet table, read through pyarrow (extra `parquet`) as if it were one of text."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from trilabel.data.formats._shared.table_file import TableFile
from trilabel.errors import TrilabelError
from trilabel.input_files import TEXT_BYTES, check_regular, limit, too_much
from trilabel.labels.names import Names
from trilabel.log import progress

PARQUET = ".parquet"
_ROWS, _CELLS = 1 << 16, 1 << 22  # the most to read at once
_INDEX = "__index_level_"  # the row numbers that pandas writes


def open_rows(path: Path, delimiter: str | None = None) -> TableFile:
    """A table of any kind, opened to read its rows."""
    return ParquetFile(path) if path.suffix.lower() == PARQUET else TableFile(path, delimiter)


def header_of(path: Path) -> list[str]:
    """The names of the columns; none if the file is damaged or pyarrow is not installed."""
    try:
        with ParquetFile(path) as file:
            return file.header
    except TrilabelError:
        return []


class ParquetFile(TableFile):
    """An open Parquet table, with the cells as text: 1 and 0, true and false, lists as JSON, nothing for null."""

    def __init__(self, path: Path) -> None:
        check_regular(path)
        self.path, self.delimiter = path, ","
        try:
            parquet: Any = import_module("pyarrow.parquet")
        except ImportError:
            message = (
                f"{path}: needs pyarrow to be read; install it (pip install 'trilabel[parquet]'), or save it as CSV"
            )
            raise TrilabelError(message) from None
        with self._damage():
            self._parquet = parquet.ParquetFile(path)
        self._names = [name for name in self._parquet.schema_arrow.names if not name.startswith(_INDEX)]
        self.header = [name.strip() for name in self._names]
        try:
            self._refuse_unreadable()
        except TrilabelError:
            self._parquet.close()
            raise

    def _refuse_unreadable(self) -> None:
        if not self.header:
            raise TrilabelError(f"{self.path}: the table has no columns")
        about, allowed = self._parquet.metadata, limit(TEXT_BYTES)
        packed = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
        size = max(packed, 8 * about.num_rows * len(self.header))  # equal cells take no bytes in the file, but here
        if size > allowed:
            raise TrilabelError(f"{self.path}: {too_much(f'{size:,} bytes in memory', allowed, TEXT_BYTES)}")
        for field in self._parquet.schema_arrow:
            if str(field.type).startswith("struct<bytes: binary"):
                raise TrilabelError(
                    f"{self.path}: column {field.name!r} contains the images themselves, which is not read; save them "
                    "as files, and their names in the table"
                )

    def __exit__(self, *_: object) -> None:
        self._parquet.close()

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
        count = self._parquet.metadata.num_rows
        with progress(f"reading {self.path.name}, rows", count) as advance:
            for frame in self._frames(min(_ROWS, _CELLS // len(self.header) + 1)):
                yield Names(frame[image]), frame
                advance(len(frame))

    def _frames(self, size: int) -> Iterator[pd.DataFrame]:
        batches = self._parquet.iter_batches(batch_size=size, columns=self._names)
        while True:
            with self._damage():
                batch = next(batches, None)
                if batch is None:
                    return
                texts = {number: _texts(batch.column(name)) for number, name in enumerate(self._names)}
            yield pd.DataFrame(texts, dtype=object)

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # pyarrow raises a dozen kinds of errors for damaged bytes
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise TrilabelError(f"{self.path}: cannot be read as a Parquet table ({reason})") from None


def _texts(column: Any) -> list[str]:
    return [_text(cell) for cell in column.to_pylist()]


def _text(cell: Any) -> str:
    if cell is None or cell != cell:  # NaN
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return json.dumps(cell, default=str, ensure_ascii=False) if isinstance(cell, list | dict) else str(cell)
