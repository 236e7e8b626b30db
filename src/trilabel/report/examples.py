"""The course of single labels of a few training images: their loss, their probability, and how they were treated.

After Kim 2022: figure 1 (the loss of single labels) and figure 3 (the labels of an image that are corrected).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D

from trilabel.report.label_courses import LabelCourse, courses
from trilabel.report.plots import COLORS, epoch_axis, keep_end, keep_ends
from trilabel.training.record import EpochRecord

History = Sequence[EpochRecord]
CAPTION = (
    "Labels of a few training images, epoch by epoch. Lines: their loss if they count as absent, which is high where "
    "the model finds a class that nobody named. Boxes: how probable it finds each class; the colors of names say what "
    "is true."
)
_COLUMNS = 3
_LETTERS = 20  # of a class name
_SPANS = 3  # of epochs, before they are only counted
_COLOR_OF = {
    "known positive": COLORS[0],
    "hidden positive": COLORS[2],
    "true negative": COLORS[1],
    "unknown": "#333333",
}
_MARKS = {1: ("o", "treated as present"), 0: ("X", "left out")}  # by target


def table(history: History) -> tuple[list[str], list[list[str]]]:
    """(header, a row for each image): its positives, and which unknown labels were treated otherwise than as absent.

    No rows where the method does not choose. Epochs are counted through all stages.
    """
    rows = []
    for image, labels in courses(history).items():
        if not any(target is not None for one in labels for target in one.targets):
            continue
        kinds = [", ".join(one.name for one in labels if one.kind == kind) for kind in list(_COLOR_OF)[:2]]
        changed = [", ".join(filter(None, (_changed(one, target) for one in labels))) for target in (0, 1)]
        rows.append([keep_end(image, _LETTERS), *(text or "—" for text in (*kinds, *changed))])
    return ["image", "known positives", "hidden positives", "left out in epochs", "treated as present in epochs"], rows


def _changed(one: LabelCourse, target: int) -> str:
    epochs = one.epochs_with(target)
    wrong = "; in truth absent" if one.kind == "true negative" else ""
    return f"{one.name} ({spans(epochs)}{wrong})" if epochs else ""


def spans(numbers: Sequence[int]) -> str:
    """Ascending numbers in few words.

    >>> spans([2, 3, 4, 7]), spans([1, 3, 5, 7, 8, 9])
    ('2–4, 7', '6 of 1–9')
    """
    starts = [number for number in numbers if number - 1 not in numbers]
    ends = [number for number in numbers if number + 1 not in numbers]
    if len(starts) > _SPANS:
        return f"{len(numbers)} of {starts[0]}–{ends[-1]}"
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in zip(starts, ends, strict=True))


def picture(history: History) -> Figure:
    """The loss of single labels and, for each image, the probability of its labels over the epochs."""
    found = courses(history)
    stages = [record.stage for record in history]
    losses = _to_draw(found)
    columns = min(_COLUMNS, len(found))
    lines = math.ceil(len(found) / columns)
    tallest = max(len(labels) for labels in found.values())
    heights = [2.6] * bool(losses) + [1.0 + 0.24 * max(4, tallest)] * lines
    figure = Figure(figsize=(0.9 + 4.4 * max(columns, 2 * bool(losses)), 0.6 + sum(heights)), layout="constrained")
    grid = GridSpec(len(heights), columns, figure, height_ratios=heights)
    if losses:
        _draw_losses(figure.add_subplot(grid[0, :]), losses, stages)
    panels = []
    for number, (image, labels) in enumerate(found.items()):
        axes = figure.add_subplot(grid[bool(losses) + number // columns, number % columns])
        panels.append(axes)
        drawn = _draw_image(axes, labels, stages)
        axes.set_title(_text(image, 40), loc="left", fontsize=9)
    figure.colorbar(drawn, ax=panels, label="probability", aspect=12 * lines)
    figure.legend(handles=_legend(found), loc="outside upper center", ncols=6, frameon=False, fontsize=8)
    return figure


def _to_draw(found: dict[str, list[LabelCourse]]) -> list[LabelCourse]:
    """Of each image a hidden positive and a true negative; none where the truth is not known."""
    chosen = []
    for labels in found.values():
        for kind in ("true negative", "hidden positive"):
            chosen += [one for one in labels if one.kind == kind and None not in one.logits][:1]
    return chosen


def _draw_losses(axes: Any, labels: Sequence[LabelCourse], stages: Sequence[str]) -> None:
    for one in labels:
        color = _COLOR_OF[one.kind]
        axes.plot(range(1, len(stages) + 1), one.losses(), color=color, marker="o", markersize=3, linewidth=1.1)
    axes.set_ylim(bottom=0)
    epoch_axis(axes, stages)
    axes.set_ylabel("loss as absent")
    axes.set_title(
        "Loss of single labels: a hidden positive and a true negative of each image", loc="left", fontsize=10
    )


def _draw_image(axes: Any, labels: Sequence[LabelCourse], stages: Sequence[str]) -> Any:
    values = np.array([[math.nan if x is None else x for x in one.logits] for one in labels])
    edges = np.arange(len(stages) + 1) + 0.5
    chances = np.ma.masked_invalid(0.5 * (1 + np.tanh(values / 2)))  # the sigmoid, without overflow
    drawn = axes.pcolormesh(edges, np.arange(len(labels) + 1) - 0.5, chances, cmap="Blues", vmin=0, vmax=1)
    size = min(5.0, 130 / len(stages))
    for height, one in enumerate(labels):
        for target, (mark, _) in _MARKS.items():
            epochs = one.epochs_with(target)
            style = {"markersize": size, "color": "black", "markeredgecolor": "white", "markeredgewidth": 0.5}
            axes.plot(epochs, [height] * len(epochs), mark, **style)
    axes.set_yticks(range(len(labels)), [_name(one.name) for one in labels], fontsize=8)
    for tick, one in zip(axes.get_yticklabels(), labels, strict=True):
        tick.set_color(_COLOR_OF[one.kind])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    epoch_axis(axes, stages)
    return drawn


def _legend(found: dict[str, list[LabelCourse]]) -> list[Line2D]:
    every = [one for labels in found.values() for one in labels]
    kinds = [kind for kind in _COLOR_OF if any(one.kind == kind for one in every)]
    style: dict[str, Any] = {"linestyle": "none", "color": "black", "markersize": 5}
    marks = [each for target, each in _MARKS.items() if any(one.epochs_with(target) for one in every)]
    return [
        *(Line2D([], [], label=kind, color=_COLOR_OF[kind], linewidth=4) for kind in kinds),
        *(Line2D([], [], label=words, marker=mark, **style) for mark, words in marks),
    ]


def _name(text: str) -> str:
    return keep_ends(text, _LETTERS).replace("$", r"\$")


def _text(name: str, letters: int) -> str:
    return keep_end(name, letters).replace("$", r"\$")  # matplotlib reads a dollar as the start of a formula
