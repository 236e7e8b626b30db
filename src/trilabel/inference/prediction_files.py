"""Files of predictions, written part after part: tables (CSV, Parquet) and records (JSON, JSON lines)."""

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trilabel.data.spreadsheet_cells import safe_cell
from trilabel.errors import TrilabelError
from trilabel.printable import json_escaped

if TYPE_CHECKING:
    from trilabel.inference.predictions import Predictions

Add = Callable[["Predictions"], None]
_NUMBERS_AT_ONCE = 1 << 24  # in a row group of Parquet: a million small ones would take more memory than the scores


class Layout(NamedTuple):
    """What a file is to look like."""

    threshold: float | None = None  # the probability from which records list a class; None: the one of each class
    safe_cells: bool = False  # tables: an apostrophe before names that a spreadsheet would run


# Opens a file for the predictions of these classes.
Kind = Callable[[Path, Sequence[str], Layout], AbstractContextManager[Add]]


@contextmanager
def csv_table(path: Path, classes: Sequence[str], layout: Layout) -> Iterator[Add]:
    """A table with one row per image and one column per class."""
    cell = safe_cell if layout.safe_cells else str
    numbers = ",".join(["%.6g"] * len(classes))
    # The name of a file may be bytes that are not UTF-8: they are written as they are.
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(["image", *map(cell, classes)])

        def add(found: "Predictions") -> None:
            for id_, row in zip(found.ids, found.scores.tolist(), strict=True):
                file.write(f"{_quoted(cell(id_))}{numbers % tuple(row)}\n")

        yield add


def _quoted(text: str) -> str:
    """The first cell of a row, with the comma after it."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow([text, ""])
    return buffer.getvalue()


@contextmanager
def json_list(path: Path, classes: Sequence[str], layout: Layout) -> Iterator[Add]:
    """One JSON list of records."""
    with path.open("w", encoding="utf-8") as file, open_json_list(file.write) as add_records:
        yield lambda found: add_records(found.to_records(layout.threshold))


@contextmanager
def open_json_list(write: Callable[[str], Any]) -> Iterator[Callable[[Sequence[Any]], None]]:
    """Yields what adds records to a list that `write` gets piece by piece, as `json.dumps` with indent=1 writes it."""
    begun = False  # nothing is written before the first record, so that an error leaves nothing

    def add(records: Sequence[Any]) -> None:
        nonlocal begun
        for record in records:
            write(("," if begun else "[") + json_escaped(json.dumps([record], ensure_ascii=False, indent=1)[1:-2]))
            begun = True

    yield add
    write("\n]" if begun else "[]")


@contextmanager
def json_lines(path: Path, classes: Sequence[str], layout: Layout) -> Iterator[Add]:
    """A record on each line."""
    with path.open("w", encoding="utf-8") as file:

        def add(found: "Predictions") -> None:
            for record in found.to_records(layout.threshold):
                file.write(json_escaped(json.dumps(record, ensure_ascii=False)) + "\n")

        yield add


@contextmanager
def parquet_table(path: Path, classes: Sequence[str], layout: Layout) -> Iterator[Add]:
    """A table with one row per image and one column per class, float32."""
    require_parquet(path)
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    column = "image"
    while column in classes:
        column += "_"
    names = [column, *map(_text, classes)]
    schema = arrow.schema([(names[0], arrow.string()), *((name, arrow.float32()) for name in names[1:])])
    waiting: list[Any] = []

    def write() -> None:
        if waiting:
            writer.write_table(arrow.concat_tables(waiting).combine_chunks())
            waiting.clear()

    def add(found: "Predictions") -> None:
        columns = [arrow.array(list(map(_text, found.ids)), arrow.string()), *found.scores.T.copy()]
        waiting.append(arrow.table([arrow.array(values) for values in columns], schema=schema))
        if sum(table.num_rows for table in waiting) * len(names) >= _NUMBERS_AT_ONCE:
            write()

    with parquet.ParquetWriter(str(path), schema, use_dictionary=False) as writer:
        yield add
        write()


def _text(name: str) -> str:
    """Names of files may be bytes that are not UTF-8, which Parquet has no place for: such bytes are spelled out."""
    return os.fsencode(name).decode(errors="backslashreplace")


def require_parquet(path: Path) -> None:
    """Raises an error where the package that writes Parquet is missing."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise TrilabelError(
            f"{path}: needs pyarrow to be written; install it (pip install 'trilabel[parquet]'), or choose .csv"
        ) from None


FILES: dict[str, Kind] = {
    ".csv": csv_table,
    ".parquet": parquet_table,
    ".json": json_list,
    ".jsonl": json_lines,
}


def check_kind(path: Path) -> None:
    """Raises an error if files of this suffix are not written."""
    if path.suffix not in FILES:
        raise TrilabelError(f"{path}: the name must end in {', '.join([*FILES][:-1])} or {[*FILES][-1]}")
    if path.suffix == ".parquet":
        require_parquet(path)
