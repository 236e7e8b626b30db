"""Plots, drawn without a display."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from trilabel.files import replacing
from trilabel.printable import printable

# Colors that color-blind readers can tell apart (Okabe and Ito).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def save(figure: Figure, path: str | Path) -> None:
    """Writes a figure, completely or not at all, in the format of the file name."""
    with replacing(path) as temporary, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a letter that the font does not have is drawn as a box
        figure.savefig(temporary, dpi=150, bbox_inches="tight")


def keep_end(text: str, letters: int) -> str:
    """The end of a text that is too long, as the ids of images differ there, and without control characters.

    >>> keep_end("photos/2008_000123.jpg", 12)
    '…_000123.jpg'
    """
    text = printable(text)
    return text if len(text) <= letters else "…" + text[1 - letters :]


@dataclass(frozen=True)
class Bars:
    """One panel of grouped bars: series[name][g] is the bar of `name` in group g (None: no bar)."""

    title: str
    unit: str
    series: Mapping[str, Sequence[float | None]]
    reference: float | None = None  # a dashed line


def bars(groups: Sequence[str], panels: Sequence[Bars]) -> Figure:
    """Panels of grouped bars side by side, with the same groups and the same series."""
    figure = Figure(figsize=(0.6 + 2.0 * len(groups) * len(panels), 4.2))
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _draw_bars(axes, groups, panel)
    legend = [Patch(color=COLORS[number], label=name) for number, name in enumerate(panels[0].series)]
    figure.legend(
        handles=legend, frameon=False, fontsize=9, loc="lower center", ncols=len(legend), bbox_to_anchor=(0.5, -0.08)
    )
    return figure


def _draw_bars(axes: Any, groups: Sequence[str], panel: Bars) -> None:
    width = 0.8 / max(1, len(panel.series))
    for place in range(len(groups)):
        bars = [(number, values[place]) for number, values in enumerate(panel.series.values())]
        drawn = [(number, value) for number, value in bars if value is not None]
        for position, (number, value) in enumerate(drawn):
            shift = (position - (len(drawn) - 1) / 2) * width
            shape = axes.bar([place + shift], [value], width * 0.92, color=COLORS[number])
            axes.bar_label(shape, fmt="%.1f", padding=2, fontsize=8)
    if panel.reference is not None:
        axes.axhline(panel.reference, color="#555555", linestyle="--", linewidth=1, zorder=0)
    axes.set_xticks(range(len(groups)), groups, fontsize=9)
    axes.set_ylabel(panel.unit)
    axes.set_title(panel.title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylim(0, 100)


@dataclass(frozen=True)
class Lines:
    """One panel of lines: series[name][e] is the value of `name` after epoch e + 1 (None: no point)."""

    title: str
    unit: str
    series: Mapping[str, Sequence[float | None]]


def lines(panels: Sequence[Lines], stages: Sequence[str]) -> Figure:
    """Panels of lines over the epochs, side by side; `stages` names the stage of each epoch."""
    figure = Figure(figsize=(0.4 + 4.6 * len(panels), 3.4))
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for number, (name, values) in enumerate(panel.series.items()):
            points = [(epoch, value) for epoch, value in enumerate(values, 1) if value is not None]
            axes.plot(*zip(*points, strict=True), color=COLORS[number], label=name, marker="o", markersize=3)
        axes.set_ylim(0, 1.05 * axes.dataLim.y1 or 1)  # room for the highest marker
        epoch_axis(axes, stages)
        axes.set_ylabel(panel.unit)
        axes.set_title(panel.title, loc="left", fontsize=10)
        axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure


def epoch_axis(axes: Any, stages: Sequence[str]) -> None:
    """Epochs along the horizontal axis, from 1 through all stages, with a dotted line between two stages."""
    for epoch, (before, after) in enumerate(pairwise(stages), 1):
        if before != after:
            axes.axvline(epoch + 0.5, color="#555555", linestyle=":", linewidth=1)
    axes.set_xlim(0.5, len(stages) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel("epoch")
    axes.spines[["top", "right"]].set_visible(False)
