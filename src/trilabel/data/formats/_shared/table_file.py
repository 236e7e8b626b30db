"""A table file, opened once: its first rows, to detect its contents, and then all rows, fast or one by one."""

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from types import TracebackType

import numpy as np
import pandas as pd

from trilabel.data.formats._shared.checked_bytes import CheckedBytes
from trilabel.data.tables import first_bytes, open_table, rows_of, usual_delimiter
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.log import progress

_ROWS, _CELLS, _NAME_BYTES = 1 << 18, 1 << 22, 1 << 24  # the most to read at once


class NameTooLong(Exception):
    """A name may have been truncated to the size of its cell."""


class DamagedTable(Exception):
    """Pandas read the table, but its bytes do not match its number of rows and columns."""


class TableFile:
    """An open table with a header; without `delimiter`, the name and the first line determine the separator."""

    def __init__(self, path: Path, delimiter: str | None = None) -> None:
        if delimiter and (len(delimiter) != 1 or not delimiter.isascii()):
            raise TrilabelError(f"{path}: delimiter={delimiter!r}: use a single character")
        self.path = path
        try:
            self._file = open_table(path)
        except OSError as error:
            raise TrilabelError(f"{path}, row 1: cannot be read as a table ({error})") from None
        try:
            self._start = first_bytes(self._file)
            self.delimiter = delimiter or usual_delimiter(path, self._start)
            first = self.sample(1)
            if not first:
                raise TrilabelError(f"{path}: the table is empty; its first row must name the columns")
        except BaseException:
            self._file.close()
            raise
        self.header = [cell.strip() for cell in first[0]]  # "filename, cat, dog", as Roboflow writes it

    def __enter__(self) -> "TableFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        self._file.close()

    def sample(self, count: int) -> list[list[str]]:
        """The cells of the first rows, including the header."""
        self._file.seek(0)
        with closing(rows_of(self._file, self.path, self.delimiter)) as rows:
            return [cells for _, cells in islice(rows, count)]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """(line, cells) of every row below the header."""
        self._file.seek(0)
        rows = rows_of(self._file, self.path, self.delimiter)
        next(rows)
        return rows

    def chunks(self, image: int, name_size: int) -> Iterator[tuple[Names, pd.DataFrame]]:
        """The rows as text, many at a time: names of images, and all columns, called 0, 1, …

        Names of images, in column `image`, are read as cells of `name_size` bytes, because millions of Python strings
        would take most of the time; a name that fills its cell may have been cut off and raises NameTooLong. This also
        raises the errors of pandas and, after the last row, DamagedTable.
        """
        self._file.seek(0)
        checked, width, rows = CheckedBytes(self._file, self.path, self.delimiter), len(self.header), 0
        # Category columns would save a step later, but pandas ≥ 3.1 makes numbers of texts such as "007".
        dtypes = dict.fromkeys(range(width), object) | {image: f"S{name_size}"}
        with (
            progress(f"reading {self.path.name}, rows", self._estimated_rows()) as advance,
            pd.read_csv(
                checked,
                sep=self.delimiter,
                header=0,
                names=list(range(width)),
                dtype=dtypes,
                na_filter=False,
                low_memory=False,
                chunksize=min(_ROWS, _CELLS // width + 1, _NAME_BYTES // name_size + 1),
            ) as chunks,
        ):
            for chunk in chunks:
                names = Names.from_fixed(np.asarray(chunk[image], f"S{name_size}"))
                if np.diff(names.offsets).max(initial=0) >= name_size:
                    raise NameTooLong
                yield names, chunk
                rows += len(chunk)
                advance(len(chunk))
        if rows and not checked.is_whole(rows + 1, width):
            raise DamagedTable

    def _estimated_rows(self) -> int:
        """An estimate of the number of rows, by the length of the first; assumes fivefold compression."""
        lines = max(1, self._start.count(b"\n"))
        size = self.path.stat().st_size * (5 if self.path.suffix.lower() == ".gz" else 1)
        return int(max(lines, size * lines // max(1, len(self._start))))
