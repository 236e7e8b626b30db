"""A page on several runs: a table of them, small drawings side by side, and the classes of all."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from trilabel.config import Config
from trilabel.printable import plural, printable, shorten
from trilabel.report import training
from trilabel.report.page.blocks import Block, Chart, Charts, ClassTable, Section, Table, Words
from trilabel.report.page.class_table import ap_column, column
from trilabel.report.page.classes import ap_chart, known_positives
from trilabel.report.page.course import line_chart, panels_of
from trilabel.report.page.elements import element
from trilabel.report.page.facts import RunFacts
from trilabel.report.page.scales import ratios
from trilabel.report.page.summary import setting
from trilabel.report.page.trust import calibration_chart, score_chart
from trilabel.report.page.words import percent
from trilabel.training.teachers import method_in_words

_SMALL = (300, 190)
_LETTERS = 28  # of the name of a run above a drawing
_HOW = ("device", "devices", "workers", "cache", "save_minutes")  # do not shape what a run learns


def sections_of_several(runs: Sequence[RunFacts]) -> list[Section]:
    """What runs have in common and where they differ; no run is shown in full."""
    names = names_of(runs)
    overview: list[Block] = [Table("", *overview_table(runs, names))]
    if doubts := _doubts(runs):
        overview.append(Words(doubts, "note", "Keep in mind"))
    if gaps := [f"{name}: {gap}" for name, facts in zip(names, runs, strict=True) for gap in facts.gaps]:
        overview.append(Words([printable(gap) for gap in gaps], "gap", "What this page cannot show"))
    settings = _settings(runs, names)
    if settings.rows:
        overview.append(settings)
    lead = f"{plural(len(runs), 'run')}, side by side. `trilabel report RUN` shows one of them in full."
    found = [
        Section("summary", "Runs", lead, overview),
        Section("course", "How training went", "The same scale for all runs.", _courses(runs, names)),
    ]
    if judged := [(name, facts) for name, facts in zip(names, runs, strict=True) if facts.numbers is not None]:
        found.append(Section("trust", "How good they are", "The same scales for all runs.", _quality(judged)))
        found.append(Section("classes", "Class by class", _class_lead(judged), [_class_table(judged)]))
    return found


def names_of(runs: Sequence[RunFacts]) -> list[str]:
    """A short name for each run: that of its folder, with those above it where two would be the same."""
    paths = [facts.folder.path.absolute().parts for facts in runs]
    depth = 1
    while depth < max(map(len, paths)) and len({path[-depth:] for path in paths}) < len(paths):
        depth += 1
    names = [printable("/".join(path[-depth:])) for path in paths]
    return [f"{name} ({number})" if names.count(name) > 1 else name for number, name in enumerate(names, 1)]


def overview_table(runs: Sequence[RunFacts], names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """(header, a row for each run); columns without any value are left out."""
    rows = [_overview_row(facts) for facts in runs]
    shown = [name for name in rows[0] if any(row[name] != "—" for row in rows)]
    return ["run", *shown], [[name, *(row[head] for head in shown)] for name, row in zip(names, rows, strict=True)]


def _overview_row(facts: RunFacts) -> dict[str, str]:
    numbers, labels, done = facts.numbers, facts.labels, facts.completion
    overall: dict[str, Any] = {} if numbers is None else numbers.overall
    kept = training.place_of(facts.best, facts.history)
    return {
        "method": printable(method_in_words(facts.about.config)),
        "images": "—" if labels is None else f"{len(labels):,}",
        "known": percent(None if labels is None else labels.known_share),
        "epoch": "—" if kept is None else f"{kept} of {len(facts.history)}",
        "judged": "—" if facts.judged is None else f"{len(facts.judged.labels):,}",
        "mAP": percent(overall.get("mAP")),
        "CF1": percent(overall.get("CF1")),
        "OF1": percent(overall.get("OF1")),
        "calibration error": percent(None if numbers is None else numbers.error_after),
        "uncalibrated": percent(None if numbers is None else numbers.error_before),
        "holes filled": percent(done.filled / done.holes if done is not None and done.holes else None),
    }


def _doubts(runs: Sequence[RunFacts]) -> list[str]:
    """Why numbers of these runs may not be compared."""
    judged = [facts.judged for facts in runs if facts.judged is not None]
    found = [f"{facts.name}: {note}" for facts in runs for note in facts.notes]
    if any(one.labels != judged[0].labels for one in judged[1:]):
        found.append("The runs are judged by different labels: differences in their scores may come from that alone.")
    if any(one.unknown_as_absent for one in judged):
        found.append("Where nothing is known to be absent, unknown counts as absent.")
    if len({tuple(facts.about.classes) for facts in runs}) > 1:
        found.append("The runs have different classes: each mean is over its own.")
    return [printable(line) for line in found]


def _settings(runs: Sequence[RunFacts], names: Sequence[str]) -> Table:
    """The settings in which runs differ, how their data was read included."""
    by_run = [
        {f.name: setting(getattr(facts.about.config, f.name)) for f in fields(Config) if f.name not in _HOW}
        | {f"data: {printable(str(name))}": setting(value) for name, value in facts.about.source.items()}
        for facts in runs
    ]
    every = dict.fromkeys(name for values in by_run for name in values)
    differ = [name for name in every if len({values.get(name, "—") for values in by_run}) > 1]
    rows = [[name, *(values.get(name, "—") for values in by_run)] for name in differ]
    return Table("Where their settings differ", ["setting", *names], rows, words=True)


def _courses(runs: Sequence[RunFacts], names: Sequence[str]) -> list[Block]:
    """A row of drawings for each panel that some run has."""
    panels = [{panel.title: panel for panel in panels_of(facts)} for facts in runs]
    blocks: list[Block] = []
    for title in dict.fromkeys(title for of_run in panels for title in of_run):
        of_runs = [of_run.get(title) for of_run in panels]
        drawn = [value for panel in of_runs if panel for series in panel.series.values() for value in series]
        highest = max(value for value in drawn if value is not None)
        charts = [
            _nothing(name) if panel is None else _small(line_chart(panel, facts, _SMALL, highest), name)
            for name, facts, panel in zip(names, runs, of_runs, strict=True)
        ]
        blocks.append(Charts(charts, title, small=True))
    return blocks


def _quality(judged: Sequence[tuple[str, RunFacts]]) -> list[Block]:
    known = [
        value for _, facts in judged if facts.numbers for value in known_positives(facts, facts.numbers)[0].tolist()
    ]
    scale = ratios(known)
    ap, calibration, scores = list[Chart](), list[Chart](), list[Chart]()
    for name, facts in judged:
        assert facts.numbers is not None
        ap.append(_small(ap_chart(facts, facts.numbers, _SMALL, scale), name))
        there = bool(facts.numbers.before)
        calibration.append(_small(calibration_chart(facts, facts.numbers, _SMALL), name) if there else _nothing(name))
        scores.append(_small(score_chart("Scores", facts.numbers.histograms, _SMALL), name))
    titled = {"Average precision": ap, "Calibration": calibration, "Scores": scores}
    return [Charts(charts, title, small=True) for title, charts in titled.items() if charts]


def _small(chart: Chart, name: str) -> Chart:
    return chart._replace(title=shorten(name, _LETTERS), caption="")


def _nothing(name: str) -> Chart:
    """The place of a drawing for which the run has no numbers, so that runs stay below each other."""
    words = element("text", "nothing recorded", x=_SMALL[0] / 2, y=_SMALL[1] / 2, cls="axis middle nothing")
    svg = element("svg", words, viewBox=f"0 0 {_SMALL[0]} {_SMALL[1]}", role="img", aria_label="nothing recorded")
    return Chart(shorten(name, _LETTERS), "", svg)


def _class_lead(judged: Sequence[tuple[str, RunFacts]]) -> str:
    return f"Average precision of each class in {plural(len(judged), 'run')}; click a heading to sort."


def _class_table(judged: Sequence[tuple[str, RunFacts]]) -> ClassTable:
    """Classes of all runs by name, with the AP of each run and, of two runs, the difference."""
    classes = list(dict.fromkeys(name for _, facts in judged for name in facts.about.classes))
    columns = [column("class", "name", [printable(name) for name in classes])]
    aligned = []
    for name, facts in judged:
        assert facts.numbers is not None
        place = {cls: number for number, cls in enumerate(facts.about.classes)}
        whole = ap_column(f"AP %, {shorten(name, _LETTERS)}", facts.numbers)
        taken = {
            key: [_take(whole[key], place.get(cls)) for cls in classes]
            for key in ("values", "low", "high")
            if key in whole
        }
        columns.append(whole | taken)
        aligned.append(taken["values"])
    if len(aligned) == 2:
        pairs = zip(*aligned, strict=True)
        values = [None if one is None or two is None else round(two - one, 1) for one, two in pairs]
        columns.append(column("difference", "difference", values, "the second run less the first"))
    first = judged[0][1]
    if first.labels is not None:
        counts = dict(zip(first.about.classes, first.labels.counts_per_class()[0].tolist(), strict=True))
        words = "training images known to have it, in the first run"
        columns.insert(1, column("known +", "count", [counts.get(cls) for cls in classes], words))
    return ClassTable("class-table", plural(len(classes), "class"), columns)


def _take(values: Sequence[Any], place: int | None) -> Any:
    return None if place is None else values[place]
