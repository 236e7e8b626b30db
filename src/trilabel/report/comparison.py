"""What `trilabel compare` found, on paper: methods × label settings as tables, beside the published figures."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from matplotlib.figure import Figure
from rich.table import Table
from rich.text import Text

from trilabel.files import write_csv, write_text
from trilabel.report import comparison_plot, comparison_text, plots
from trilabel.report.comparison_plot import Mark, Series, Setting
from trilabel.report.comparison_text import Column, Entry, Grid, one_line

_NONE, _TO_COME, _RUNNING = "—", "…", "▸"
_LETTERS = 60  # that the columns of numbers share on a terminal; the names get the rest

Place = tuple[str, str, int]  # row, labels, seed


@dataclass(frozen=True)
class Cell:
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
    command: str  # the exact command(s) of this cell
    recipe: str = ""  # which published recipe it is


@dataclass(frozen=True)
class Reference:
    """A published figure beside ours."""

    row: str
    labels: str
    metric: str
    value: float  # percent
    source: str  # "Kim 2022, table 2"
    note: str = ""  # e.g. "VOC 2007, ResNet-101"


@dataclass(frozen=True)
class Summary:
    """The runs of one method in one label setting; mean and deviation in percent."""

    row: str
    labels: str
    metric: str
    seeds: int  # runs that have the metric
    left_out: int  # runs that have not
    mean: float | None
    deviation: float | None  # of the sample; None for one seed
    known: float
    known_share: float
    seconds: float
    chosen: tuple[Mapping[str, Any], ...]  # each choice once


def summary(cells: Sequence[Cell], metric: str) -> list[Summary]:
    """Mean and deviation over seeds of each (row, labels), as first seen."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.row, cell.labels), []).append(cell)
    return [_summary(group, metric) for group in groups.values()]


