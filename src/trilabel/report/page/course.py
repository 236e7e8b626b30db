"""The section on how training went: the curves, and the table of epochs."""

from collections.abc import Sequence

from trilabel.printable import plural
from trilabel.report import training
from trilabel.report.page.blocks import Chart, Charts, Section, Table
from trilabel.report.page.facts import RunFacts
from trilabel.report.page.plot import Plot
from trilabel.report.page.scales import Scale, from_zero
from trilabel.report.panels import Lines

_TONES = {
    "loss": "accent",
    "mAP": "accent",
    "CF1": "other",
    "known positives": "present",
    "true negatives": "absent",
    "hidden positives": "found",
    "left out": "unknown",
    "left out, rightly": "unknown",
    "treated as present": "present",
    "treated as present, rightly": "present",
}
_TREATMENT = "How unknown labels were treated"
_MOST_DOTS = 40  # epochs, above which a line has no dots


def course_section(facts: RunFacts) -> Section:
    """Loss and validation scores over the epochs."""
    header, rows = training.table(facts.history)
    charts = [line_chart(panel, facts) for panel in panels_of(facts) if panel.title != _TREATMENT]
    return Section(
        "course",
        "How training went",
        _lead(facts),
        [Charts(charts), Table("All epochs", header, rows, folded=True)],
    )


def panels_of(facts: RunFacts) -> list[Lines]:
    """What there is to draw over the epochs."""
    return training.panels(facts.history)


def treatment_charts(facts: RunFacts) -> list[Chart]:
    """How the method treated unknown labels, if it chose."""
    return [line_chart(panel, facts) for panel in panels_of(facts) if panel.title == _TREATMENT]


def _lead(facts: RunFacts) -> str:
    epochs, seconds = len(facts.history), sum(record.seconds for record in facts.history)
    time = f"{seconds / 3600:.1f} hours" if seconds > 5400 else f"{seconds / 60:.0f} minutes" if seconds > 90 else ""
    words = f"{plural(epochs, 'epoch')} in {time or plural(round(seconds), 'second')} of training."
    kept = training.place_of(facts.best, facts.history)
    if kept is not None and facts.history[kept - 1].val:
        words += f" The model of epoch {kept} is kept, the best by {facts.about.config.select} on validation images."
    elif kept is not None:
        words += f" The model of epoch {kept} is kept: no image was held out to choose another."
    if facts.best is not None and facts.best.val_unknown_as_absent:
        words += " No validation label was known to be absent: unknown counted as absent, to choose the epoch."
    return words


def line_chart(panel: Lines, facts: RunFacts, size: tuple[int, int] = (380, 250), highest: float = 0.0) -> Chart:
    """A panel of lines over the epochs. highest: what the scale reaches at least, so that several can be compared."""
    values = [value for series in panel.series.values() for value in series if value is not None]
    epochs = len(facts.history)
    scale = Scale(0.0, 100.0) if panel.unit == "%" else from_zero(max([highest, *values]))
    plot = Plot(Scale(0.5, epochs + 0.5, whole=True), scale, "epoch", panel.unit, *size)
    for number in range(1, epochs):
        if facts.history[number - 1].stage != facts.history[number].stage:
            plot.vertical(number + 0.5, "stage")
    legend = []
    kept = training.place_of(facts.best, facts.history)
    if kept is not None and epochs > 1:
        plot.vertical(float(kept), "kept")
        legend.append(("kept", "epoch that is kept"))
    for name, series in panel.series.items():
        tone, dashed = _TONES.get(name, "other"), name.endswith("rightly")
        points = [(float(epoch), value) for epoch, value in enumerate(series, 1) if value is not None]
        plot.line(points, tone, dashed, _tips(name, panel.unit, points) if epochs <= _MOST_DOTS else ())
        legend.append((f"{tone}{' dashed' if dashed else ''}", name))
    caption = panel.caption
    return Chart(panel.title, caption, plot.svg(f"{panel.title} over {plural(epochs, 'epoch')}"), legend)


def _tips(name: str, unit: str, points: Sequence[tuple[float, float]]) -> list[str]:
    shown = "{:.1f} %" if unit == "%" else "{:.4f}"
    return [f"epoch {epoch:.0f}, {name}: {shown.format(value)}" for epoch, value in points]
