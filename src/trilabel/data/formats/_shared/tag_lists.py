"""Lists of tags in one cell of a table: a;b;c, a|b, a, b, ["a", "b"], and by what the cells show also a/b and a b."""

import ast
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from trilabel.data.text_files import shown
from trilabel.errors import TrilabelError

_ALWAYS = (";", "|")  # hardly any name has one of these
_WORDS = {" ": "blanks", "/": "slashes", ",": "commas"}
_MOST, _SOME, _FEW = 0.9, 1 / 3, 0.1  # shares of the cells that could be lists


def separator_of(path: Path, cells: Mapping[str, int], *, lists: bool = True) -> tuple[str, str]:
    """(what separates the tags of a cell, "" if every cell is one tag; a note on that).

    `cells` counts the rows of each text. ; and | separate wherever they occur, and so does a comma in a column of
    `lists`, unless cells repeat whole ("tench, Tinca tinca"). A blank and a slash, which names have too, separate
    where nearly all parts recur in other cells ("haze primary", "clear primary", "haze"). Where the cells could be
    read both ways, this raises an error that asks for the option `separator`.
    """
    plain = {text: rows for text, rows in cells.items() if text and not text.isspace() and not is_list(text)}
    for mark in (*_ALWAYS, ",", "/", " "):
        if not any(mark in text for text in plain):
            continue
        if mark in _ALWAYS or (mark == "," and lists and not _repeat_whole(plain)):
            return mark, f"tags in a cell are separated by {_WORDS.get(mark, repr(mark))}"
        several = {text: parts for text in plain if len(parts := _parts(text, mark)) > 1}
        found = _by_recurrence(several, plain) if mark != "," or not lists else "unclear"
        if found == "list":
            tags = len({part for text in plain for part in _parts(text, mark)})
            counts = f"{len(plain)} different cells have {tags} different tags"
            return mark, f"tags in a cell are separated by {_WORDS[mark]}: {counts}"
        if found == "unclear":
            example = next(iter(several))
            raise TrilabelError(
                f"{path}: is {shown(example)} one tag, or are these {len(several[example])}? pass separator='' for "
                f"one, separator={mark!r} for several"
            )
    blank = any(" " in text.strip() for text in plain)
    return "", "every cell is one tag, with the blanks in it" if blank else ""


def tags_of(text: str, separator: str) -> list[str]:
    """The tags in a text, each once; lists are read as JSON, Python and NumPy write them."""
    if not is_list(text):
        return list(dict.fromkeys(_parts(text, separator)))
    return list(dict.fromkeys(tag for name in _listed(text.strip()) if (tag := name.strip())))


def is_list(text: str) -> bool:
    """Whether a text is in brackets."""
    return "[" in text and text.lstrip().startswith("[") and text.rstrip().endswith("]")


def _parts(text: str, mark: str) -> list[str]:
    parts = text.split(None if mark == " " else mark) if mark else [text]
    return list(filter(None, map(str.strip, parts)))


def _by_recurrence(
    several: Mapping[str, Sequence[str]], plain: Mapping[str, int]
) -> Literal["list", "name", "unclear"]:
    """Whether cells with this mark are lists: then few parts make many cells.

    Names of two words, such as colors and things ("red car"), recur too, but each word always at its place.
    """
    if len(several) <= _FEW * len(plain):
        return "name"
    parts_of = [several.get(text) or [text.strip()] for text in plain]
    cells_with = Counter(part for parts in parts_of for part in set(parts))
    recurring = sum(all(cells_with[part] > 1 for part in parts) for parts in several.values()) / len(several)
    related = sum(any(cells_with[part] > 1 for part in parts) for parts in several.values()) / len(several)
    if recurring <= _FEW and related <= _SOME:  # "hot dog" and "dog" are names
        return "name"
    places = {(part, place) for parts in several.values() for place, part in enumerate(parts)}
    free = len(places) > len({part for part, _ in places})
    return "list" if recurring >= _MOST and len(plain) >= 2 * len(cells_with) and free else "unclear"


def _repeat_whole(plain: Mapping[str, int]) -> bool:
    """Whether cells with commas may be names: they repeat as a whole, and none of their parts is in another cell."""
    several = [text for text in plain if "," in text]
    if len(several) < 2 or sum(plain[text] for text in several) < 2 * len(several):
        return False
    cells_with = Counter(part for text in plain for part in set(_parts(text, ",")))
    return all(cells_with[part] == 1 for text in several for part in _parts(text, ","))


def _listed(text: str) -> list[str]:
    for parse in (json.loads, ast.literal_eval):
        try:
            return [str(item) for item in parse(text)]
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
    inside = text[1:-1]
    return inside.split(",") if "," in inside else inside.split()
