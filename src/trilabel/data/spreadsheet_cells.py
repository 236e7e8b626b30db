"""Cells of a table that a spreadsheet would run as a formula, such as the class name =HYPERLINK(…).

A program that reads a table takes them for text, and so they are written as they are. For people who open a table in
a spreadsheet they can be written with an apostrophe in front, as OWASP recommends; the apostrophe is then part of the
name if the table is read back.
"""

from collections.abc import Iterable

import numpy as np

from trilabel.labels.names import Names

_STARTS = "=+-@\t\r"


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may run this text; a number is none.

    >>> is_formula("=1+1"), is_formula("-1"), is_formula("cat")
    (True, False, False)
    """
    return text.startswith(tuple(_STARTS)) and not _is_number(text)


def safe_cell(text: str) -> str:
    """The text, with an apostrophe in front of what a spreadsheet may run."""
    return f"'{text}" if is_formula(text) else text


def count_formulas(*columns: Iterable[str]) -> int:
    """How many of these texts a spreadsheet may run."""
    return sum(sum(map(is_formula, _candidates(texts))) for texts in columns)


def formula_note(count: int, offered: bool = True) -> str:
    """What to tell about such texts; `offered`: whether the command that writes them has the option --safe-cells."""
    advice = "pass --safe-cells (safe_cells=True) if it will be opened in one" if offered else "import it as text"
    return f"{count:,} names begin with = + - or @, so that a spreadsheet runs them as formulas; {advice}"


def _candidates(texts: Iterable[str]) -> Iterable[str]:
    """Those of many names that begin with such a letter, found without making a string of each."""
    if not isinstance(texts, Names):
        return texts
    filled = np.flatnonzero(np.diff(texts.offsets))
    first = texts.buffer[texts.offsets[:-1][filled]]
    return (texts[int(row)] for row in filled[np.isin(first, np.frombuffer(_STARTS.encode(), np.uint8))])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text == text.strip()
