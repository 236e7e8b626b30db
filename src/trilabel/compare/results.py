"""What a comparison found: finished cells, search trials, published references, and statistics over seeds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple

from trilabel.metrics import GROUP_METRICS


class CellKey(NamedTuple):
    """Names one cell of a comparison."""

    row: str
    labels: str
    seed: int


@dataclass(frozen=True)
class CellResult:
    """One finished run."""

    row: str  # name of the method as the table shows it
    labels: str  # label setting, e.g. "single-positive", "keep-share=0.1", "all"
    seed: int
    known: int  # number of known training labels
    known_share: float  # of all training labels
    metrics: Mapping[str, float | None]  # test metrics, in 0…1
    validation: float  # the validation metric that chose the epoch, 0…1
    epoch: int
    epochs: int
    seconds: float
    chosen: Mapping[str, Any]  # what the search chose, e.g. {"lr": 2e-05}; empty without a search
    command: str  # the commands that reproduce this cell
    recipe: str = ""  # the published recipe whose method it is

    @property
    def key(self) -> CellKey:
        """Which cell it is."""
        return CellKey(self.row, self.labels, self.seed)


@dataclass(frozen=True)
class Trial:
    """A search run that ended."""

    row: str
    labels: str
    tried: Mapping[str, Any]
    validation: float | None  # None if it failed
    seconds: float
    error: str = ""  # why it failed


@dataclass(frozen=True)
class Reference:
    """A published figure to show beside ours."""

    row: str
    labels: str
    metric: str
    value: float  # percent
    source: str  # "Kim 2022, table 2"
    note: str = ""  # e.g. "VOC 2007, ResNet-101"

    @property
    def citation(self) -> str:
        """Source and note."""
        return f"{self.source} ({self.note})" if self.note else self.source


@dataclass(frozen=True)
class ComparisonResults:
    """What the tables and plots of a comparison are made from."""

    cells: Sequence[CellResult]
    references: Sequence[Reference] = ()
    metrics: Sequence[str] = ("mAP",)  # to show; plots show the first

    @property
    def groups(self) -> list[str]:
        """The metrics by groups of classes; none if no run and no published figure has one."""
        groups = [metric for metric in self.metrics if metric in GROUP_METRICS]
        measured = any(cell.metrics.get(metric) is not None for cell in self.cells for metric in groups)
        return groups if measured or any(each.metric in groups for each in self.references) else []


@dataclass(frozen=True)
class SeedStatistics:
    """One metric over the seeds of a method in a label setting; mean and deviation in percent."""

    row: str
    labels: str
    metric: str
    seeds: int  # runs that have the metric
    left_out: int  # runs that do not
    mean: float | None
    deviation: float | None  # of the sample; None for one seed
    known: float
    known_share: float
    seconds: float
    chosen: tuple[Mapping[str, Any], ...]  # each choice once


@dataclass(frozen=True)
class KnownLabels:
    """How many training labels a label setting leaves known."""

    labels: str
    share: float
    count: float


def seed_statistics(cells: Sequence[CellResult], metric: str) -> list[SeedStatistics]:
    """Mean and deviation over seeds for each (row, labels), in the order of the cells."""
    groups: dict[tuple[str, str], list[CellResult]] = {}
    for cell in cells:
        groups.setdefault((cell.row, cell.labels), []).append(cell)
    return [_statistics(group, metric) for group in groups.values()]


def _statistics(group: Sequence[CellResult], metric: str) -> SeedStatistics:
    found = [cell.metrics.get(metric) for cell in group]
    values = [100 * value for value in found if value is not None and math.isfinite(value)]
    chosen = {chosen_text(cell.chosen): cell.chosen for cell in group if cell.chosen}
    return SeedStatistics(
        row=group[0].row,
        labels=group[0].labels,
        metric=metric,
        seeds=len(values),
        left_out=len(group) - len(values),
        mean=fmean(values) if values else None,
        deviation=stdev(values) if len(values) > 1 else None,
        known=fmean(cell.known for cell in group),
        known_share=fmean(cell.known_share for cell in group),
        seconds=fmean(cell.seconds for cell in group),
        chosen=tuple(chosen.values()),
    )


def best_rows(statistics: Iterable[SeedStatistics]) -> set[str]:
    """The rows that no other row beats: a difference smaller than the spread over seeds is no difference."""
    known = [(one.row, one.mean, one.deviation or 0) for one in statistics if one.mean is not None]
    if not known:
        return set()
    _, highest, spread = max(known, key=lambda one: one[1:])
    return {row for row, mean, own in known if mean == highest or highest - mean < max(spread, own)}


def known_labels(cells: Sequence[CellResult]) -> list[KnownLabels]:
    """The mean over cells for each label setting, in the order of the cells."""
    groups: dict[str, list[CellResult]] = {}
    for cell in cells:
        groups.setdefault(cell.labels, []).append(cell)
    return [
        KnownLabels(labels, fmean(cell.known_share for cell in group), fmean(cell.known for cell in group))
        for labels, group in groups.items()
    ]


def chosen_text(chosen: Mapping[str, Any]) -> str:
    """Settings as a person reads them.

    >>> chosen_text({"lr": 2e-05, "settings.delta": 0.2})
    'lr=2e-05, settings.delta=0.2'
    """
    return ", ".join(f"{name}={value}" for name, value in chosen.items())
