"""Table files (.csv, .tsv, .txt, compressed with gzip or not): their rows as text, with the line each starts at."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any

from trilabel.errors import TrilabelError

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_START = 1 << 16
UNREADABLE = (csv.Error, EOFError, OSError, zlib.error)  # the errors of a damaged table


def table_suffix(path: Path) -> str:
    """The part of the name that determines the kind of table: ".csv" of a.csv and of a.csv.gz."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path).suffix.lower()


def open_table(path: Path, mode: str = "rb") -> IO[Any]:
    """Opens a table, compressed or not, to read bytes ("rb") or to write text ("wt")."""
    text: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if mode == "wt" else {}
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    file: IO[Any] = opener(path, mode, **text)
    return file


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
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        for cells in reader:
            joined = "".join(cells)
            if "\0" in joined or any("\udc80" <= letter <= "\udcff" for letter in joined):
                raise TrilabelError(f"{path}, row {line}: not UTF-8 text; save the table as UTF-8")
            if len(cells) > 1 or joined.strip():
                yield line, cells
            line = reader.line_num + 1
    except UNREADABLE as error:
        raise TrilabelError(f"{path}, row {line}: cannot be read as a table ({error})") from None
    finally:
        if not file.closed:
            text.detach()  # else it would close the file


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
