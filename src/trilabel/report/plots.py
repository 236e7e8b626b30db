"""Plots, drawn without a display."""

import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from trilabel.files import replacing
from trilabel.printable import cut_after, printable, shorten
from trilabel.report.panels import Lines as Lines

# Colors that color-blind readers can tell apart (Okabe and Ito).
# Fonts that systems have for scripts that matplotlib's own lacks.
_OTHER_FONTS = (
    *("Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK KR", "WenQuanYi Zen Hei"),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil"),
    *("Noto Sans Thai", "Hiragino Sans", "PingFang SC", "Apple SD Gothic Neo", "Arial Unicode MS"),
    *("Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "Nirmala UI", "Leelawadee UI", "Segoe UI"),
)
_CAPTION_LETTERS = 68  # that fit under a panel
_LETTERS_AN_INCH = 13  # of a caption below a figure
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def save(figure: Figure, path: str | Path, caption: str = "") -> None:
    """Writes a figure, completely or not at all, in the format of the file name.

    caption: what it shows, which is put below it.
    """
    if caption:
        words = textwrap.fill(caption, int(_LETTERS_AN_INCH * figure.get_figwidth()))
        figure.draw_without_rendering()  # which places everything else
        figure.set_layout_engine("none")  # and there it stays
        below = (figure.get_tightbbox().y0 - 0.1) / figure.get_figheight()
        figure.text(0.02, below, words, fontsize=8.5, color="#555555", va="top")
    if fonts := other_fonts():
        for text in figure.findobj(Text):
            text.set_fontfamily([*text.get_fontfamily(), *fonts])  # a letter is drawn in the first that has it
    with replacing(path) as temporary, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a letter that no font has is drawn as a box
        figure.savefig(temporary, dpi=150, bbox_inches="tight")


@cache
def other_fonts() -> list[str]:
    """Fonts of this machine that have the letters of other scripts."""
    there = set(font_manager.get_font_names())
    return [name for name in _OTHER_FONTS if name in there]


def keep_end(text: str, letters: int) -> str:
    """The end of a text that is too long, as the ids of images differ there, and without control characters.

    >>> keep_end("photos/2008_000123.jpg", 12)
    '…_000123.jpg'
    """
    text = printable(text)
    return text if len(text) <= letters else "…" + text[cut_after(text, len(text) + 1 - letters) :]


def keep_ends(text: str, letters: int) -> str:
    """The start and the end of the name of a class that is too long, without control characters.

    >>> keep_ends("a person who rides a horse", 20)
    'a person who r…horse'
    """
    return shorten(printable(text), letters)


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


def lines(panels: Sequence[Lines], stages: Sequence[str], best: int | None = None) -> Figure:
    """Panels of lines over the epochs, side by side, with what they show below them.

    stages: names the stage of each epoch.
    best: the epoch whose model is kept, counted from 1 through all stages; a dashed line marks it.
    """
    figure = Figure(figsize=(0.4 + 4.6 * len(panels), 3.4))
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for number, (name, values) in enumerate(panel.series.items()):
            points = [(epoch, value) for epoch, value in enumerate(values, 1) if value is not None]
            axes.plot(*zip(*points, strict=True), color=COLORS[number], label=name, marker="o", markersize=3)
        axes.set_ylim(0, 1.05 * axes.dataLim.y1 or 1)  # room for the highest marker
        if best is not None:
            axes.axvline(best, color="#555555", linestyle="--", linewidth=1, zorder=0, label="best epoch")
        epoch_axis(axes, stages)
        axes.set_ylabel(panel.unit)
        axes.set_title(panel.title, loc="left", fontsize=10)
        axes.legend(frameon=False, fontsize=8)
        if panel.caption:
            caption = textwrap.fill(panel.caption, _CAPTION_LETTERS)
            axes.text(0, -0.24, caption, transform=axes.transAxes, fontsize=7.5, color="#555555", va="top")
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
