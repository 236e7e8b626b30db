"""The files that a comparison writes, kept up to date while it runs."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

from trilabel.compare import CellKey, CellResult, Comparison, ComparisonResults
from trilabel.files import write_csv, write_text
from trilabel.log import log, truncate_list
from trilabel.report import plots
from trilabel.report.comparison.csv_tables import cells_csv, statistics_csv
from trilabel.report.comparison.latex import as_latex
from trilabel.report.comparison.markdown import as_markdown
from trilabel.report.comparison.plot import plot
from trilabel.report.comparison.remarks import protocol


def run_and_report(comparison: Comparison, on_progress: Callable[[], None] = lambda: None) -> list[CellResult]:
    """Runs a comparison and writes its tables after each cell, and its plot at the end.

    The tables show what the comparison is about, and no other runs in its folder.
    """
    if others := _shown_before(comparison.out) - set(comparison.spec.cell_keys()):
        rows = truncate_list(sorted({f"{key.row}, {key.labels}" for key in others}))
        log.warning(
            f"{comparison.out}: the tables showed {len(others)} cells that are not compared now ({rows}) and leave "
            "them out from here on; their results stay: name all rows to see them in one table, or choose another --out"
        )

    def update() -> None:
        if comparison.cells or comparison.failed:  # not during the search
            write_tables(*_content(comparison))
        on_progress()

    cells = comparison.run(update)
    write_tables(*_content(comparison))
    write_plot(comparison.out, comparison.results)
    return cells


def _shown_before(folder: Path) -> set[CellKey]:
    """The cells that the tables in a folder show."""
    try:
        with (folder / "cells.csv").open(encoding="utf-8", newline="") as file:
            return {CellKey(row["method"], row["labels"], int(row["seed"])) for row in csv.DictReader(file)}
    except (OSError, ValueError, KeyError, TypeError, csv.Error):  # none, or not ours
        return set()


def _content(comparison: Comparison) -> tuple[Path, ComparisonResults, str, list[str]]:
    title = f"Methods compared on {Path(comparison.source['data']).name}"
    return comparison.out, comparison.results, title, protocol(comparison)


def write_tables(folder: Path, results: ComparisonResults, title: str = "", remarks: Sequence[str] = ()) -> None:
    """Writes cells.csv, table.csv, table.md and table.tex, each replaced completely."""
    write_csv(folder / "cells.csv", *cells_csv(results.cells))
    write_csv(folder / "table.csv", *statistics_csv(results))
    write_text(folder / "table.md", as_markdown(results, title, remarks))
    write_text(folder / "table.tex", as_latex(results, title, remarks))


def write_plot(folder: Path, results: ComparisonResults) -> None:
    """Writes plot.png, of the first metric."""
    plots.save(plot(results, results.metrics[0]), folder / "plot.png")
