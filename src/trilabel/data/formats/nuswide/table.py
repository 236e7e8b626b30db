"""The table that later work on NUS-WIDE uses: a file, its concepts as a list in one cell, and its split in each row."""

import ast
import io
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import assemble
from trilabel.data.image_paths import RootedPaths, root_of
from trilabel.data.tables import read_rows, rows_of
from trilabel.data.text_files import peek, shown
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names

IMAGES = ("Flickr", "images", "image")  # folders that images are in


def detect(path: Path) -> bool:
    """Whether this is a table with a list in the column of labels, and is called like NUS-WIDE's or has its columns."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    try:
        rows = [cells for _, cells in islice(rows_of(io.BytesIO(peek(path)), path, ","), 2)]
    except TrilabelError:
        return False
    columns = _columns(rows[0]) if len(rows) == 2 else None
    if not path.name.lower().startswith("nus") and (not rows or "split_name" not in rows[0]):
        return False  # in other tables of tags, labels that are not listed are unknown
    return columns is not None and len(rows[1]) > columns[0] and rows[1][columns[0]].startswith("[")


def slashes(name: str) -> str:
    """A path with forward slashes; the lists were made on Windows."""
    return name.replace("\\", "/")


def read(file: Path, images: str | Path | None, split: str) -> Dataset:
    """Reads the table: listed concepts are present, all others absent."""
    rows = read_rows(file, ",")
    header = next(rows, (1, []))[1]
    columns, first = _columns(header), 0 if header and header[0].strip() else 1  # pandas writes row numbers in front
    if columns is None:
        raise TrilabelError(f"{file}: found the columns {header[:8]}; the table has a file, label and split_name")
    lists, lines = _Lists(), dict[str, int]()
    listed, splits = [], []
    for line, cells in rows:
        where = f"{file}, row {line}:"
        if len(cells) != len(header):
            raise TrilabelError(f"{where} {len(cells)} cells, but the header has {len(header)}")
        name, text = slashes(cells[first].strip()), cells[columns[0]]
        if not name or lines.setdefault(name, line) != line:
            again = f"image {name!r} is listed twice, first in row {lines.get(name)}; remove one"
            raise TrilabelError(f"{where} {again if name else 'the image has no name'}")
        try:
            listed.append(lists[text])
        except KeyError:
            raise TrilabelError(
                f"{where} {shown(text, 80)} is not a list of concepts, such as ['clouds', 'sky']"
            ) from None
        splits.append(cells[columns[1]])
    classes = sorted({name for names in listed for name in names})
    if not classes:
        raise TrilabelError(f"{file}: no row lists a concept; download it again")
    column = {name: number for number, name in enumerate(classes)}
    ids = Names(lines)
    root = root_of(images, [file.parent, *(file.parent / name for name in IMAGES)], ids)
    return assemble(
        file,
        ids=ids,
        paths=RootedPaths(root, ids),
        classes=classes,
        entries=((row, column[name], 1) for row, names in enumerate(listed) for name in names),
        absent_in=range(len(ids)),
        split_of=splits if split == "published" else (),
        notes=["listed concepts are present, all others absent"],
    )


def _columns(header: Sequence[str]) -> tuple[int, int] | None:
    """The columns of labels and of splits; the first column is the image's file."""
    names = [name.strip().lower() for name in header]
    split = next((names.index(name) for name in ("split_name", "split") if name in names), 0)
    return (names.index("label"), split) if "label" in names[1:] and split else None


class _Lists(dict[str, list[str]]):
    """The concepts in cells such as "['clouds', 'sky']"; each text is read once."""

    def __missing__(self, text: str) -> list[str]:
        try:
            listed = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise KeyError(text) from None
        if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
            raise KeyError(text)
        return self.setdefault(text, listed)
