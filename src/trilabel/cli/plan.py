"""`trilabel plan`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from trilabel.cli.arguments import Broken, DataPath, Trust, check_output, require_positive, require_run
from trilabel.cli.data_options import DataOptions, Reading, read_data
from trilabel.cli.render import print_json, print_line
from trilabel.log import log
from trilabel.plugin_files import trust
from trilabel.printable import command_line, plural

if TYPE_CHECKING:
    from trilabel.planning.api import Plan

Order = Literal["valuable", "uncertain", "positives", "random"]


@dataclass(frozen=True, kw_only=True)
class PlanQuestions:
    """Says which labels to ask people for next, and what to expect of them.

    Example: trilabel plan labels.csv --images photos --run runs/first --budget 1000 --out questions.csv
    """

    data: DataPath
    """A file or folder in any format that trilabel reads."""
    run: Path
    """The run folder; images that it has not scored yet are scored first."""
    budget: int = 1000
    """How many questions (image and class) people can answer."""
    out: Path | None = None
    """The table of questions, for trilabel review --questions; none: it only says what to expect."""
    answers: Path | None = None
    """Answers of people so far (the store of trilabel review, or a table with a column answer): not asked again."""
    order: Order = "valuable"
    """What to ask first; valuable: what is probable, not certain, and of a class with few known positives."""
    overwrite: bool = False
    """Replace the table if it exists."""
    broken: Broken = "stop"
    """Whether a missing or broken image stops the command, or is left out."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    trust: Trust = ()
    json: bool = False
    """Print the plan as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        require_positive(budget=self.budget)
        require_run(self.run)
        if self.out is not None:
            check_output(self.out, self.overwrite)
        trust(self.trust)
        dataset = read_data(self.data, self.reading.chosen())
        if self.answers is not None:
            from trilabel.cli.answers import read_any_answers
            from trilabel.data.answers import with_answers

            dataset, applied = with_answers(dataset, read_any_answers(self.answers))
            log.info(f"{self.answers}: {applied.describe()}")
        from trilabel.planning.api import plan

        found = plan(self.run, dataset, self.budget, self.order, self.device, self.broken)
        if self.out is not None:
            found.write(self.out)
        if self.json:
            return print_json({"out": None if self.out is None else str(self.out), **found.to_json()})
        for line in lines(found):
            print_line(line)
        if self.out is not None:
            words = ("trilabel", "review", self.data, "--run", self.run, "--store", "answers.db")
            images = () if self.reading.images is None else ("--images", self.reading.images)
            print_line(f"questions: {self.out}")
            print_line(f"try next: {command_line(*words, *images, '--questions', self.out)}")
        return None


def lines(plan: "Plan") -> list[str]:
    """What the plan says, for people."""
    told = plan.to_json()
    present = f"about {plan.present:,.0f} of them present, as the model believes"
    text = [
        f"{plural(told['questions'], 'question')} about {plural(told['images'], 'image')} and "
        f"{plural(told['classes'], 'class')}; {present}"
    ]
    if plan.expected is None:
        return [*text, f"what to expect cannot be said: {plan.why_not}"]
    what = "positive" if plan.positives_only else "label"
    how = ", unknown counted as absent" if plan.expected.unknown_as_absent else ""
    text.append(
        f"now: mAP {100 * told['curve']['now']:.1f} % with {plural(plan.known, f'known {what}')}, by a head fitted to "
        f"images' features and tested on other images ({plan.expected.method}{how})"
    )
    for budget, added, gain in zip(plan.budgets, plan.added, plan.expected.gains, strict=True):
        text.append(f"{plural(budget, 'answer')}, {plural(added, what)} more: mAP {gain.percent()}")
    text.append("  if they are like those that are known; in brackets 90 % of resampled curves")
    if not plan.fixed_features:
        text.append("  the network itself has learned from these labels: with more it would gain more than its head")
    return [*text, _spread(plan)]


def _spread(plan: "Plan") -> str:
    assert plan.expected is not None
    better = plan.expected.spread
    if better is None:
        return "spread over images or some in full? cannot be seen here: images have about one known label each"
    gain = f"labels spread over images against as many of images labelled in full: mAP {better.percent()}"
    if better.low > 0:
        return f"spread labels over images: {gain}"
    if better.high < 0:
        return f"label some images in full: {gain}"
    return f"spread over images or some in full makes no difference: {gain}"
