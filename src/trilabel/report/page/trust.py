"""The section on whether probabilities can be believed: calibration before and after, and how scores are spread."""

import math
from collections.abc import Sequence

from trilabel.printable import plural
from trilabel.report.page.blocks import Block, Chart, Charts, Section, Words
from trilabel.report.page.facts import RunFacts
from trilabel.report.page.numbers import Bin, Numbers
from trilabel.report.page.plot import Plot
from trilabel.report.page.scales import Scale, counts
from trilabel.report.page.words import percent

_WORDS = {"positives": "known positives", "negatives": "known negatives", "unknown": "unknown"}
_TONES = {"positives": "present", "negatives": "absent", "unknown": "unknown"}
_TONES |= {"known_positives": "present", "known_negatives": "absent"}
_TONES |= {"hidden_positives": "found", "hidden_negatives": "missed"}


def trust_section(facts: RunFacts, numbers: Numbers) -> Section:
    """Reliability diagram and histograms."""
    blocks: list[Block] = []
    charts = [score_chart("Scores", numbers.histograms)]
    lead = "How probabilities are spread over labels that are known to be present, known to be absent, and unknown."
    if numbers.before:
        charts.insert(0, calibration_chart(facts, numbers))
        lead = _lead(facts, numbers)
    else:
        blocks.append(
            Words(["Calibration cannot be judged: it takes labels known to be present and labels known to be absent."],
                  "gap")
        )  # fmt: skip
    blocks.insert(0, Charts(charts))
    if facts.decisions is not None:
        blocks.append(Words([f"Probabilities and thresholds: {facts.decisions.basis}."]))
    return Section("trust", "Can its probabilities be believed?", lead, blocks)


def _lead(facts: RunFacts, numbers: Numbers) -> str:
    if numbers.error_before is None or numbers.error_after is None:
        return ""
    if facts.decisions is None:
        return f"Probabilities are off by {percent(numbers.error_before)} on average; the run did not calibrate them."
    before, after = percent(numbers.error_before), percent(numbers.error_after)
    words = f"As the network gives them, probabilities are off by {before} on average, calibrated by {after}."
    if facts.judged is not None and facts.judged.fitted_here:
        words += " Calibration was fitted on these same labels, by one slope for all classes and a shift for each."
    return words


def calibration_chart(facts: RunFacts, numbers: Numbers, size: tuple[int, int] = (380, 250)) -> Chart:
    """Probability against the share that is present, before and after calibration."""
    plot = Plot(Scale(0, 100), Scale(0, 100), "probability %", "known to be present %", *size)
    plot.line([(0, 0), (100, 100)], "ideal", dashed=True)
    _draw_bins(plot, numbers.before, "unknown", "before")
    legend = [("unknown", "as the network gives them")]
    if facts.decisions is not None:
        _draw_bins(plot, numbers.after, "accent", "calibrated")
        legend.append(("accent", "calibrated"))
    legend.append(("ideal dashed", "ideal"))
    caption = "Known labels in ten bins by their probability; the larger a dot, the more labels are in its bin."
    return Chart("Calibration", caption, plot.svg("Reliability diagram"), legend)


def _draw_bins(plot: Plot, bins: Sequence[Bin], tone: str, words: str) -> None:
    points = [(100 * each.probability, 100 * each.present) for each in bins]
    most = max((each.labels for each in bins), default=1)
    tips = [
        f"{words}: {plural(each.labels, 'label')} at {percent(each.probability)}, {percent(each.present)} are present"
        for each in bins
    ]
    plot.line(points, tone)
    plot.dots(points, tone, tips, [2.5 + 5 * math.sqrt(each.labels / most) for each in bins])


def score_chart(
    title: str, histograms: dict[str, list[int]], size: tuple[int, int] = (380, 250), caption: str = ""
) -> Chart:
    """Counts of labels by probability, on a logarithmic scale: unknown ones outnumber the others by far."""
    shown = {kind: values for kind, values in histograms.items() if any(values)}
    bins = len(next(iter(shown.values()), [0]))
    edges = [place / bins for place in range(bins + 1)]
    plot = Plot(
        Scale(0, 1), counts(max([1, *(max(values) for values in shown.values())])), "probability", "labels", *size
    )
    for kind in sorted(shown, key=lambda kind: -sum(shown[kind])):
        plot.steps(edges, [float(value) for value in shown[kind]], _TONES[kind])
    tips = [
        f"{edges[b]:.2f} to {edges[b + 1]:.2f}: "
        + ", ".join(f"{values[b]:,} {_words(kind)}" for kind, values in shown.items())
        for b in range(bins)
    ]
    plot.tell(edges, tips)
    caption = caption or "Calibrated probabilities. The further positives stand from negatives, the better."
    legend = [(_TONES[kind], _words(kind)) for kind in shown]
    return Chart(title, caption, plot.svg(f"Histogram of probabilities: {title}"), legend)


def _words(kind: str) -> str:
    return _WORDS.get(kind, kind.replace("_", " "))
