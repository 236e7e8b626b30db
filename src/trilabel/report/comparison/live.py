"""The table of a running comparison on a terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from trilabel.compare.results import CellKey, CellResult, SeedStatistics, best_rows, seed_statistics
from trilabel.report.comparison.formatting import NO_VALUE, mean_text, one_line

_WAITING, _RUNNING = "…", "▸"
_LETTERS = 60  # for all columns of numbers; the names get the rest


def live_table(cells: Sequence[CellResult], planned: Sequence[CellKey], running: CellKey | None, metric: str) -> Table:
    """The results so far: "…" has not started, "▸" is running, 2/3 is two of three seeds."""
    keys = list(dict.fromkeys([*planned, *(cell.key for cell in cells)]))
    rows = list(dict.fromkeys(key.row for key in keys))
    settings = list(dict.fromkeys(key.labels for key in keys))
    found = {(one.row, one.labels): one for one in seed_statistics(cells, metric)}
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(Text(f"{metric} %"), overflow="fold")
    columns = [[Text(one_line(row)) for row in rows]]
    for labels in settings:
        best, column = best_rows(one for one in found.values() if one.labels == labels), list[Text]()
        for row in rows:
            of_cell = [key for key in keys if (key.row, key.labels) == (row, labels)]
            text = _so_far(found.get((row, labels)), len(of_cell), running in of_cell)
            column.append(Text(text, style="bold" if row in best else ""))
        table.add_column(
            Text(one_line(labels)), justify="right", overflow="fold", width=_width(labels, column, len(settings))
        )
        columns.append(column)
    for texts in zip(*columns, strict=True):
        table.add_row(*texts)
    return table


def _width(labels: str, column: Sequence[Text], settings: int) -> int:
    widest = max(len(text) for text in (Text(labels), *column))
    longest = max(len(word) for text in column for word in text.plain.split())  # a number is never broken
    return max(longest, min(widest, _LETTERS // settings))


def _so_far(one: SeedStatistics | None, seeds: int, runs: bool) -> str:
    if not seeds:
        return NO_VALUE
    finished = one.seeds + one.left_out if one else 0
    mean = mean_text(one).replace(" ", "") if one else _WAITING
    return f"{_RUNNING} " * runs + mean + f" {finished}/{seeds}" * (0 < finished < seeds)
