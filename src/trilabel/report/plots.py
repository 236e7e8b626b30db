"""Plots, drawn without a display."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from trilabel.files import replacing

# Colours that stay apart for colour-blind readers (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def save(figure: Figure, path: str | Path) -> None:
    """Writes a figure whole or not at all, in the format that the name ends in."""
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150, bbox_inches="tight")


def bars(
    groups: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    title: str,
    unit: str,
    reference: float | None = None,
) -> Figure:
    """Grouped bars: a group for each of `groups`, in it a bar a series (None: no bar). `reference` is a dashed line."""
    figure = Figure(figsize=(1.6 + 2.2 * len(groups), 4.2))
    axes: Any = figure.subplots()
    width = 0.8 / max(1, len(series))
    for place in range(len(groups)):
        there = [(number, values[place]) for number, values in enumerate(series.values()) if values[place] is not None]
        for position, (number, value) in enumerate(there):
            shift = (position - (len(there) - 1) / 2) * width
            shape = axes.bar([place + shift], [value], width * 0.92, color=COLOURS[number])
            axes.bar_label(shape, fmt="%.1f", padding=2, fontsize=9)
    if reference is not None:
        axes.axhline(reference, color="#555555", linestyle="--", linewidth=1, zorder=0)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(unit)
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(y=0.12)
    legend = [Patch(color=COLOURS[number], label=name) for number, name in enumerate(series)]
    axes.legend(handles=legend, frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
