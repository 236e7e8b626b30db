"""A completion as files: the table that came in with its holes filled, any other format, and where each label is from.

Images × classes are never in memory where the table that came in is filled.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trilabel.data import write
from trilabel.data.formats import FORMATS, format_of
from trilabel.data.provenance import provenance_writer
from trilabel.data.tables import DELIMITERS, table_suffix
from trilabel.errors import TrilabelError
from trilabel.inference.completion.result import Completion

_READING = ("splits", "missing", "fetch", "format")  # options that say nothing about the cells of a table


def can_fill(like: Path, out: Path, format: str | None, options: Mapping[str, Any]) -> bool:
    """Whether the table that came in can be written again: a text table with all of its rows, to a text table.

    Where a format is asked for, it is written anew: `csv` is a wide table, which can say what is absent.
    """
    to_table = table_suffix(out) in DELIMITERS and format is None
    return (
        to_table
        and like.is_file()
        and table_suffix(like) in DELIMITERS
        and format_of(like, options.get("format")) == "csv"
        and options.get("missing", "keep") == "keep"
    )


def write_labels(
    completion: Completion, out: Path, format: str | None, like: Path | None, options: Mapping[str, Any]
) -> list[str]:
    """Writes all labels that are known or decided; notes say what the file cannot."""
    if like is not None and can_fill(like, out, format, options):
        csv: Any = FORMATS["csv"]
        cells = {name: value for name, value in options.items() if name not in (*_READING, "images")}
        found: list[str] = csv.fill(like, out, completion.known, completion.values, cells)
        return found
    if completion.dataset is None:
        raise TrilabelError(f"{out}: a completion of scores alone has no images; use its labels")
    return write(replace(completion.dataset, labels=completion.labels, truth=None), out, format)


def write_provenance(completion: Completion, path: Path) -> None:
    """Writes a row for each label."""
    known = completion.known
    with provenance_writer(path, known.classes, completion.run, completion.date) as writer:
        for rows, origins in completion.origins():
            writer.add(known.ids.take(rows), origins)
