"""Methods as lines over the share of known labels."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from trilabel.compare.results import KnownLabels
from trilabel.report.comparison.formatting import percent, plot_label
from trilabel.report.comparison.series import GRAY, Mark, Series, published_legend
from trilabel.report.plots import COLORS

_STYLES, _MARKERS = ("-", "--", ":"), "osD^vP<>X"
_TICK_GAP, _NAME_GAP = 0.075, 0.03  # of the axis: closer than that two labels would touch
_AXIS_LETTERS = 90  # that fit along the axis


def line_plot(settings: Sequence[KnownLabels], series: Sequence[Series], unit: str) -> Figure:
    """A line for each method over the share of known labels, the best first in the legend."""
    figure = Figure(figsize=(9.5, max(4.5, 1 + 0.26 * len(series))), layout="constrained")
    axes = figure.add_subplot()
    order = sorted(range(len(settings)), key=lambda number: settings[number].share)
    handles: list[Any] = []
    for number, one in enumerate(sorted(series, key=lambda one: one.mean, reverse=True)):
        color, marker = COLORS[number % len(COLORS)], _MARKERS[number % len(_MARKERS)]
        points = sorted(one.measured, key=lambda mark: order.index(mark.setting))
        linestyle = _STYLES[number // len(COLORS) % len(_STYLES)]
        style: dict[str, Any] = {"color": color, "marker": marker, "linestyle": linestyle}
        style["label"] = plot_label(one.name)
        for joined in _joined(points, settings):
            x = [settings[mark.setting].share for mark in joined]
            spread = [math.nan if mark.deviation is None else mark.deviation for mark in joined]
            values = [mark.value for mark in joined]
            axes.errorbar(x, values, spread, markersize=4.5, capsize=2.5, elinewidth=1, **style)
        handles.append(Line2D([], [], markersize=4.5, **style))
        for mark in one.published:
            axes.plot(settings[mark.setting].share, mark.value, marker, color=color, fillstyle="none", markersize=8)
    _draw_share_axis(axes, [settings[number] for number in order])
    axes.set_ylabel(unit)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(handles=handles + published_legend(series), loc="outside right center", frameon=False, fontsize=8)
    return figure


def _joined(marks: Sequence[Mark], settings: Sequence[KnownLabels]) -> list[list[Mark]]:
    """Marks that one line may join: settings that differ only in their number; "all" ends the first such line."""
    kinds: dict[str, list[Mark]] = {}
    for mark in marks:
        kinds.setdefault(settings[mark.setting].labels.partition("=")[0], []).append(mark)
    if len(kinds) > 1 and "all" in kinds:
        whole = kinds.pop("all")
        kinds[next(iter(kinds))] += whole
    return list(kinds.values())


def _draw_share_axis(axes: Any, settings: Sequence[KnownLabels]) -> None:
    """Shares and numbers of known labels below, names of the label settings above; `settings` in ascending order."""
    shares = [setting.share for setting in settings]
    if needs_log_scale(shares):
        axes.set_xscale("log")
    axes.set_xticks([])  # those of the scale would appear between ours
    axes.xaxis.set_minor_locator(NullLocator())
    positions = _positions(shares)
    ticks = _grouped(positions, _TICK_GAP)
    texts = [f"{percent(settings[first].share)}\n{settings[first].count:,.0f}" for first, *_ in ticks]
    axes.set_xticks([shares[first] for first, *_ in ticks], texts, fontsize=8)
    axes.set_xlabel("known training labels: share and number")
    for share in shares:
        axes.axvline(share, color="#e6e6e6", linewidth=0.7, zorder=0)
    _draw_names(axes.secondary_xaxis("top"), settings, positions)


def _draw_names(top: Any, settings: Sequence[KnownLabels], positions: Sequence[float]) -> None:
    groups = _grouped(positions, _NAME_GAP)
    names = [" / ".join(plot_label(settings[number].labels) for number in group) for group in groups]
    room = min(positions[after[0]] - positions[before[0]] for before, after in pairwise(groups))
    too_long = max(map(len, names)) > _AXIS_LETTERS * room
    slanted: dict[str, Any] = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"} if too_long else {}
    top.set_xticks([settings[group[0]].share for group in groups], names, fontsize=7.5, **slanted)
    top.xaxis.set_minor_locator(NullLocator())
    top.tick_params(length=2, color=GRAY)
    top.spines["top"].set_visible(False)


def needs_log_scale(shares: Sequence[float]) -> bool:
    """Whether a logarithmic scale sets different shares wider apart."""
    ascending = sorted(set(shares))
    if len(ascending) < 3 or ascending[0] <= 0:
        return False
    linear = min(after - before for before, after in pairwise(ascending)) / (ascending[-1] - ascending[0])
    ratios = min(math.log(after / before) for before, after in pairwise(ascending))
    return ratios / math.log(ascending[-1] / ascending[0]) > linear


def _positions(shares: Sequence[float]) -> list[float]:
    """Where ascending shares are on the axis, from 0 to 1."""
    scaled = [math.log(share) for share in shares] if needs_log_scale(shares) else list(shares)
    return [(each - scaled[0]) / (scaled[-1] - scaled[0]) for each in scaled]


def _grouped(positions: Sequence[float], gap: float) -> list[list[int]]:
    """The numbers of ascending positions, each in one group with those closer than `gap` to the group's first."""
    groups: list[list[int]] = []
    for number, position in enumerate(positions):
        if groups and position - positions[groups[-1][0]] < gap:
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups
