"""Exports of Label Studio as CSV or TSV: records of JSON-MIN, with JSON in the cells of regions and several choices."""

import csv
import json
from itertools import islice
from pathlib import Path
from typing import Any

from trilabel.data.formats._shared.json_document import Json
from trilabel.data.tables import read_rows, usual_delimiter
from trilabel.data.text_files import peek
from trilabel.errors import TrilabelError

_ALWAYS = {"annotation_id", "annotator", "lead_time"}  # columns of every such export


class Row(Json):
    """A value in a row of the table; an error names the row, which is searched for only then."""

    __slots__ = ()

    def error_at(self, what: str, *inside: str | int) -> TrilabelError:
        """An error about this value or one inside it."""
        number, *path = (*self.path, *inside)
        rows = read_rows(self.file, _delimiter(self.file))
        line = next((line for line, _ in islice(rows, 1 + int(number), None)), 1)
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        return TrilabelError(f"{self.file}, row {line}: {place or 'the row'} {what}".replace("\n", " "))


def is_table(path: Path) -> bool:
    """Whether the first line of a table has the columns that Label Studio always writes."""
    if path.suffix.lower() not in (".csv", ".tsv") or not path.is_file():
        return False
    first = peek(path).decode("utf-8-sig", errors="replace").lstrip().partition("\n")[0]
    try:
        return set(next(csv.reader([first.rstrip("\r")], delimiter=_delimiter(path)), [])) >= _ALWAYS
    except csv.Error:
        return False


def read_records(path: Path) -> list[Json]:
    """The rows of the table as records of JSON-MIN; empty cells are left out."""
    rows = read_rows(path, _delimiter(path))
    _, header = next(rows, (1, []))
    records: list[Json] = []
    for line, cells in rows:
        if len(cells) != len(header):
            raise TrilabelError(f"{path}, row {line}: {len(cells)} cells, but the header has {len(header)}")
        record = {name: _value(cell) for name, cell in zip(header, cells, strict=True) if cell}
        records.append(Row(path, record, (len(records),)))
    return records


def _delimiter(path: Path) -> str:
    return usual_delimiter(path, peek(path))


def _value(cell: str) -> Any:
    """A list or object in a cell; any other text as it is, also that of a choice such as 5."""
    if not cell.lstrip().startswith(("[", "{")):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell
