"""Answers of people, from whichever file they are in."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trilabel.data.answers import Answer

_TABLES = (".csv", ".tsv", ".txt")


def read_answers(path: Path) -> "list[Answer]":
    """From the store of a review, or from a table of questions with its column answer filled in."""
    from trilabel.data.answers import read_answer_table
    from trilabel.review import store

    table = path.suffix.lower() in _TABLES and not store.is_store(path)
    return read_answer_table(path) if table and path.exists() else store.read_answers(path)
