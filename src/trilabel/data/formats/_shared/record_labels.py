"""Labels in the columns of records: 0 and 1, lists of names, or objects with boxes."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any

from trilabel.data.formats._shared.assemble import Box
from trilabel.data.formats._shared.json_document import short
from trilabel.data.formats._shared.records import NO_CLASS, Records, plain
from trilabel.data.formats._shared.tag_lists import separator_of

_CATEGORIES = ("categories", "category", "category_id", "labels", "label")
_SIGNS: dict[Any, int] = {None: 0, "null": 0, "none": 0, "nan": 0, "1": 1, "1.0": 1, "true": 1}
_SIGNS |= {"0": -1, "0.0": -1, "false": -1}
_SIGNS |= {1: 1, 0: -1}  # also matches true, false, 1.0 and 0.0
_MINUS = 2  # the meaning of -1 is unclear


# ---- a column per class


def class_columns(table: Records, names: Iterable[str]) -> dict[str, list[int]]:
    """For each of these columns that contains only 0, 1, true, false and empty cells: its labels as −1, +1 and 0."""
    found = {}
    for name in names:
        if name in NO_CLASS or name.endswith("_file_name"):
            continue
        cells = table.columns[name]
        try:
            signs = {cell: _sign(cell) for cell in set(cells)}
        except TypeError:  # lists and objects
            continue
        if None in signs.values():
            continue
        if _MINUS in signs.values():
            row = next(row for row, cell in enumerate(cells) if signs[cell] == _MINUS)
            raise table.error_at(row, f"{name} is {short(cells[row])}; use 1 present, 0 absent, empty unknown")
        found[name] = [signs[cell] or 0 for cell in cells]
    return found


def _sign(cell: Any) -> int | None:
    key = cell.strip().lower() if isinstance(cell, str) else cell
    return _MINUS if key in (-1, "-1", "-1.0") else _SIGNS.get(key)


# ---- lists of labels


def unpack(table: Records, row: int, column: str) -> Any:
    """A cell; where it is the text of a list or an object, as JSON or Python write it, that list or object."""
    cell = table.columns[column][row]
    if not isinstance(cell, str) or not cell.lstrip().startswith(("[", "{")):
        return cell
    for parse in (json.loads, ast.literal_eval):
        try:
            return plain(parse(cell.strip()))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
    raise table.error_at(row, f'{column} is {short(cell)}, not a list or object; write for example ["cat", "dog"]')


def choose_separator(path: Path, table: Records, column: str) -> tuple[str, str]:
    """(what separates the labels in texts of a column, "" if each is one label; a note on that).

    In a column with a name in the plural that is a comma, semicolon or bar wherever these occur.
    """
    texts = Counter(cell for cell in table.columns[column] if isinstance(cell, str))
    mark, note = separator_of(path, texts, lists=column.endswith("s"))
    return ",;|" if column.endswith("s") and mark in (",", ";", "|") else mark, note


def listed(table: Records, row: int, column: str, separator: str) -> list[str] | None:
    """The labels in a cell: a list or a text; None if it is empty. Any letter of `separator` separates."""
    cell = table.columns[column][row]
    if cell is None:
        return None
    if isinstance(cell, str):
        parts = re.split(f"[{re.escape(separator)}]", cell) if separator else [cell]
        return [text for part in parts if (text := part.strip())]
    return [_name(table, row, column, item) for item in (cell if isinstance(cell, list) else [cell])]


def _name(table: Records, row: int, column: str, item: Any) -> str:
    if isinstance(item, str):
        return item
    if type(item) is not int or abs(item) >= 1 << 63:
        raise table.error_at(row, f"{column} contains {short(item)}, not the name or number of a label")
    return str(item)


# ---- objects


def objects(table: Records, row: int, column: str) -> list[str] | None:
    """The label of each object: of {"bbox": […], "categories": […]}, or of a list of such with one object each."""
    cell = table.columns[column][row]
    if cell is None:
        return None
    if isinstance(cell, list) and all(isinstance(item, dict) for item in cell):
        return [_name(table, row, column, _category(table, row, column, item)) for item in cell]
    names = _category(table, row, column, cell) if isinstance(cell, dict) else None
    if not isinstance(names, list):
        raise table.error_at(row, f"{column} is {short(cell)}, not an object with lists bbox and categories")
    return [_name(table, row, column, name) for name in names]


def object_boxes(
    table: Records, column: str, lists: list[list[str] | None], code: dict[str, int]
) -> tuple[list[Box], int]:
    """Boxes as shares of the images, and how many have none because the image's size or the box is not given."""
    boxes: list[Box] = []
    without = 0
    sizes = [table.columns.get(name, [None] * len(table)) for name in ("width", "height")]
    for row, names in enumerate(lists):
        cell = table.columns[column][row]
        given = [item.get("bbox") for item in cell] if isinstance(cell, list) else (cell or {}).get("bbox")
        given = None if given == [None] * len(names or ()) else given
        width, height = (
            _size(table, row, name, size[row]) for name, size in zip(("width", "height"), sizes, strict=True)
        )
        if not names or given is None or not width or not height:
            without += len(names or ())
            continue
        if not isinstance(given, list) or len(given) != len(names):
            raise table.error_at(row, f"{column} has {len(names)} labels, but bbox is {short(given)}")
        for name, box in zip(names, given, strict=True):
            x, y, w, h = _four(table, row, column, box)
            boxes.append((row, code[name], x / width, y / height, (x + w) / width, (y + h) / height))
    return boxes, without


def _category(table: Records, row: int, column: str, item: dict[str, Any]) -> Any:
    for name in _CATEGORIES:
        if name in item:
            return item[name]
    raise table.error_at(row, f"{column} has no {', '.join(_CATEGORIES[:-1])} or {_CATEGORIES[-1]}; add one of these")


def _size(table: Records, row: int, name: str, cell: Any) -> float:
    try:
        size = float(cell or 0)
    except (TypeError, ValueError, OverflowError):
        size = -1
    if not 0 <= size < 1e9:
        raise table.error_at(row, f"{name} is {short(cell)}, not the size of an image in pixels")
    return size


def _four(table: Records, row: int, column: str, box: Any) -> list[float]:
    numbers = box if isinstance(box, list) else []
    if len(numbers) != 4 or not all(type(n) in (int, float) and abs(n) < 1e12 and isfinite(n) for n in numbers):
        raise table.error_at(row, f"{column} has the bbox {short(box)}, not [x, y, width, height] in pixels")
    return numbers
