"""The section on what was known: by class, by image, and which classes were named together."""

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from trilabel.data.inspect import often_together
from trilabel.labels import Labels
from trilabel.printable import plural, printable, shorten
from trilabel.report.page.blocks import BarRow, Bars, Block, Chart, Charts, Section, Table
from trilabel.report.page.elements import element
from trilabel.report.page.plot import Plot
from trilabel.report.page.scales import Scale, counts, from_zero
from trilabel.report.page.words import percent

MOST_BARS = 24  # classes with a bar of their own
_MOST_TOGETHER = 20  # classes in the picture of pairs
_MOST_PAIRED = 200  # classes whose pairs are counted: others are too rare to be among the most frequent pairs
_MOST_BINS = 30  # of the number of known labels of an image
_LETTERS = 13  # of a class name beside that picture
_HEIGHT = 350  # of the drawings beside it
_LEGEND = (("present", "known positives"), ("absent", "known negatives"), ("rest", "unknown"))


def known_section(labels: Labels) -> Section:
    """Counts of the labels that a run learned from."""
    classes = labels.shape[1]
    positives, negatives = labels.counts_per_class()
    blocks: list[Block] = []
    if classes <= MOST_BARS:
        blocks.append(_class_bars(labels, positives, negatives))
    charts = [] if classes <= MOST_BARS else [_rank_chart(positives, negatives)]
    charts.append(_image_chart(labels))
    frequent = np.argsort(-positives, kind="stable")[:_MOST_PAIRED]
    pairs = often_together(labels[:, frequent[positives[frequent] > 0]])
    if pairs:
        charts.append(_together_chart(labels, positives))
    blocks.append(Charts(charts))
    if pairs:
        rows = [[" + ".join(map(printable, pair["classes"])), f"{pair['images']:,}"] for pair in pairs]
        blocks.append(Table("Most often known together", ["classes", "images"], rows, folded=True))
    return Section("known", "What was known", _lead(labels, positives, negatives), blocks)


def _lead(labels: Labels, positives: NDArray[np.int64], negatives: NDArray[np.int64]) -> str:
    images, classes = labels.shape
    words = [
        f"Of {plural(images * classes, 'label')} ({plural(images, 'training image')} × {plural(classes, 'class')}) "
        f"{percent(labels.known_share)} were known: {plural(int(positives.sum()), 'positive')} and "
        f"{plural(int(negatives.sum()), 'negative')}.",
        f"Half of the classes have {plural(int(np.median(positives)), 'known positive')} or fewer.",
    ]
    if without := int((positives == 0).sum()):
        words.append(f"{plural(without, 'class has', 'classes have')} no known positive.")
    if not negatives.any():
        words.append("Nothing was known to be absent.")
    return " ".join(words)


def _class_bars(labels: Labels, positives: NDArray[np.int64], negatives: NDArray[np.int64]) -> Bars:
    images = max(1, len(labels))
    rows = []
    for column in np.argsort(-positives, kind="stable").tolist():
        present, absent = int(positives[column]), int(negatives[column])
        numbers = (("present", present), ("absent", absent), ("rest", images - present - absent))
        parts = [
            (tone, 100 * number / images, f"{number:,} {words}")
            for (tone, number), (_, words) in zip(numbers, _LEGEND, strict=True)
        ]
        rows.append(BarRow(printable(str(labels.classes[column])), parts, f"{present:,} / {absent:,}"))
    caption = (
        "All training images, divided by what was known of each class; numbers: known positives / known negatives."
    )
    return Bars("By class", caption, rows, _LEGEND)


def _rank_chart(positives: NDArray[np.int64], negatives: NDArray[np.int64]) -> Chart:
    """Classes in the order of their number of known labels: for many classes."""
    plot = Plot(
        Scale(1, max(2, len(positives))),
        counts(max(positives.max(initial=1), negatives.max(initial=1))),
        "classes, from the most often known",
        "images",
        height=_HEIGHT,
    )
    for values, tone in ((negatives, "absent"), (positives, "present")):
        ordered = np.sort(values)[::-1]
        at = np.unique(np.linspace(0, len(ordered) - 1, 200).astype(int))
        plot.line([(float(place + 1), float(ordered[place])) for place in at], tone)
    summary = "Known positives and negatives of each class, in the order of their number"
    caption = "How many images are known to have a class, and not to have it; each line in its own order of classes."
    return Chart("By class", caption, plot.svg(summary), _LEGEND[:2])


