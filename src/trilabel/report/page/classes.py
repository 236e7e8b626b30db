"""The section on how good a run is, class by class."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trilabel.printable import plural, printable
from trilabel.report.page.blocks import Block, Chart, Charts, Section, Words
from trilabel.report.page.class_table import class_table
from trilabel.report.page.facts import RunFacts
from trilabel.report.page.numbers import Numbers
from trilabel.report.page.plot import Plot
from trilabel.report.page.scales import Scale, ratios
from trilabel.report.page.words import percent

_MOST_INTERVALS = 150  # classes, above which a chart shows how they are spread instead


def classes_section(facts: RunFacts) -> Section:
    """Average precision against known positives, decisions at the thresholds, and a table of all classes."""
    blocks: list[Block] = []
    lead = "There are no scores by which to judge classes; below is what was known of them."
    if facts.numbers is not None and facts.judged is not None:
        lead = _lead(facts, facts.numbers)
        blocks.append(Charts([ap_chart(facts, facts.numbers), decision_chart(facts, facts.numbers)]))
        if facts.judged.unknown_as_absent:
            blocks.append(
                Words(
                    ["Nothing is known to be absent among these images: unknown counts as absent. That shows which "
                     "classes are easier than others, not how good they are."], "gap",
                )
            )  # fmt: skip
    blocks.append(class_table(facts))
    return Section("classes", "How good it is, class by class", lead, blocks)


def _lead(facts: RunFacts, numbers: Numbers) -> str:
    assert facts.judged is not None
    known = plural(facts.judged.labels.known, "known label")
    words = f"Judged by {known} of {len(facts.judged.labels):,} {facts.judged.images}."
    if without := numbers.overall["classes_without_ap"]:
        words += f" {plural(without, 'class has', 'classes have')} no known positive, or no known negative, there, "
        words += "and no AP."
    if facts.decisions is not None and facts.judged.fitted_here:
        words += " Thresholds were fitted on these same labels: expect a little less on new images."
    return words


def ap_chart(
    facts: RunFacts, numbers: Numbers, size: tuple[int, int] = (380, 250), scale: Scale | None = None
) -> Chart:
    """AP of each class against its known positives. scale: of known positives, so that several can be compared."""
    known, basis = known_positives(facts, numbers)
    defined = np.flatnonzero(~np.isnan(numbers.ap))
    plot = Plot(scale or ratios(known[defined].tolist()), Scale(0, 100), f"known positives {basis}", "AP %", *size)
    points = [(float(known[column]), 100 * float(numbers.ap[column])) for column in defined.tolist()]
    if len(defined) <= _MOST_INTERVALS:
        bounded = defined[~np.isnan(numbers.ap_low[defined])]
        spans = zip(known[bounded], 100 * numbers.ap_low[bounded], 100 * numbers.ap_high[bounded], strict=True)
        plot.intervals([(float(at), float(low), float(high)) for at, low, high in spans], "accent")
        plot.dots(
            points, "accent", [_ap_tip(facts, numbers, column, int(known[column])) for column in defined.tolist()]
        )
        caption = "A dot is a class, a line its 95 % interval if such images were drawn again."
        legend: Sequence[tuple[str, str]] = ()
    else:
        plot.many_dots(points, "accent")
        middle, spread = _spread_by_group(known[defined], 100 * numbers.ap[defined])
        plot.band(spread, "other")
        plot.line(middle, "other")
        caption, legend = "A dot is a class. Intervals of single classes are in the table.", (
            ("accent", "a class"), ("other", "median and middle half of classes with as many"),
        )  # fmt: skip
    summary = f"AP against known positives; mAP {percent(numbers.overall['mAP'])}"
    return Chart("Average precision", caption, plot.svg(summary), legend)


def _ap_tip(facts: RunFacts, numbers: Numbers, column: int, known: int) -> str:
    name, low, high = printable(facts.about.classes[column]), numbers.ap_low[column], numbers.ap_high[column]
    spread = "" if np.isnan(low) else f" ({100 * low:.1f} to {100 * high:.1f})"
    return f"{name}: AP {percent(numbers.ap[column])}{spread}, {plural(known, 'known positive')}"


def known_positives(facts: RunFacts, numbers: Numbers) -> tuple[NDArray[np.int64], str]:
    """(of each class, where they are counted): among the labels to learn from, if these are known."""
    if facts.labels is None:
        return numbers.positives, "where judged"
    return facts.labels.counts_per_class()[0], "to learn from"


def _spread_by_group(
    known: NDArray[np.int64], ap: NDArray[np.float64]
) -> tuple[list[tuple[float, float]], list[tuple[float, float, float]]]:
    """(median, middle half) of the AP of classes with alike numbers of known positives."""
    group = np.floor(np.log2(known + 1.0))  # 0, 1 to 2, 3 to 6, …
    parts = [np.flatnonzero(group == each) for each in np.unique(group)]
    at = [float(np.median(known[part])) for part in parts]
    low, middle, high = (np.array([np.quantile(ap[part], q) for part in parts]).tolist() for q in (0.25, 0.5, 0.75))
    return list(zip(at, middle, strict=True)), list(zip(at, low, high, strict=True))


def decision_chart(facts: RunFacts, numbers: Numbers) -> Chart:
    """Precision and recall of each class at its threshold."""
    plot = Plot(Scale(0, 100), Scale(0, 100), "recall %", "precision %")
    defined = np.flatnonzero(~np.isnan(numbers.precision) & ~np.isnan(numbers.recall))
    points = [(100 * float(numbers.recall[c]), 100 * float(numbers.precision[c])) for c in defined.tolist()]
    if len(defined) <= _MOST_INTERVALS:
        tips = [
            f"{printable(facts.about.classes[column])}: precision {percent(numbers.precision[column])}, recall "
            f"{percent(numbers.recall[column])}, present from {numbers.thresholds[column]:.2f}"
            for column in defined.tolist()
        ]
        plot.dots(points, "accent", tips)
    else:
        plot.many_dots(points, "accent")
    overall = numbers.overall
    known = {name: overall[name] for name in ("CP", "CR", "OP", "OR") if overall[name] is not None}
    names = {"CP": "precision", "CR": "recall", "OP": "precision of all labels", "OR": "recall of all labels"}
    means = ", ".join(f"{names[name]} {percent(value)}" for name, value in known.items())
    how = "its fitted threshold" if facts.decisions is not None else "a probability of 0.5"
    caption = f"Each class, where present is decided at {how}. On average {means}."
    return Chart("Decisions", caption, plot.svg("Precision against recall of each class"))
