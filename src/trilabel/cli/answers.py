"""`--answers`: what people confirmed, from the store of a review or from a table of questions with its answers."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trilabel.data.answers import Answer

_TABLES = (".csv", ".tsv", ".txt")


def read_answers(path: str | Path) -> "list[Answer]":
    """The answers in a store, or in a table (image, class, answer)."""
    from trilabel.data.answers import read_answer_table
    from trilabel.review import store

    if Path(path).suffix.lower() in _TABLES and not store.is_store(path):
        return read_answer_table(path)
    return store.read_answers(path)