def _image_chart(labels: Labels) -> Chart:
    of_image = dict(zip(("present", "absent"), labels.counts_per_image(), strict=True))
    most = max(1, *(int(values.max(initial=0)) for values in of_image.values()))
    width = max(1, -(-(most + 1) // _MOST_BINS))
    edges = np.arange(0, most + 1 + width, width)
    found = {tone: np.histogram(values, edges)[0] for tone, values in of_image.items()}
    plot = Plot(
        Scale(float(edges[0]), float(edges[-1]), whole=True),
        from_zero(max(int(values.max()) for values in found.values())),
        "known labels of an image",
        "images",
        height=_HEIGHT,
    )
    for tone in ("absent", "present"):
        plot.steps(edges.tolist(), found[tone].tolist(), tone)
    tips = [
        f"{_span(int(left), width)}: {plural(int(yes), 'image')} by positives, {int(no):,} by negatives"
        for left, yes, no in zip(edges[:-1], found["present"], found["absent"], strict=True)
    ]
    plot.tell(edges.tolist(), tips)
    mean = {tone: values.mean() if len(values) else 0.0 for tone, values in of_image.items()}
    caption = f"On average {mean['present']:.1f} positives and {mean['absent']:.1f} negatives of an image are known."
    return Chart("By image", caption, plot.svg(f"Histogram of known labels per image. {caption}"), _LEGEND[:2])


def _span(first: int, width: int) -> str:
    return f"{first} known" if width == 1 else f"{first} to {first + width - 1} known"


def _together_chart(labels: Labels, positives: NDArray[np.int64]) -> Chart:
    """A square of the most frequent classes: the share of images with one that have the other, too."""
    shown = np.argsort(-positives, kind="stable")[:_MOST_TOGETHER]
    shown = shown[positives[shown] > 0]
    part = labels[:, shown]
    pairs, names = part.co_occurrence().toarray(), [printable(str(name)) for name in part.classes]
    size, left, top, right = 380, 92, 76, 40  # the last name above leans out to the right
    cell = (size - left - right) / len(names)
    marks: list[Markup] = []
    for row, name in enumerate(names):
        place = top + (row + 0.5) * cell
        marks.append(element("text", shorten(name, _LETTERS), x=left - 5, y=place + 3.5, cls="tick end"))
        across = left + (row + 0.5) * cell
        turn = f"rotate(-50 {across:.1f} {top - 5})"
        marks.append(element("text", shorten(name, _LETTERS), x=across, y=top - 5, transform=turn, cls="tick"))
        for column, other in enumerate(names):
            share = pairs[row, column] / max(1, pairs[row, row])
            both = plural(int(pairs[row, column]), "image")
            tip = (
                f"{name} and {other}: {both}, {percent(share, 0)} of those with {name}"
                if row != column
                else f"{name}: {both}"
            )
            where = {"x": left + column * cell, "y": top + row * cell, "width": cell - 1, "height": cell - 1}
            style = "cell self" if row == column else "cell"
            opacity = None if row == column else f"{0.06 + 0.94 * share**0.5:.2f}"
            marks.append(element("rect", **where, cls=style, fill_opacity=opacity, data_tip=tip))
    height = top + len(names) * cell
    summary = f"Which of {len(names)} classes are known to be present together"
    svg = element("svg", *marks, viewBox=f"0 0 {size} {height:.0f}", role="img", aria_label=summary)
    some = f"The {len(names)} most frequent classes. " if len(names) < labels.shape[1] else ""
    caption = f"{some}Of images known to have the class at the left, the share known to have the one above, too."
    return Chart("Together", caption, svg)
