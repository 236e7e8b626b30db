"""Writing a data set from a command."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trilabel.cli.arguments import check_output, split_pairs
from trilabel.log import log
from trilabel.printable import in_number

if TYPE_CHECKING:
    from trilabel.data import Dataset

Layout = Literal["wide", "long"]


def check_writable(
    out: Path,
    format: str | None,
    layout: Layout,
    overwrite: bool,
    safe_cells: bool = False,
    texts: Sequence[str] = (),
) -> dict[str, Any]:
    """Raises an error for output that cannot be written, before anything is read; returns the writer's options.

    texts: options of the format, NAME=VALUE.
    """
    from trilabel.data.formats import options_from_text, writer_of

    check_output(out, overwrite)
    options: dict[str, Any] = {"layout": layout} if layout != "wide" else {}
    options |= {"safe_cells": True} if safe_cells else {}
    writer = writer_of(out, format, options)
    return options | options_from_text(out, writer, split_pairs("--write", texts))


def write_dataset(dataset: "Dataset", out: Path, format: str | None, options: Mapping[str, Any]) -> list[str]:
    """Writes the data set; logs and returns warnings about what the format cannot store."""
    from trilabel.data import write

    warnings = write(dataset, out, format, **options)
    for warning in warnings:
        log.warning(f"{out}: {in_number(warning)}")
    return warnings
