"""Answers of people, from whichever file they are in."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trilabel.data.answers import Answer


def read_any_answers(path: Path) -> "list[Answer]":
    """From the store of a review, or from a table of questions with its column answer filled in."""
    from trilabel.data.answers import read_answer_table
    from trilabel.data.tables import DELIMITERS, table_suffix
    from trilabel.review.store import is_store, read_answers

    is_table = table_suffix(path) in DELIMITERS and path.is_file() and not is_store(path)
    return read_answer_table(path) if is_table else read_answers(path)
