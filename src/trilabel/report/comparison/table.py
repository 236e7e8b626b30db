"""The table of a comparison, before it is written as Markdown or LaTeX."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from trilabel.compare.results import ComparisonResults, Reference, SeedStatistics, best_rows, seed_statistics
from trilabel.metrics import GROUP_METRICS
from trilabel.report.comparison.formatting import NO_VALUE, mean_text


class TableCell(NamedTuple):
    """The content of one cell: numbers and signs, no names."""

    text: str
    bold: bool = False


class TableColumn(NamedTuple):
    """One column, with a cell for each row."""

    labels: str  # neighboring columns with the same label setting form a group
    heading: str
    cells: list[TableCell]


class ComparisonTable(NamedTuple):
    """A row for each method, a group of columns for each label setting."""

    rows: list[str]
    columns: list[TableColumn]
    sources: list[str]  # [n] in a cell is the n-th, from 1

    def row_cells(self, number: int) -> list[TableCell]:
        """The cells of a row."""
        return [column.cells[number] for column in self.columns]


def comparison_tables(results: ComparisonResults) -> list[ComparisonTable]:
    """The results as one table, and mAP by groups of classes as another: together they would be too wide."""
    others = [metric for metric in results.metrics if metric not in GROUP_METRICS]
    return [comparison_table(results, metrics) for metrics in (others, results.groups) if metrics]


def comparison_table(results: ComparisonResults, metrics: Sequence[str] | None = None) -> ComparisonTable:
    """The results as a table: in each label setting every metric (or these), then its published figures."""
    metrics = results.metrics if metrics is None else metrics
    published = [reference for reference in results.references if reference.metric in results.metrics]
    pairs = [(cell.row, cell.labels) for cell in results.cells] + [(each.row, each.labels) for each in published]
    rows = list(dict.fromkeys(row for row, _ in pairs))
    sources = list(dict.fromkeys(each.citation for each in published))
    statistics = {metric: seed_statistics(results.cells, metric) for metric in metrics}
    columns: list[TableColumn] = []
    for labels in dict.fromkeys(labels for _, labels in pairs):
        for metric in metrics:
            found = {one.row: one for one in statistics[metric] if one.labels == labels}
            columns.append(TableColumn(labels, metric, _measured(rows, found)))
        for metric in metrics:
            figures = [each for each in published if (each.labels, each.metric) == (labels, metric)]
            if figures:
                columns.append(TableColumn(labels, f"{metric}, published", _published(rows, figures, sources)))
    return ComparisonTable(rows, columns, sources)


def _measured(rows: Sequence[str], found: Mapping[str, SeedStatistics]) -> list[TableCell]:
    best = best_rows(found.values())
    return [TableCell(mean_text(found[row]), row in best) if row in found else TableCell(NO_VALUE) for row in rows]


def _published(rows: Sequence[str], figures: Sequence[Reference], sources: Sequence[str]) -> list[TableCell]:
    texts: dict[str, list[str]] = {}
    for each in figures:
        as_printed = f"{each.value:.1f}" if each.value == round(each.value, 1) else f"{each.value:g}"
        texts.setdefault(each.row, []).append(f"{as_printed} [{sources.index(each.citation) + 1}]")
    return [TableCell(", ".join(texts.get(row, [NO_VALUE]))) for row in rows]
