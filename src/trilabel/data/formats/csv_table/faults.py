"""Finding the row of a table that contains an error: slow, and done only if there is one."""

from collections.abc import Iterable, Sequence
from itertools import islice

from trilabel.data.formats._shared.table_file import TableFile
from trilabel.data.formats._shared.tag_lists import is_list
from trilabel.data.formats.csv_table.cells import NO_LABEL, CellReader
from trilabel.data.formats.csv_table.layout import TAG_COLUMNS, TableLayout, listed
from trilabel.data.image_paths import split_name
from trilabel.data.text_files import shown
from trilabel.errors import TrilabelError

_WORDS = {"yes", "no", "na", "n/a", "nan", "none", "null", "?", "-", "positive", "negative", "pos", "neg", "present"}
_WORDS |= {"absent", "unknown"}
_MOST_ROWS = 20_000  # below the first wrong cell, in which to look for other columns with such cells


def refuse(
    file: TableFile, table: TableLayout, cells: CellReader, otherwise: str | None = "cannot be read as a table"
) -> None:
    """Raises an error about the first wrong row; if there is none, an error with the message `otherwise`."""
    first: dict[str, tuple[int, list[object]]] = {}
    splits: dict[str, str] = {}
    rows = file.rows()
    for line, row in rows:
        where = f"{file.path}, row {line}"
        _check_row(table, cells, row, where, rows)
        image = row[table.image]
        if table.label < 0:
            said: list[object] = [cells.sign(row[column]) for column in table.classes]
            said += [row[table.tags]] if table.tags >= 0 else []
            before, other = first.setdefault(image, (line, said))
            if other != said:
                other_row = f"first in row {before} with other labels"
                raise TrilabelError(f"{where}: image {_image(image)} is listed twice, {other_row}; remove one")
        split = split_name(row[table.split]) if table.split >= 0 else ""
        if splits.setdefault(image, split) != split:
            raise TrilabelError(
                f"{where}: image {_image(image)} is in split {shown(split)} and in {shown(splits[image])}; choose one"
            )
    if otherwise:
        raise TrilabelError(f"{file.path}: {otherwise}")


def _image(name: str) -> str:
    return shown(name, 200)


def _check_row(
    table: TableLayout, cells: CellReader, row: list[str], where: str, below: Iterable[tuple[int, list[str]]]
) -> None:
    if len(row) != len(table.header):
        raise TrilabelError(f"{where}: {len(row)} cells, but the header has {len(table.header)}")
    image = row[table.image]
    if not image:
        raise TrilabelError(f"{where}: the image has no name")
    values = [(table.header[column], row[column]) for column in table.classes]
    if table.value >= 0:
        values = [(row[table.label], row[table.value])]
    for name, text in values:
        if cells.sign(text) == NO_LABEL:
            hint = _hint(
                table, _no_classes(table, cells, [row, *(cells for _, cells in islice(below, _MOST_ROWS))]), text
            )
            raise TrilabelError(
                f"{where}: value {shown(text)} for image {_image(image)}, class {shown(name)}: "
                f"use 1 present, 0 absent, empty unknown{hint}"
            )
        if cells.sign(text) and not name:
            raise TrilabelError(f"{where}: value {shown(text)} for image {_image(image)}, but no label is named")


def _no_classes(table: TableLayout, cells: CellReader, rows: Sequence[list[str]]) -> list[int]:
    """The columns of a wide table that have cells which are no labels."""
    whole = [row for row in rows if len(row) == len(table.header)]
    return [column for column in table.classes if any(cells.sign(row[column]) == NO_LABEL for row in whole)]


def _hint(table: TableLayout, columns: list[int], text: str) -> str:
    """What to do about a word for a label, or about columns that may be no classes; all are named at once."""
    said = ""
    if text.strip().lower() in _WORDS:
        said = f", or say in positive_values, negative_values or unknown_values what {shown(text.strip())} means"
    if not columns:
        return said
    names = listed(table.header[column] for column in columns)
    them = "is not a class, pass it" if len(columns) == 1 else "are no classes, pass them"
    tags = (
        text.strip()[:1].isalpha()
        or is_list(text)
        or any(table.header[column].lower() in TAG_COLUMNS for column in columns)
    )
    one = "it contains" if len(columns) == 1 else "one of them contains"
    return f"{said} (if {names} {them} in ignore{f'; if {one} tags, pass its name as tags' if tags else ''})"
