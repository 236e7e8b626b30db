"""The CSV files of a comparison: every run, and every mean over seeds."""

import json
from collections.abc import Sequence

from trilabel.compare.results import (
    CellResult,
    ComparisonResults,
    Reference,
    SeedStatistics,
    chosen_text,
    seed_statistics,
)
from trilabel.report.comparison.formatting import number_text

CsvTable = tuple[list[str], list[list[str]]]  # header, rows


def cells_csv(cells: Sequence[CellResult]) -> CsvTable:
    """A row for each run, with unrounded values: metrics in 0…1, chosen settings as JSON."""
    metrics = list(dict.fromkeys(name for cell in cells for name in cell.metrics))
    header = ["method", "labels", "seed", "recipe", "known", "known_share", *(f"test {name}" for name in metrics)]
    rows = [
        [
            *(cell.row, cell.labels, str(cell.seed), cell.recipe, str(cell.known), str(cell.known_share)),
            *(number_text(cell.metrics.get(name)) for name in metrics),
            *(str(cell.validation), str(cell.epoch), str(cell.epochs), str(cell.seconds)),
            *(json.dumps(dict(cell.chosen), ensure_ascii=False, default=str), cell.command),
        ]
        for cell in cells
    ]
    return [*header, "validation", "epoch", "epochs", "seconds", "chosen", "command"], rows


def statistics_csv(results: ComparisonResults) -> CsvTable:
    """A row for each method, label setting and metric, in percent; then published figures of what was not run."""
    measured = {
        (one.row, one.labels, one.metric): one
        for metric in results.metrics
        for one in seed_statistics(results.cells, metric)
    }
    published: dict[tuple[str, str, str], list[Reference]] = {}
    for each in results.references:
        if each.metric in results.metrics:
            published.setdefault((each.row, each.labels, each.metric), []).append(each)
    header = ["method", "labels", "metric", "seeds", "left out", "mean %", "deviation %", "known", "known_share"]
    rows = []
    for key in dict.fromkeys([*measured, *published]):
        figures = published.get(key, [])
        values, sources = [f"{each.value:g}" for each in figures], [each.citation for each in figures]
        rows.append([*key, *_statistics_fields(measured.get(key)), "; ".join(values), "; ".join(sources)])
    return [*header, "seconds", "chosen", "published %", "sources"], rows


def _statistics_fields(one: SeedStatistics | None) -> list[str]:
    if one is None:
        return ["0", "0", *[""] * 6]
    numbers = [one.mean, one.deviation, one.known, one.known_share, one.seconds]
    return [str(one.seeds), str(one.left_out), *map(number_text, numbers), "; ".join(map(chosen_text, one.chosen))]
