"""Methods as dots, sorted by their mean: for label settings that leave the same share of labels known."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from trilabel.compare.results import KnownLabels
from trilabel.report.comparison.formatting import percent, plot_label
from trilabel.report.comparison.series import Mark, Series, published_legend
from trilabel.report.plots import COLORS


def dot_plot(settings: Sequence[KnownLabels], series: Sequence[Series], unit: str) -> Figure:
    """A panel for each label setting, a line in it for each method, the best on top; published figures are hollow."""
    ranked = sorted(series, key=lambda one: one.mean)
    panels = max(1, len(settings))
    figure = Figure(figsize=(2.6 + 3.4 * panels, 1.5 + 0.27 * max(2, len(series))), layout="constrained")
    for number, axes in enumerate(figure.subplots(1, panels, sharex=True, sharey=True, squeeze=False)[0]):
        for height, one in enumerate(ranked):
            _draw_measured(axes, height, [mark for mark in one.measured if mark.setting == number])
            _draw_published(axes, height, [mark for mark in one.published if mark.setting == number])
        axes.set_yticks(range(len(ranked)), [plot_label(one.name) for one in ranked], fontsize=8)
        axes.set_ylim(-0.7, max(1, len(ranked)) - 0.3)
        axes.margins(x=0.12)
        axes.grid(axis="y", color="#dddddd", linewidth=0.7)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(unit)
        axes.spines[["top", "right", "left"]].set_visible(False)
    for axes, setting in zip(figure.axes, settings, strict=False):
        title = f"{plot_label(setting.labels)}: {setting.count:,.0f} labels known ({percent(setting.share)})"
        axes.set_title(title, loc="left", fontsize=9)
    if not series:
        figure.axes[0].text(0.5, 0.5, "no run has finished", ha="center", transform=figure.axes[0].transAxes)
    elif handles := published_legend(series):
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def _draw_measured(axes: Any, height: int, marks: Sequence[Mark]) -> None:
    for mark in marks:
        axes.errorbar(mark.value, height, xerr=mark.deviation, fmt="o", color=COLORS[0], markersize=5, capsize=2.5)
        spread = "" if mark.deviation is None else f" ± {mark.deviation:.1f}"
        beside = axes.get_yaxis_transform()
        axes.text(1.01, height, f"{mark.value:.1f}{spread}", va="center", fontsize=7.5, transform=beside)


def _draw_published(axes: Any, height: int, marks: Sequence[Mark]) -> None:
    for mark in marks:
        axes.plot(mark.value, height, "o", color=COLORS[1], fillstyle="none", markersize=8)
