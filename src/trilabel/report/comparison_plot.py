"""Pictures of a comparison: lines over the share of known labels, or dots where it is always the same."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from trilabel.report.plots import COLORS

_STYLES, _MARKERS = ("-", "--", ":"), "osD^vP<>X"
_GREY = "#555555"
_MOST_LETTERS = 40  # of a name
_TICK, _NAME = 0.075, 0.03  # of the axis: nearer than that two labels would touch
_LETTERS = 90  # that fit along the axis


class Setting(NamedTuple):
    """A label setting: how many labels it leaves known."""

    name: str
    share: float
    known: float


class Mark(NamedTuple):
    """A value in percent in the setting of that number."""

    setting: int
    value: float
    deviation: float | None


class Series(NamedTuple):
    """A method: our means, and what is published."""

    name: str
    ours: Sequence[Mark]
    published: Sequence[Mark]


def percent(share: float) -> str:
    """A share as few digits tell it: 100 %, 10 %, 0.25 %."""
    return f"{float(f'{100 * share:.2g}') if share < 0.1 else round(100 * share, 1):g} %"


def label(name: str) -> str:
    """A name as it stands in a picture: on one line, not too long, and a dollar is no formula."""
    text = " ".join(name.split())
    text = text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"
    # A label that starts with an underscore would be hidden.
    return " " * text.startswith("_") + text.replace("$", r"\$")


def lines(settings: Sequence[Setting], series: Sequence[Series], unit: str) -> Figure:
    """A line a method over the share of known labels, the best first in the legend."""
    figure = Figure(figsize=(9.5, max(4.5, 1 + 0.26 * len(series))), layout="constrained")
    axes = figure.add_subplot()
    order = sorted(range(len(settings)), key=lambda number: settings[number].share)
    ranked = sorted(series, key=_mean, reverse=True)
    handles: list[Any] = []
    for number, one in enumerate(ranked):
        color, marker = COLORS[number % len(COLORS)], _MARKERS[number % len(_MARKERS)]
        points = sorted(one.ours, key=lambda mark: order.index(mark.setting))
        style = _STYLES[number // len(COLORS) % len(_STYLES)]
        looks: dict[str, Any] = {"color": color, "marker": marker, "linestyle": style, "label": label(one.name)}
        for joined in _of_one_kind(points, settings):
            x = [settings[mark.setting].share for mark in joined]
            spread = [math.nan if mark.deviation is None else mark.deviation for mark in joined]
            values = [mark.value for mark in joined]
            axes.errorbar(x, values, spread, markersize=4.5, capsize=2.5, elinewidth=1, **looks)
        handles.append(Line2D([], [], markersize=4.5, **looks))
        for mark in one.published:
            axes.plot(settings[mark.setting].share, mark.value, marker, color=color, fillstyle="none", markersize=8)
    _share_axis(axes, [settings[number] for number in order])
    _tidy(axes, unit)
    figure.legend(handles=handles + _key(series), loc="outside right center", frameon=False, fontsize=8)
    return figure


def _of_one_kind(marks: Sequence[Mark], settings: Sequence[Setting]) -> list[list[Mark]]:
    """Marks that a line may join: settings of one name that differ by a number; "all" is the end of the first."""
    kinds: dict[str, list[Mark]] = {}
    for mark in marks:
        kinds.setdefault(settings[mark.setting].name.partition("=")[0], []).append(mark)
    if len(kinds) > 1 and "all" in kinds:
        whole = kinds.pop("all")
        kinds[next(iter(kinds))] += whole
    return list(kinds.values())


def dots(settings: Sequence[Setting], series: Sequence[Series], unit: str) -> Figure:
    """A panel a setting, a line of it a method, the best on top; published figures are hollow."""
    ranked = sorted(series, key=_mean)
    panels = max(1, len(settings))
    figure = Figure(figsize=(2.6 + 3.4 * panels, 1.5 + 0.27 * max(2, len(series))), layout="constrained")
    for number, axes in enumerate(figure.subplots(1, panels, sharex=True, sharey=True, squeeze=False)[0]):
        for place, one in enumerate(ranked):
            _draw_dots(axes, place, [mark for mark in one.ours if mark.setting == number], filled=True)
            _draw_dots(axes, place, [mark for mark in one.published if mark.setting == number], filled=False)
        axes.set_yticks(range(len(ranked)), [label(one.name) for one in ranked], fontsize=8)
        axes.set_ylim(-0.7, max(1, len(ranked)) - 0.3)
        axes.margins(x=0.12)
        axes.grid(axis="y", color="#dddddd", linewidth=0.7)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(unit)
        axes.spines[["top", "right", "left"]].set_visible(False)
    for axes, setting in zip(figure.axes, settings, strict=False):
        words = f"{label(setting.name)}: {setting.known:,.0f} labels known ({percent(setting.share)})"
        axes.set_title(words, loc="left", fontsize=9)
    if not series:
        figure.axes[0].text(0.5, 0.5, "no run has finished", ha="center", transform=figure.axes[0].transAxes)
    elif _key(series):
        figure.legend(handles=_key(series), loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def _draw_dots(axes: Any, place: int, marks: Sequence[Mark], filled: bool) -> None:
    for mark in marks:
        if not filled:
            axes.plot(mark.value, place, "o", color=COLORS[1], fillstyle="none", markersize=8)
            continue
        axes.errorbar(mark.value, place, xerr=mark.deviation, fmt="o", color=COLORS[0], markersize=5, capsize=2.5)
        spread = "" if mark.deviation is None else f" ± {mark.deviation:.1f}"
        axes.text(
            1.01, place, f"{mark.value:.1f}{spread}", va="center", fontsize=7.5, transform=axes.get_yaxis_transform()
        )


def _mean(one: Series) -> float:
    return fmean(mark.value for mark in one.ours or one.published)


def _share_axis(axes: Any, settings: Sequence[Setting]) -> None:
    shares = [setting.share for setting in settings]
    if is_log(shares):
        axes.set_xscale("log")
    axes.set_xticks([])  # those of the scale would stand between ours
    axes.xaxis.set_minor_locator(NullLocator())
    across = _places(shares)
    ticks = _apart(across, _TICK)
    words = [f"{percent(settings[first].share)}\n{settings[first].known:,.0f}" for first, *_ in ticks]
    axes.set_xticks([shares[first] for first, *_ in ticks], words, fontsize=8)
    axes.set_xlabel("known training labels: share and number")
    for share in shares:
        axes.axvline(share, color="#e6e6e6", linewidth=0.7, zorder=0)
    _name_axis(axes.secondary_xaxis("top"), settings, across)


def _name_axis(top: Any, settings: Sequence[Setting], across: Sequence[float]) -> None:
    groups = _apart(across, _NAME)
    names = [" / ".join(label(settings[number].name) for number in group) for group in groups]
    room = min(across[after[0]] - across[before[0]] for before, after in pairwise(groups))
    slanted = max(map(len, names)) > _LETTERS * room
    turned: dict[str, Any] = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"} if slanted else {}
    top.set_xticks([settings[group[0]].share for group in groups], names, fontsize=7.5, **turned)
    top.xaxis.set_minor_locator(NullLocator())
    top.tick_params(length=2, color=_GREY)
    top.spines["top"].set_visible(False)


def is_log(shares: Sequence[float]) -> bool:
    """Whether different shares stand wider apart on a logarithmic scale."""
    apart = sorted(set(shares))
    if len(apart) < 3 or apart[0] <= 0:
        return False
    nearest = min(after - before for before, after in pairwise(apart)) / (apart[-1] - apart[0])
    return min(math.log(after / before) for before, after in pairwise(apart)) / math.log(apart[-1] / apart[0]) > nearest


def _places(shares: Sequence[float]) -> list[float]:
    scaled = [math.log(share) for share in shares] if is_log(shares) else list(shares)
    return [(each - scaled[0]) / (scaled[-1] - scaled[0]) for each in scaled]


def _apart(places: Sequence[float], least: float) -> list[list[int]]:
    """Numbers of ascending places in groups, each of what is nearer than `least` to its first."""
    groups: list[list[int]] = []
    for number, place in enumerate(places):
        if groups and place - places[groups[-1][0]] < least:
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


def _tidy(axes: Any, unit: str) -> None:
    axes.set_ylabel(unit)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _key(series: Sequence[Series]) -> list[Line2D]:
    style: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": _GREY}
    filled = Line2D([], [], label="ours", markersize=5, **style)
    return [filled, Line2D([], [], label="published", fillstyle="none", markersize=8, **style)] * any(
        one.published for one in series
    )
