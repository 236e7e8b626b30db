"""Answers of people, from whichever file they are in."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trilabel.data.answers import Answer


def read_answers(path: Path) -> "list[Answer]":
    """From the store of a review, or from a table of questions with its column answer filled in."""
    from trilabel.data.answers import read_answer_table
    from trilabel.review import store

    return store.read_answers(path) if store.is_store(path) or not path.exists() else read_answer_table(path)
