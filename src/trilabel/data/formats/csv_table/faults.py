"""Finding the row of a table that contains an error: slow, and done only if there is one."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from trilabel.data.formats._shared.table_file import TableFile
from trilabel.data.formats._shared.tag_lists import is_list
from trilabel.data.formats.csv_table.cells import NO_LABEL, CellReader
from trilabel.data.formats.csv_table.layout import TAG_COLUMNS, TableLayout, listed
from trilabel.data.image_paths import split_name
from trilabel.data.text_files import shown
from trilabel.errors import TrilabelError

_WORDS = {
    "positive_values": {"yes", "y", "positive", "pos", "present"},
    "negative_values": {"no", "n", "negative", "neg", "absent"},
    "unknown_values": {"na", "n/a", "nan", "none", "null", "?", "-", "unknown", "uncertain", "unsure"},
}
_OPTION = {word: option for option, words in _WORDS.items() for word in words}
_MOST_NAMED = 9
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
            hint = _hint(table, _unread(table, cells, [row, *(others for _, others in islice(below, _MOST_ROWS))]))
            raise TrilabelError(
                f"{where}: value {shown(text)} for image {_image(image)}, class {shown(name)}: "
                f"use 1 present, 0 absent, empty unknown{hint}"
            )
        if cells.sign(text) and not name:
            raise TrilabelError(f"{where}: value {shown(text)} for image {_image(image)}, but no label is named")


def _unread(table: TableLayout, cells: CellReader, rows: Sequence[list[str]]) -> dict[int, dict[str, str]]:
    """Of each column with cells that are no labels: these texts, in small letters and as they are written first."""
    columns = table.classes if table.value < 0 else [table.value]
    found: dict[int, dict[str, str]] = {}
    for row in rows:
        for column in columns if len(row) == len(table.header) else ():
            if cells.sign(text := row[column].strip()) == NO_LABEL:
                found.setdefault(column, {}).setdefault(text.lower(), text)
    return found


def _hint(table: TableLayout, unread: Mapping[int, Mapping[str, str]]) -> str:
    """What to do about words for labels, and about columns that may be no classes; all are named at once."""
    with_words = [column for column, texts in unread.items() if _are_words_for_labels(table, column, texts)]
    strange = sorted(unread.keys() - set(with_words) - {table.value})
    words = {small: text for column in with_words for small, text in unread[column].items()}
    return _about_words(words) + (_about_columns(table, strange, unread) if strange else "")


def _are_words_for_labels(table: TableLayout, column: int, texts: Mapping[str, str]) -> bool:
    """Whether most different texts of a column are words that surely mean present, absent or unknown."""
    return table.header[column].lower() not in TAG_COLUMNS and 2 * len(texts.keys() & _OPTION.keys()) > len(texts)


def _about_words(words: Mapping[str, str]) -> str:
    given = {option: [text for small, text in words.items() if _OPTION.get(small) == option] for option in _WORDS}
    said = ", ".join(f"{option}={texts}" for option, texts in given.items() if texts)
    if not said:
        return ""
    others = [text for small, text in words.items() if small not in _OPTION]
    more = f", and {listed(others)} in one of {', '.join(f'{option}=WORDS' for option in _WORDS)}" if others else ""
    return f", or pass {said}{more}"


def _about_columns(table: TableLayout, columns: Sequence[int], unread: Mapping[int, Mapping[str, str]]) -> str:
    names, one = [table.header[column] for column in columns], len(columns) == 1
    are = "is not a class" if one else "are no classes"
    whole = len(names) <= _MOST_NAMED and all(shown(name) == repr(name) for name in names)
    ignored = names if whole else "NAMES"
    firsts = [next(iter(unread[column].values())) for column in columns]
    tags = any(text[:1].isalpha() or is_list(text) for text in firsts) or {*map(str.lower, names)} & {*TAG_COLUMNS}
    known = repr(names[0]) if one and whole else "NAME"
    hint = f"; if {'it contains' if one else 'one of them contains'} tags, pass tags={known}" if tags else ""
    return f" (if {listed(names)} {are}, pass ignore={ignored}{hint})"
