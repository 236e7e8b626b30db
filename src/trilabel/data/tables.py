"""Table files (.csv, .tsv, .txt, compressed with gzip or not): their rows as text, with the line each starts at."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, cast

from trilabel.errors import TrilabelError
from trilabel.input_files import GZIP_RATIO, limit, open_input

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_START = 1 << 16
UNREADABLE = (csv.Error, EOFError, OSError, zlib.error)  # the errors of a damaged table
LONGEST_CELL, LONGEST_ROW = 1 << 20, 1 << 24  # letters; a row has a cell for each of perhaps 100,000 classes
_UNPACKED_IN_ANY_CASE = 64 << 20  # bytes; below, the ratio of a compressed table does not matter
csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))


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
    """A compressed file that is refused once it unpacks to far more than a table does."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        super().__init__(fileobj=file)
        self._path, self._packed, self._ratio = path, file, limit(GZIP_RATIO)

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
        if self.tell() > _UNPACKED_IN_ANY_CASE and self.tell() > self._ratio * self._packed.tell():
            raise TrilabelError(
                f"{self._path}: unpacks to more than {self._ratio:,} times its size, as no table does; if you trust "
                f"it, set the environment variable {GZIP_RATIO} to more"
            )
        return block


def too_long(path: Path, row: int, what: Literal["cell", "row"]) -> TrilabelError:
    """The error about a cell or a row that no table of labels has."""
    if what == "cell":
        return TrilabelError(f"{path}, row {row}: a cell of more than {LONGEST_CELL:,} letters; correct or split it")
    return TrilabelError(f"{path}, row {row}: longer than {LONGEST_ROW:,} letters; is this a table?")


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
        reader = csv.reader(_bounded_lines(text, path), delimiter=delimiter, strict=True)
        for cells in reader:
            joined = "".join(cells)
            if "\0" in joined or any("\udc80" <= letter <= "\udcff" for letter in joined):
                raise TrilabelError(f"{path}, row {line}: not UTF-8 text; save the table as UTF-8")
            if len(cells) > 1 or joined.strip():
                yield line, cells
            line = reader.line_num + 1
    except UNREADABLE as error:
        if str(error).startswith("field larger"):
            raise too_long(path, line, "cell") from None
        raise TrilabelError(f"{path}, row {line}: cannot be read as a table ({error})") from None
    finally:
        if not file.closed:
            text.detach()  # else it would close the file


def _bounded_lines(text: io.TextIOWrapper, path: Path) -> Iterator[str]:
    """The lines of a table. A row may have several, in quotes; a line has no more letters than a row may have."""
    number = 1
    while line := text.readline(LONGEST_ROW):
        if len(line) == LONGEST_ROW:
            raise too_long(path, number, "row")
        yield line
        number += 1


def first_bytes(file: IO[bytes]) -> bytes:
    """The first 64 KB of an open table, uncompressed; empty if it is damaged, which reading its rows will report."""
    try:
        return file.read(_START)
    except UNREADABLE:
        return b""


def usual_delimiter(path: Path, start: bytes) -> str:
    """The separator of the cells: that of the file extension, unless the first line contains only other separators."""
    usual = DELIMITERS.get(table_suffix(path), ",")
    text = start.decode("utf-8-sig", errors="replace").lstrip()
    first = re.sub('"[^"]*"', "", text).partition("\n")[0]
    return next((mark for mark in (usual, ",", ";", "\t") if mark in first), usual)
