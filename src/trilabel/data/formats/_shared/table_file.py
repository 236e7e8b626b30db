"""Table files: what the columns of one are, and its rows as text, either fast or with the line they stand in."""

import csv
import gzip
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from trilabel.data.image_paths import is_image
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.log import progress

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_ROWS, _CELLS, _NAME_BYTES = 1 << 18, 1 << 22, 1 << 24  # the most to read at once
IMAGE_COLUMNS = ("image", "id", "filename", "file", "path")
TAG_COLUMNS = ("tags", "labels", "classes", "categories", "keywords")


class NameTooLong(Exception):
    """A name may not have fitted into the cells that it was read into."""


@dataclass(frozen=True)
class Table:
    """A table file and what its header says; columns are positions, −1 where there is none."""

    path: Path
    delimiter: str
    header: list[str]
    image: int
    file: int  # beside a column with the image's name: where its file is
    split: int
    label: int = -1  # of long tables only
    value: int = -1
    tags: int = -1  # of tables with a list of tags in a cell only
    classes: list[int] = field(default_factory=list)  # of wide tables only
    left_out: list[str] = field(default_factory=list)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """(line, cells) of every row below the header."""
        rows = read_rows(self.path, self.delimiter)
        next(rows)
        return rows

    def chunks(self, name_size: int) -> Iterator[tuple[Names, pd.DataFrame]]:
        """The rows as text, some at a time: names of images, and all columns, called 0, 1, … Raises what pandas raises.

        Names of images are read as cells of `name_size` bytes, because millions of Python strings would take most of
        the time; a name that fills its cell may have been cut off and raises NameTooLong.
        """
        width = len(self.header)
        # Category columns would save a step later, but pandas ≥ 3.1 makes numbers of texts such as "007".
        dtypes = dict.fromkeys(range(width), object) | {self.image: f"S{name_size}"}
        with (
            progress(f"reading {self.path.name}, rows", self.estimated_rows()) as advance,
            pd.read_csv(
                self.path,
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
                names = Names.from_fixed(np.asarray(chunk[self.image], f"S{name_size}"))
                if np.diff(names.offsets).max(initial=0) >= name_size:
                    raise NameTooLong
                yield names, chunk
                advance(len(chunk))

    def estimated_rows(self) -> int:
        """About how many rows there are, by the length of the first ones; packed files are taken to shrink fivefold."""
        with open_table(self.path, "rb") as file:
            start = file.read(1 << 16)
        lines = max(1, start.count(b"\n"))
        size = self.path.stat().st_size * (5 if self.path.suffix.lower() == ".gz" else 1)
        return int(max(lines, size * lines // max(1, len(start))))

    def looks_whole(self, rows: int) -> bool:
        """Whether the file is UTF-8, without zero bytes, and has the delimiters that so many rows need.

        Pandas fills up rows that are too short, and takes other bytes into names of images, without a word.
        """
        delimiters, quoted = 0, 0
        decode = getincrementaldecoder("utf-8")().decode
        with open_table(self.path, "rb") as file:
            while block := file.read(1 << 20):
                if b"\0" in block or not _decodes(decode, block):
                    return False
                if not quoted and b'"' not in block:
                    delimiters += block.count(self.delimiter.encode())
                    continue
                letters = np.frombuffer(block, np.uint8)
                inside = (np.cumsum(letters == ord('"'), dtype=np.uint8) + np.uint8(quoted)) % 2
                delimiters += int(np.count_nonzero((letters == ord(self.delimiter)) & (inside == 0)))
                quoted = int(inside[-1])
        return _decodes(decode, b"", True) and delimiters == (rows + 1) * (len(self.header) - 1)


def _decodes(decode: Callable[..., str], *block: Any) -> bool:
    try:
        decode(*block)
    except UnicodeDecodeError:
        return False
    return True


def suffix(path: Path) -> str:
    """The part of the name that tells the kind of table: ".csv" of a.csv and of a.csv.gz."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path).suffix.lower()


def open_table(path: Path, mode: str) -> IO[Any]:
    """Opens a table, packed or not; bytes that are not UTF-8 are read as lone surrogates instead of an error."""
    text: dict[str, Any] = {}
    if mode == "rt":
        text = {"encoding": "utf-8-sig", "errors": "surrogateescape", "newline": ""}
    elif mode == "wt":
        text = {"encoding": "utf-8", "newline": ""}
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    file: IO[Any] = opener(path, mode, **text)
    return file


def read_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, cells) of every row that is not blank."""
    line = 1
    try:
        with open_table(path, "rt") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            for cells in reader:
                text = "".join(cells)
                if "\0" in text or any("\udc80" <= letter <= "\udcff" for letter in text):
                    raise TrilabelError(f"{path}, row {line}: not UTF-8 text; save the table as UTF-8")
                if len(cells) > 1 or text.strip():
                    yield line, cells
                line = reader.line_num + 1
    except (csv.Error, EOFError, OSError, zlib.error) as error:
        raise TrilabelError(f"{path}, row {line}: cannot be read as a table ({error})") from None


def usual_delimiter(path: Path) -> str:
    """What separates the cells: what the ending of the name says, unless the first line has only others."""
    usual = DELIMITERS.get(suffix(path), ",")
    try:
        with open_table(path, "rt") as file:
            start = file.read(1 << 16).lstrip()
    except (OSError, EOFError, zlib.error):
        return usual  # reading it will say what is wrong
    first = re.sub('"[^"]*"', "", start).partition("\n")[0]
    return next((mark for mark in (usual, ",", ";", "\t") if mark in first), usual)


def read_header(path: Path, delimiter: str) -> list[str]:
    """The names of the columns."""
    if len(delimiter) != 1 or not delimiter.isascii():
        raise TrilabelError(f"{path}: delimiter={delimiter!r}: use a single character")
    for _, cells in read_rows(path, delimiter):
        return cells
    raise TrilabelError(f"{path}: the table is empty; its first row must name the columns")


def understand(
    path: Path,
    delimiter: str,
    header: list[str],
    layout: str = "auto",
    ignore: Iterable[str] = (),
    image_column: int = -1,
    tags_column: int = -1,
) -> Table:
    """What the columns are, by their names; `layout` ("wide", "long" or "tags") overrules what they look like."""
    names = [cell.strip().lower() for cell in header]

    def position(*wanted: str) -> int:
        return next((names.index(name) for name in wanted if name in names), -1)

    if is_image(header[0]):
        raise TrilabelError(
            f"{path}, row 1: {header[0]!r} is an image and no name of a column; write a header above it (image, and "
            "the classes), or pass format='list' if these are numbers of classes"
        )
    image, label, value, split = (position(*some) for some in (IMAGE_COLUMNS, ["label"], ["value"], ["split"]))
    image = image_column if image_column >= 0 else image
    file = position("path", "filename") if image >= 0 and names[image] in ("image", "id") else -1
    rest = _other_columns(path, header, {max(image, 0), file, split}, ignore)
    found = f"{path}: found the columns {', '.join(map(repr, header[:8]))}{', …' if len(header) > 8 else ''};"
    if layout == "tags":
        called = [column for name in (*TAG_COLUMNS, "label") for column in rest if names[column] == name]
        tags = tags_column if tags_column >= 0 else next(iter(called), rest[0] if len(rest) == 1 else -1)
        if tags < 0:
            raise TrilabelError(f"{found} which one holds the tags? pass its name as tags")
        left_out = [header[column] for column in rest if column != tags]
        return Table(path, delimiter, header, max(image, 0), file, split, tags=tags, left_out=left_out)
    if layout == "wide" or (layout == "auto" and not {label, value} & set(rest)):
        if not rest:
            raise TrilabelError(
                f"{found} a wide table needs image and a column for each class (are the cells separated by "
                f"{delimiter!r}? if not, pass delimiter)"
            )
        return Table(path, delimiter, header, max(image, 0), file, split, classes=rest)
    left_out = [header[column] for column in rest if column not in (label, value)]
    if image < 0 or label < 0 or (value < 0 and left_out):
        raise TrilabelError(
            f"{found} a long table needs image, label and value, or just image and label (if these are classes, "
            "pass layout='wide')"
        )
    return Table(path, delimiter, header, image, file, split, label, value, left_out=left_out)


def _other_columns(path: Path, header: list[str], taken: set[int], ignore: Iterable[str]) -> list[int]:
    """The columns that are neither taken nor to be ignored."""
    first: dict[str, int] = {}
    for column, name in enumerate(header):
        if first.setdefault(name, column) != column:
            raise TrilabelError(
                f"{path}: columns {first[name] + 1} and {column + 1} are both called {name!r}; rename or remove one"
            )
    for name in ignore:
        if name not in first:
            raise TrilabelError(f"{path}: no column called {name!r} to ignore")
    # A first column without a name that is not the images' is the row number that pandas writes.
    rest = [c for c, name in enumerate(header) if c not in taken and name not in ignore and (c or name)]
    for column in rest:
        if not header[column]:
            raise TrilabelError(f"{path}: column {column + 1} has no name; give it one or remove it")
    return rest