def _summary(group: Sequence[Cell], metric: str) -> Summary:
    found = [cell.metrics.get(metric) for cell in group]
    values = [100 * value for value in found if value is not None and math.isfinite(value)]
    chosen = {_words(cell.chosen): cell.chosen for cell in group if cell.chosen}
    return Summary(
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


def grid(cells: Sequence[Cell], references: Sequence[Reference], metrics: Sequence[str]) -> Grid:
    """A row a method, a group of columns a label setting: each metric, then each published one."""
    published = [reference for reference in references if reference.metric in metrics]
    places = [(cell.row, cell.labels) for cell in cells] + [(each.row, each.labels) for each in published]
    rows = list(dict.fromkeys(row for row, _ in places))
    sources = list(dict.fromkeys(map(_source, published)))
    ours = {metric: summary(cells, metric) for metric in metrics}
    columns: list[Column] = []
    for labels in dict.fromkeys(labels for _, labels in places):
        for metric in metrics:
            found = {one.row: one for one in ours[metric] if one.labels == labels}
            columns.append(Column(labels, metric, _ours(rows, found)))
        for metric in metrics:
            figures = [each for each in published if (each.labels, each.metric) == (labels, metric)]
            if figures:
                columns.append(Column(labels, f"{metric}, published", _theirs(rows, figures, sources)))
    return Grid(rows, columns, sources)


def _ours(rows: Sequence[str], found: Mapping[str, Summary]) -> list[Entry]:
    best = _best(found.values())
    return [Entry(_mean(found[row]), row in best) if row in found else Entry(_NONE) for row in rows]


def _best(found: Iterable[Summary]) -> set[str]:
    """Rows that no other is better than: a difference smaller than the spread over seeds is none."""
    known = [(one.row, one.mean, one.deviation or 0) for one in found if one.mean is not None]
    if not known:
        return set()
    _, most, spread = max(known, key=lambda one: one[1:])
    return {row for row, mean, own in known if mean == most or most - mean < max(spread, own)}


def _theirs(rows: Sequence[str], figures: Sequence[Reference], sources: Sequence[str]) -> list[Entry]:
    texts: dict[str, list[str]] = {}
    for each in figures:
        as_printed = f"{each.value:.1f}" if each.value == round(each.value, 1) else f"{each.value:g}"
        texts.setdefault(each.row, []).append(f"{as_printed} [{sources.index(_source(each)) + 1}]")
    return [Entry(", ".join(texts.get(row, [_NONE]))) for row in rows]


def as_csv_cells(cells: Sequence[Cell]) -> tuple[list[str], list[list[str]]]:
    """(header, a line a run), everything as it was measured: metrics in 0…1, what was chosen as JSON."""
    metrics = list(dict.fromkeys(name for cell in cells for name in cell.metrics))
    header = ["method", "labels", "seed", "recipe", "known", "known_share", *(f"test {name}" for name in metrics)]
    rows = [
        [
            *(cell.row, cell.labels, str(cell.seed), cell.recipe, str(cell.known), str(cell.known_share)),
            *(_number(cell.metrics.get(name)) for name in metrics),
            *(str(cell.validation), str(cell.epoch), str(cell.epochs), str(cell.seconds)),
            *(json.dumps(dict(cell.chosen), ensure_ascii=False, default=str), cell.command),
        ]
        for cell in cells
    ]
    return [*header, "validation", "epoch", "epochs", "seconds", "chosen", "command"], rows


def as_csv(
    cells: Sequence[Cell], references: Sequence[Reference], metrics: Sequence[str] = ("mAP",)
) -> tuple[list[str], list[list[str]]]:
    """(header, a line a method, label setting and metric), in percent; then what is published and was not run."""
    ours = {(one.row, one.labels, one.metric): one for metric in metrics for one in summary(cells, metric)}
    theirs: dict[tuple[str, str, str], list[Reference]] = {}
    for each in references:
        if each.metric in metrics:
            theirs.setdefault((each.row, each.labels, each.metric), []).append(each)
    header = ["method", "labels", "metric", "seeds", "left out", "mean %", "deviation %", "known", "known_share"]
    rows = []
    for key in dict.fromkeys([*ours, *theirs]):
        values = [(f"{each.value:g}", _source(each)) for each in theirs.get(key, [])]
        rows.append([*key, *_fields(ours.get(key)), *("; ".join(each[part] for each in values) for part in (0, 1))])
    return [*header, "seconds", "chosen", "published %", "sources"], rows


def _fields(one: Summary | None) -> list[str]:
    if one is None:
        return ["0", "0", *[""] * 6]
    numbers = [one.mean, one.deviation, one.known, one.known_share, one.seconds]
    return [str(one.seeds), str(one.left_out), *map(_number, numbers), "; ".join(map(_words, one.chosen))]


def as_markdown(
    cells: Sequence[Cell],
    references: Sequence[Reference],
    metrics: Sequence[str] = ("mAP",),
    title: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Title, table, what its signs mean, sources, notes, and how each number can be made again."""
    remarks = [*legend(cells, metrics), *notes]
    return comparison_text.markdown(grid(cells, references, metrics), title, remarks, _commands(cells))


def legend(cells: Sequence[Cell], metrics: Sequence[str]) -> list[str]:
    """What a reader must know of the numbers: seeds, what is bold, how much was known, which runs are left out."""
    if not cells:
        return ["No run has finished."]
    found = [one for metric in metrics for one in summary(cells, metric)]
    most, least = max(one.seeds for one in found), min(one.seeds for one in found)
    seeds = f"mean ± sample deviation over {most if least == most else f'{least} to {most}'} seeds"
    near = ", and each that is nearer to it than the larger of the two deviations" if most > 1 else ""
    shares = [f"{one.name}: {one.known:,.0f} ({comparison_plot.percent(one.share)})" for one in _settings(cells)]
    return [
        f"Test metrics in %, {seeds if most > 1 else 'of one seed'}.",
        f"Bold: the best mean of a column{near}.",
        f"Known training labels: {'; '.join(shares)}.",
        *(
            f"Left out: {one.left_out} of {one.left_out + one.seeds} runs of {one.row}, {one.labels}: no {one.metric}."
            for one in found
            if one.left_out
        ),
    ]


def _commands(cells: Sequence[Cell]) -> str:
    return "\n\n".join(f"# {one_line(_title(cell))}\n{cell.command}" for cell in cells)


def _title(cell: Cell) -> str:
    chosen = f", chosen {_words(cell.chosen)}" if cell.chosen else ""
    recipe = f" (recipe {cell.recipe})" if cell.recipe else ""
    return f"{cell.row}{recipe}, {cell.labels}, seed {cell.seed}{chosen}"


def as_latex(
    cells: Sequence[Cell],
    references: Sequence[Reference],
    metrics: Sequence[str] = ("mAP",),
    title: str = "",
    notes: Sequence[str] = (),
) -> str:
    """The table, its sources and its notes, for a document that uses booktabs."""
    return comparison_text.latex(grid(cells, references, metrics), title, [*legend(cells, metrics), *notes])


def plot(cells: Sequence[Cell], references: Sequence[Reference], metric: str) -> Figure:
    """A metric against the share of known labels; where all settings know as much, methods sorted by their mean."""
    settings, found = _settings(cells), summary(cells, metric)
    place = {setting.name: number for number, setting in enumerate(settings)}
    figures = [each for each in references if each.metric == metric and each.labels in place]
    rows = dict.fromkeys([*(one.row for one in found), *(each.row for each in figures)])
    ours: dict[str, list[Mark]] = {row: [] for row in rows}
    theirs: dict[str, list[Mark]] = {row: [] for row in rows}
    for one in found:
        if one.mean is not None:
            ours[one.row].append(Mark(place[one.labels], one.mean, one.deviation))
    for each in figures:
        theirs[each.row].append(Mark(place[each.labels], each.value, None))
    series = [Series(row, ours[row], theirs[row]) for row in rows if ours[row] or theirs[row]]
    shares = [setting.share for setting in settings]
    alike = not shares or math.isclose(min(shares), max(shares), rel_tol=0.01)
    return (comparison_plot.dots if alike else comparison_plot.lines)(settings, series, f"{metric} %")


def _settings(cells: Sequence[Cell]) -> list[Setting]:
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.labels, []).append(cell)
    return [
        Setting(name, fmean(cell.known_share for cell in group), fmean(cell.known for cell in group))
        for name, group in groups.items()
    ]


def write(
    folder: Path,
    cells: Sequence[Cell],
    references: Sequence[Reference],
    metrics: Sequence[str] = ("mAP",),
    title: str = "",
    notes: Sequence[str] = (),
    draw: bool = True,
) -> None:
    """Everything into a folder, each file replaced whole; a plot of the first metric too, unless told not to `draw`."""
    write_csv(folder / "cells.csv", *as_csv_cells(cells))
    write_csv(folder / "table.csv", *as_csv(cells, references, metrics))
    write_text(folder / "table.md", as_markdown(cells, references, metrics, title, notes))
    write_text(folder / "table.tex", as_latex(cells, references, metrics, title, notes))
    if draw:
        plots.save(plot(cells, references, metrics[0]), folder / "plot.png")


def live(cells: Sequence[Cell], planned: Sequence[Place], running: Place | None, metric: str) -> Table:
    """The table so far: "…" is still to come, "▸" runs now, 2/3 is two of three seeds."""
    places = list(dict.fromkeys([*planned, *((cell.row, cell.labels, cell.seed) for cell in cells)]))
    rows = list(dict.fromkeys(row for row, _, _ in places))
    settings = list(dict.fromkeys(labels for _, labels, _ in places))
    found = {(one.row, one.labels): one for one in summary(cells, metric)}
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(Text(f"{metric} %"), overflow="fold")
    columns = [[Text(one_line(row)) for row in rows]]
    for labels in settings:
        best, column = _best(one for one in found.values() if one.labels == labels), list[Text]()
        for row in rows:
            seeds = [place for place in places if place[:2] == (row, labels)]
            text = _so_far(found.get((row, labels)), len(seeds), running in seeds)
            column.append(Text(text, style="bold" if row in best else ""))
        widest = max(len(text) for text in (Text(labels), *column))
        longest = max(len(word) for text in column for word in text.plain.split())  # a number is never broken
        width = max(longest, min(widest, _LETTERS // len(settings)))
        table.add_column(Text(labels), justify="right", overflow="fold", width=width)
        columns.append(column)
    for texts in zip(*columns, strict=True):
        table.add_row(*texts)
    return table


def _so_far(one: Summary | None, seeds: int, runs: bool) -> str:
    if not seeds:
        return _NONE
    finished = one.seeds + one.left_out if one else 0
    mean = _mean(one).replace(" ", "") if one else _TO_COME
    return f"{_RUNNING} " * runs + mean + f" {finished}/{seeds}" * (0 < finished < seeds)


def _mean(one: Summary) -> str:
    if one.mean is None:
        return _NONE
    return f"{one.mean:.1f}" if one.deviation is None else f"{one.mean:.1f} ± {one.deviation:.1f}"


def _source(reference: Reference) -> str:
    return f"{reference.source} ({reference.note})" if reference.note else reference.source


def _words(chosen: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in chosen.items())


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.12g}"
