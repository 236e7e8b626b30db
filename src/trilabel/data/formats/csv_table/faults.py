"""Finding the row of a table that contains an error: slow, and done only if there is one."""

from trilabel.data.formats._shared.table_file import TableFile
from trilabel.data.formats.csv_table.cells import NO_LABEL, CellReader
from trilabel.data.formats.csv_table.layout import TAG_COLUMNS, TableLayout
from trilabel.data.image_paths import split_name
from trilabel.errors import TrilabelError


def refuse(
    file: TableFile, table: TableLayout, cells: CellReader, otherwise: str | None = "cannot be read as a table"
) -> None:
    """Raises an error about the first wrong row; if there is none, an error with the message `otherwise`."""
    lines: dict[str, int] = {}
    splits: dict[str, str] = {}
    for line, row in file.rows():
        where = f"{file.path}, row {line}"
        _check_row(table, cells, row, where)
        image = row[table.image]
        if table.label < 0 and lines.setdefault(image, line) != line:
            raise TrilabelError(f"{where}: image {image!r} is listed twice, first in row {lines[image]}; remove one")
        split = split_name(row[table.split]) if table.split >= 0 else ""
        if splits.setdefault(image, split) != split:
            raise TrilabelError(f"{where}: image {image!r} is in split {split!r} and in {splits[image]!r}; choose one")
    if otherwise:
        raise TrilabelError(f"{file.path}: {otherwise}")


def _check_row(table: TableLayout, cells: CellReader, row: list[str], where: str) -> None:
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
            hint = f" (if {name!r} is not a class, pass it in ignore)" if table.classes else ""
            if table.classes and (text.strip()[:1].isalpha() or name.strip().lower() in TAG_COLUMNS):
                hint = f" (if {name!r} is not a class, pass it in ignore; if it contains tags, pass its name as tags)"
            raise TrilabelError(
                f"{where}: value {text!r} for image {image!r}, class {name!r}: "
                f"use 1 present, 0 absent, empty unknown{hint}"
            )
        if cells.sign(text) and not name:
            raise TrilabelError(f"{where}: value {text!r} for image {image!r}, but no label is named")
