"""Table files (.csv, .tsv, .txt, compressed with gzip or not): their rows as text, with the line each starts at."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, cast

from trilabel.data.memory import free_host_memory
from trilabel.errors import TrilabelError
from trilabel.input_files import CELL_LETTERS, TEXT_BYTES, is_raised, limit, open_input, too_much

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_START = 1 << 16
UNREADABLE = (csv.Error, EOFError, OSError, zlib.error)  # the errors of a damaged table
_LONGEST_ROW = 1 << 24  # letters; it has a cell for each of perhaps 100,000 classes
_UNPACKED_AT_ONCE = 64 << 20  # bytes, after which the free memory is looked at again
_NOT_UTF8 = re.compile("[\0\udc80-\udcff]")


def table_suffix(path: Path) -> str:
    """The part of the name that determines the kind of table: ".csv" of a.csv and of a.csv.gz."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path).suffix.lower()


def open_table(path: Path) -> BinaryIO:
    """Opens a table, compressed or not, to read bytes."""
    file = open_input(path)
    return cast(BinaryIO, _Unpacking(path, file)) if path.suffix.lower() == ".gz" else file


def create_table(path: Path) -> IO[str]:
    """Opens a table, compressed or not, to write text."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    file: IO[str] = opener(path, "wt", encoding="utf-8", newline="")
    return file


class _Unpacking(gzip.GzipFile):
    """A compressed file that is refused once it unpacks to more than is allowed, or than fits into the free memory.

    A few megabytes may unpack to more rows than any machine can hold. The ratio tells nothing: that of a table with
    many classes and few labels is as high as gzip can reach.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        super().__init__(fileobj=file)
        self._path, self._packed, self._most = path, file, limit(TEXT_BYTES)
        self._next_look = _UNPACKED_AT_ONCE

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes."""
        return self._checked(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        """The next bytes, as many as are unpacked already."""
        return self._checked(super().read1(size))

    def close(self) -> None:
        """Closes this file and the compressed one."""
        super().close()
        self._packed.close()

    def _checked(self, block: bytes) -> bytes:
        unpacked = self.tell()
        if unpacked > self._next_look and not is_raised(TEXT_BYTES):
            self._next_look = unpacked + _UNPACKED_AT_ONCE
            self._most = min(limit(TEXT_BYTES), free_host_memory())
        if unpacked > self._most:
            small = self._most < limit(TEXT_BYTES)
            what = f"unpacks to {unpacked:,} bytes or more{', too many for the free memory' if small else ''}"
            raise TrilabelError(f"{self._path}: {too_much(what, self._most, TEXT_BYTES)}")
        return block


def longest_cell() -> int:
    """The most letters that a cell may have."""
    return limit(CELL_LETTERS)


def longest_row() -> int:
    """The most letters that a row may have."""
    return max(_LONGEST_ROW, 16 * longest_cell())


def _too_long(path: Path, row: int, what: Literal["cell", "row"]) -> TrilabelError:
    """The error about a cell or a row that no table of labels has."""
    found = f"a cell of more than {longest_cell():,}" if what == "cell" else f"longer than {longest_row():,}"
    return TrilabelError(
        f"{path}, row {row}: {found} letters; correct it, or set the environment variable {CELL_LETTERS} to more"
    )


def read_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, cells) of every row that is not blank."""
    try:
        with open_table(path) as file:
            yield from rows_of(file, path, delimiter)
    except FileNotFoundError:
        raise TrilabelError(f"{path}: no such file") from None
    except OSError as error:
        raise TrilabelError(f"{path}, row 1: cannot be read as a table ({error})") from None


def rows_of(file: IO[bytes], path: Path, delimiter: str) -> Generator[tuple[int, list[str]], None, None]:
    """The same for a table that is open, from the current position; `path` is for messages."""
    # Bytes that are not UTF-8 become lone surrogates instead of an error without a line.
    text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", "")
    line = 1
    try:
        csv.field_size_limit(max(csv.field_size_limit(), longest_cell()))
        lines = _BoundedLines(text, path, delimiter)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        for cells in reader:
            lines.letters = 0
            joined = "".join(cells)
            if (not joined.isascii() or "\0" in joined) and _NOT_UTF8.search(joined):
                raise TrilabelError(f"{path}, row {line}: not UTF-8 text; save the table as UTF-8")
            if len(cells) > 1 or joined.strip():
                yield line, cells
            line = reader.line_num + 1
    except UNREADABLE as error:
        if str(error).startswith("field larger"):
            raise _too_long(path, line, "cell") from None
        raise TrilabelError(f"{path}, row {line}: cannot be read as a table ({error})") from None
    finally:
        if not file.closed:
            text.detach()  # else it would close the file


class _BoundedLines(Iterator[str]):
    """The lines of a table. A row may have several, in quotes: whoever reads it sets `letters` to 0 when it ends."""

    def __init__(self, text: io.TextIOWrapper, path: Path, delimiter: str) -> None:
        self._text, self._path, self._delimiter = text, path, delimiter
        self._cell, self._row, self._number = longest_cell(), longest_row(), 0
        self.letters = 0

    def __next__(self) -> str:
        line = self._text.readline(self._row)
        if not line:
            raise StopIteration
        self._number += 1
        self.letters += len(line)
        if self.letters >= self._row:
            in_one_cell = len(line) - line.rfind(self._delimiter) - 1 > self._cell
            raise _too_long(self._path, self._number, "cell" if in_one_cell else "row")
        return line


def first_bytes(file: IO[bytes]) -> bytes:
    """The first 64 KB of an open table, uncompressed; empty if it is damaged, which reading its rows will report."""
    try:
        return file.read(_START)
    except UNREADABLE:
        return b""


def first_unpacked(path: Path, start: bytes) -> bytes:
    """The first bytes of a file, unpacked if it is a .gz; empty if it is damaged."""
    if path.suffix.lower() != ".gz":
        return start
    try:
        return zlib.decompressobj(wbits=31).decompress(start, _START)
    except zlib.error:
        return b""


def usual_delimiter(path: Path, start: bytes) -> str:
    """The separator of the cells: that of the file extension, unless the first line contains only other separators."""
    usual = DELIMITERS.get(table_suffix(path), ",")
    text = start.decode("utf-8-sig", errors="replace").lstrip()
    first = re.sub('"[^"]*"', "", text).partition("\n")[0]
    return next((mark for mark in (usual, ",", ";", "\t") if mark in first), usual)
