"""Progress of a comparison: on a terminal a table that fills up, elsewhere a line for each finished run."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trilabel.log import log, terminal
from trilabel.printable import plural, printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from trilabel.compare import CellResult, Comparison


@contextmanager
def watch(comparison: "Comparison") -> Iterator[Callable[[], None]]:
    """Shows progress on standard error; yields the function that the comparison calls after each run."""
    if not sys.stderr.isatty():
        yield _Lines(comparison)
        return
    from rich.console import Console
    from rich.live import Live

    table = _LiveTable(comparison)
    with Live(get_renderable=table.render, console=Console(file=terminal()), refresh_per_second=2, transient=True):
        yield lambda: None


class _LiveTable:
    """The table so far, and below it a line about the run that is being trained."""

    def __init__(self, comparison: "Comparison") -> None:
        self.comparison, self.start = comparison, time.monotonic()
        self.planned = comparison.spec.cell_keys()

    def render(self) -> "RenderableType":
        """The table and the line below it, as they are now."""
        from rich.console import Group
        from rich.text import Text

        from trilabel.report.comparison import live_table
        from trilabel.training.run_folder import RunFolder

        found = self.comparison
        words = f"{len(found.cells)} of {plural(len(self.planned), 'cell')}, {plural(len(found.trials), 'search run')}"
        words += f", {time.monotonic() - self.start:,.0f} s"
        if (folder := found.folder) is not None:  # read once: the other thread may set it to None at any time
            words += f"; {folder.name}: epoch {len(RunFolder(folder).read_history()) + 1}"
        return Group(live_table(found.cells, self.planned, found.running, found.metrics[0]), Text(printable(words)))


class _Lines:
    """Logs a line for each finished run."""

    def __init__(self, comparison: "Comparison") -> None:
        self.comparison, self.planned = comparison, len(comparison.spec.cell_keys())
        self.logged: list[CellResult] = []

    def __call__(self) -> None:
        cells, trials = self.comparison.cells, self.comparison.trials
        if new := [cell for cell in cells if cell not in self.logged]:  # runs may finish in another order than planned
            self._log_cell(new[0])
            self.logged = cells
        elif trials and self.comparison.running is not None:
            trial = trials[-1]
            value = "failed" if trial.validation is None else f"{100 * trial.validation:.1f} %"
            tried = ", ".join(f"{name}={given}" for name, given in trial.tried.items())
            log.info(f"search: {trial.row}, {trial.labels}, {tried}: validation {value} ({trial.seconds:.0f} s)")

    def _log_cell(self, cell: "CellResult") -> None:
        metric = self.comparison.metrics[0]
        score = cell.metrics[metric]
        done = f"{len(self.comparison.cells) + len(self.comparison.failed)} of {self.planned}"
        value = "—" if score is None else f"{100 * score:.1f} %"
        log.info(
            f"{done}: {cell.row}, {cell.labels}, seed {cell.seed}: test {metric} {value} "
            f"(epoch {cell.epoch} of {cell.epochs}, {cell.seconds:.0f} s)"
        )
