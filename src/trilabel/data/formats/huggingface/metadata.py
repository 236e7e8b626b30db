"""Tables beside images: metadata.csv, metadata.jsonl or metadata.parquet, of one folder or of each split."""

import json
import os
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from trilabel.data.formats._shared.records import Records, plain
from trilabel.data.tables import read_rows
from trilabel.data.text_files import peek, read_lines
from trilabel.errors import TrilabelError
from trilabel.input_files import TEXT_BYTES, limit, too_much

_KINDS = (".csv", ".jsonl", ".parquet")
_MOST_FOLDERS = 20  # with more, they are classes or something else, and searching all of them is slow
# A column "image" may be in any table; only file_name is specific to image folders.
_NAME_COLUMN = {".csv": rb'(^|,)\s*"?([^,"]*_)?file_name"?\s*(,|$)', ".jsonl": rb'"([^"\\]*_)?file_name"\s*:'}


def find(path: Path) -> list[Path]:
    """The metadata files at this path: itself, or those of a folder, or of the folders inside."""
    if os.path.isfile(path):  # noqa: PTH113 (pathlib raises for some names)
        return [path] if path.stem == "metadata" and path.suffix in _KINDS else []
    inside = _folders(path)
    deeper = [folder for outer in inside for folder in _folders(outer)] if len(inside) <= _MOST_FOLDERS else []
    for folders in ([path], inside, _folders(path / "data"), deeper):
        found = [folder / f"metadata{kind}" for folder in folders for kind in _KINDS]
        if files := [file for file in found if os.path.isfile(file)]:  # noqa: PTH113
            return files
    return []


def names_images(file: Path) -> bool:
    """Whether the first line of a metadata file has a column of file names; a Parquet file is assumed to."""
    if file.suffix == ".parquet":
        return True
    start = peek(file)[: 1 << 16].partition(b"\n")[0].rstrip(b"\r").removeprefix(b"\xef\xbb\xbf")
    return bool(re.search(_NAME_COLUMN[file.suffix], start))


def read_metadata(path: Path) -> Records:
    """All rows of the metadata files at this path."""
    files = find(path)
    if not files:
        raise TrilabelError(f"{path}: no metadata.csv or metadata.jsonl in this folder or its sub-folders")
    if len({file.parent for file in files}) < len(files):
        one, two = next((a, b) for a, b in pairwise(files) if a.parent == b.parent)
        raise TrilabelError(f"{two}: {one.name} is also in this folder; remove one of them")
    root = root_of_path(path)
    columns: dict[str, list[Any]] = {}
    table = Records(columns, [], [])
    for file in files:
        inside = file.parent.relative_to(root).as_posix()
        more, lines = _read(file)
        for name in dict.fromkeys((*columns, *more)):
            columns.setdefault(name, [None] * len(table)).extend(more.get(name, [None] * len(lines)))
        table.folders.extend(["" if inside == "." else f"{inside}/"] * len(lines))
        table.places.extend((file, line) for line in lines)
    if not len(table):
        raise TrilabelError(f"{files[0]}: no rows; write one for each image")
    return table


def root_of_path(path: Path) -> Path:
    """The folder that paths of images start from."""
    return path.parent if path.is_file() else path


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    except OSError:
        return []


def _read(file: Path) -> tuple[dict[str, list[Any]], list[int]]:
    """The columns of a file, and the line of each row."""
    if file.suffix == ".csv":
        return _read_csv(file)
    if file.suffix == ".parquet":
        return _read_parquet(file)
    lines, records = [], []
    for line, record in _records(file):
        lines.append(line)
        records.append(record)
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}, lines


def _records(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in read_lines(file):
        try:
            record = plain(json.loads(text))
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error).splitlines()[0]
            raise TrilabelError(f"{file}, line {line}: damaged JSON ({reason})") from None
        if type(record) is not dict:
            raise TrilabelError(f'{file}, line {line}: not a JSON object; write one per line, like {{"file_name": …}}')
        yield line, record


def _read_csv(file: Path) -> tuple[dict[str, list[Any]], list[int]]:
    rows = read_rows(file, ",")
    _, header = next(rows, (1, []))
    for name in header if len(set(header)) < len(header) else ():
        if header.count(name) > 1:
            raise TrilabelError(f"{file}, line 1: two columns are called {name!r}; rename or remove one")
    lines, cells = [], []
    for line, row in rows:
        if len(row) != len(header):
            raise TrilabelError(f"{file}, line {line}: {len(row)} cells, but the header has {len(header)}")
        lines.append(line)
        cells.append(row)
    columns = zip(*cells, strict=True) if cells else [()] * len(header)
    # A column without a name is the row number that pandas writes.
    return {
        name: [cell or None for cell in column] for name, column in zip(header, columns, strict=True) if name
    }, lines


def _read_parquet(file: Path) -> tuple[dict[str, list[Any]], list[int]]:
    try:
        _refuse_large(file)
        frame = pd.read_parquet(file)
    except TrilabelError:
        raise
    except ImportError:
        raise TrilabelError(
            f"{file}: needs pyarrow to be read; install it, or save as metadata.csv or .jsonl"
        ) from None
    except Exception as error:  # pyarrow raises a dozen kinds of errors for damaged bytes
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TrilabelError(f"{file}: cannot be read as a Parquet table ({reason})") from None
    columns = {str(name): [plain(cell) for cell in frame[name].tolist()] for name in frame}
    return columns, list(range(1, len(frame) + 1))


def _refuse_large(file: Path) -> None:
    """Refuses a Parquet file that unpacks to more than may be read as a whole: a few bytes can be millions of rows."""
    found, allowed = import_module("pyarrow.parquet").read_metadata(file), limit(TEXT_BYTES)
    packed = sum(found.row_group(number).total_byte_size for number in range(found.num_row_groups))
    size = max(packed, 8 * found.num_rows * found.num_columns)  # equal cells take no bytes in the file, but here
    if size > allowed:
        raise TrilabelError(f"{file}: {too_much(f'{size:,} bytes in memory', allowed, TEXT_BYTES)}")
