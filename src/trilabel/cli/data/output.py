"""Writing a data set from a command."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trilabel.cli.arguments import check_output
from trilabel.log import log
from trilabel.printable import in_number

if TYPE_CHECKING:
    from trilabel.data import Dataset

Layout = Literal["wide", "long"]


def check_writable(out: Path, format: str | None, layout: Layout, overwrite: bool, safe_cells: bool = False) -> None:
    """Raises an error for output that cannot be written, before anything is read, since reading may take long."""
    from trilabel.data.formats import writer_of

    check_output(out, overwrite)
    writer_of(out, format, _options(layout, safe_cells))


def write_dataset(
    dataset: "Dataset", out: Path, format: str | None, layout: Layout, safe_cells: bool = False
) -> list[str]:
    """Writes the data set; logs and returns warnings about what the format cannot store."""
    from trilabel.data import write

    warnings = write(dataset, out, format, **_options(layout, safe_cells))
    for warning in warnings:
        log.warning(f"{out}: {in_number(warning)}")
    return warnings


def _options(layout: Layout, safe_cells: bool) -> dict[str, Any]:
    return ({"layout": layout} if layout != "wide" else {}) | ({"safe_cells": True} if safe_cells else {})
