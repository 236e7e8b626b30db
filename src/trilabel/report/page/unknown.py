"""The section on what a method did with unknown labels, and how right it was where the truth is known."""

import math

from markupsafe import Markup

from trilabel.printable import printable
from trilabel.report import training
from trilabel.report.label_courses import LabelCourse, courses
from trilabel.report.page.blocks import Block, Card, CardRow, Cards, Charts, Picture, Section, Table, Words
from trilabel.report.page.course import treatment_charts
from trilabel.report.page.elements import element
from trilabel.report.page.facts import RunFacts
from trilabel.report.page.trust import score_chart
from trilabel.report.page.words import percent
from trilabel.training.record import UnknownTargets
from trilabel.training.target_worth import told_of_targets
from trilabel.training.teachers import method_in_words

_TONES = {"known positive": "present", "hidden positive": "found", "true negative": "absent", "unknown": "unknown"}
_MOST_POINTS = 60  # of a small line
_CAPTION = "As they were scored while the model learned, before calibration."
_OF_HIDDEN = " Labels that were hidden on purpose by what they truly are."


def unknown_section(facts: RunFacts, pictures: dict[str, Picture]) -> Section | None:
    """None where nothing was recorded. pictures: of the images that are followed, by id."""
    record = facts.best or facts.history[-1]
    charts = treatment_charts(facts)
    histograms = {kind: counts for kind, counts in record.probabilities.items() if any(counts)}
    hidden = all(kind in histograms for kind in training.HIDDEN)
    if hidden:
        histograms.pop("unknown", None)
    if histograms:
        caption = _CAPTION + (_OF_HIDDEN if hidden else "")
        charts.append(score_chart(f"Training labels in epoch {record.epoch}", histograms, caption=caption))
    blocks: list[Block] = [Charts(charts)] if charts else []
    if lines := [*training.soft_targets(facts.history), *told_of_targets(facts.folder.targets_summary)]:
        blocks.append(Words([printable(f"{line[:1].upper()}{line[1:]}.") for line in lines]))
    header, rows = training.relabellings(facts.history)
    if rows:
        blocks.append(Table("Relabelling", header, rows))
    if cards := _example_cards(facts, pictures):
        caption = "Probability of single labels over the epochs; a dot where an unknown label was treated as present, "
        blocks.append(Cards("A few training images, followed", caption + "a ring where it was left out.", cards))
    return Section("unknown", "What became of unknown labels", _lead(facts), blocks) if blocks else None


def _lead(facts: RunFacts) -> str:
    record = facts.best or facts.history[-1]
    words = []
    if record.unknown is not None:
        words.append(_treated(method_in_words(facts.about.config), record.unknown))
    found = {kind: training.below_half(record.probabilities.get(kind, ())) for kind in training.HIDDEN}
    if (missed := found["hidden_positives"]) is not None:
        words.append(f"Of the positives that were hidden on purpose {percent(1 - missed)} were scored above 0.5")
        if (kept := found["hidden_negatives"]) is not None:
            words[-1] += f", of the negatives {percent(1 - kept)}"
        words[-1] += ". The method never saw them."
    elif record.unknown is None:
        words.append("The method makes no choice of its own, and the truth of unknown labels is not known.")
    return " ".join(words)


def _treated(method: str, unknown: UnknownTargets) -> str:
    parts = []
    for name, text in (("as_absent", "as absent"), ("left_out", "left out"), ("as_present", "as present")):
        if share := unknown.share(name):
            right = getattr(unknown, f"{name}_right")
            judged = f" ({percent(right)} of these rightly)" if right is not None else ""
            parts.append(f"{percent(share)} {text}{judged}")
    return f"In the epoch that is kept, {printable(method)} scored unknown labels like this: {', '.join(parts)}."


def _example_cards(facts: RunFacts, pictures: dict[str, Picture]) -> list[Card]:
    return [
        Card(printable(image), [_row(course) for course in labels], pictures.get(image))
        for image, labels in courses(facts.history).items()
    ]


def _row(course: LabelCourse) -> CardRow:
    chances = [None if value is None else _sigmoid(value) for value in course.logits]
    last = next((chance for chance in reversed(chances) if chance is not None), None)
    words = f"{course.kind}{'' if last is None else f', {percent(last, 0)} at the end'}"
    return CardRow(printable(course.name), words, _TONES[course.kind], drawing=_small_line(course, chances))


def _small_line(course: LabelCourse, chances: list[float | None]) -> Markup:
    every = max(1, -(-len(chances) // _MOST_POINTS))
    wide = 90 / max(1, len(chances) - 1)
    places = [(3 + number * wide, 21 - 18 * chance) for number, chance in enumerate(chances) if chance is not None]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places[::every]) if len(places) > 1 else None
    marks = [element("path", d="M3 12H93", cls="grid")] + ([element("path", d=path, cls="line")] if path else [])
    for target, style in ((1, "dot"), (0, "ring")):
        for epoch in course.epochs_with(target):
            if (chance := chances[epoch - 1]) is not None and len(chances) <= _MOST_POINTS:
                marks.append(element("circle", cx=3 + (epoch - 1) * wide, cy=21 - 18 * chance, r=2, cls=style))
    summary = f"{course.name}: probability over {len(chances)} epochs"
    style = f"spark t-{_TONES[course.kind]}"
    return element("svg", *marks, viewBox="0 0 96 24", cls=style, role="img", aria_label=printable(summary))


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, value))))
