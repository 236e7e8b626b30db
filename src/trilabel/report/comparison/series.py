"""What the plots of a comparison share: the values of each method, and their legend."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

from matplotlib.lines import Line2D

from trilabel.compare.results import ComparisonResults, KnownLabels, seed_statistics

GRAY = "#555555"


class Mark(NamedTuple):
    """A value in percent in the label setting of that number."""

    setting: int
    value: float
    deviation: float | None


class Series(NamedTuple):
    """A method: our means, and the published figures."""

    name: str
    measured: Sequence[Mark]
    published: Sequence[Mark]

    @property
    def mean(self) -> float:
        """Over label settings: of our means, or of published figures if there are none."""
        return fmean(mark.value for mark in self.measured or self.published)


def series_of(results: ComparisonResults, settings: Sequence[KnownLabels], metric: str) -> list[Series]:
    """A series for each row that has a value in one of these label settings."""
    number_of = {setting.labels: number for number, setting in enumerate(settings)}
    statistics = seed_statistics(results.cells, metric)
    figures = [each for each in results.references if each.metric == metric and each.labels in number_of]
    rows = dict.fromkeys([*(one.row for one in statistics), *(each.row for each in figures)])
    measured: dict[str, list[Mark]] = {row: [] for row in rows}
    published: dict[str, list[Mark]] = {row: [] for row in rows}
    for one in statistics:
        if one.mean is not None:
            measured[one.row].append(Mark(number_of[one.labels], one.mean, one.deviation))
    for each in figures:
        published[each.row].append(Mark(number_of[each.labels], each.value, None))
    return [Series(row, measured[row], published[row]) for row in rows if measured[row] or published[row]]


def published_legend(series: Sequence[Series]) -> list[Line2D]:
    """Legend entries that distinguish our values from published ones; empty if nothing is published."""
    if not any(one.published for one in series):
        return []
    style: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": GRAY}
    measured = Line2D([], [], label="ours", markersize=5, **style)
    return [measured, Line2D([], [], label="published", fillstyle="none", markersize=8, **style)]
