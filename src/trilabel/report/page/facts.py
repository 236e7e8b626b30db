"""All that a page shows of a run, read from its folder; what cannot be read or computed is told, not an error."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError, one_line
from trilabel.inference.trust import unfinished
from trilabel.labels import Labels
from trilabel.report.page.completion_files import Completion, Mistake, read_completion, read_mistakes
from trilabel.report.page.judged import Judged, ReadData, kept_scores, score_split, score_validation
from trilabel.report.page.numbers import Numbers, numbers_of
from trilabel.training.decisions import Decisions
from trilabel.training.description import RunDescription
from trilabel.training.record import EpochRecord
from trilabel.training.run_folder import RunFolder

T = TypeVar("T")
_MOST_MISTAKES = 12  # shown, with a picture each


@dataclass(frozen=True)
class PageOptions:
    """What a page should show beside what the run folder has."""

    read: ReadData | None = None  # gives the data of a run, for pictures and to score images
    pictures: bool = True
    split: str | None = None  # judge by this split of the data instead of the run's own scores
    device: str = "auto"


@dataclass
class RunFacts:
    """One run. Gaps: a sentence for each thing that could not be shown."""

    folder: RunFolder
    about: RunDescription
    history: list[EpochRecord]
    best: EpochRecord | None  # None while no epoch is over, or where the model is gone
    labels: Labels | None = None  # that it learned from
    judged: Judged | None = None
    decisions: Decisions | None = None
    numbers: Numbers | None = None
    completion: Completion | None = None
    mistakes: list[Mistake] = field(default_factory=list)
    dataset: Dataset | None = None
    notes: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What the page calls it."""
        return self.folder.path.name or str(self.folder.path)

    def attempt(self, work: Callable[[], T], without: str) -> T | None:
        """The result of some work; if that is impossible, None and a gap that says what is missing without it."""
        try:
            return work()
        except (TrilabelError, OSError) as error:
            self.gaps.append(f"{without}: {one_line(error)}")
            return None


def facts_of(run: Path, options: PageOptions) -> RunFacts:
    """Everything about a run. Only a folder that is no run, or whose records are damaged, is an error."""
    folder = RunFolder(run)
    about, history = folder.read(), folder.read_history()
    if not history:
        raise TrilabelError(f"{run}: this run has not finished an epoch yet")
    facts = RunFacts(folder, about, history, folder.best_record() if folder.best.is_file() else None)
    facts.notes += unfinished(about.config, history, facts.best)
    if folder.labels.is_file():
        facts.labels = facts.attempt(lambda: Labels.load(folder.labels), "What was known is not shown")
    else:
        facts.gaps.append("What was known is not shown: labels.npz was removed from the run folder")
    if folder.decisions.is_file():
        classes = len(about.classes)
        facts.decisions = facts.attempt(
            lambda: Decisions.load(folder.decisions, classes), "Probabilities are not calibrated"
        )
    facts.completion = facts.attempt(lambda: read_completion(folder.completion), "What complete decided is not shown")
    facts.mistakes = (
        facts.attempt(lambda: read_mistakes(folder.mistakes, _MOST_MISTAKES), "Suspected mistakes are not shown") or []
    )
    _judge(facts, options)
    if (read := options.read) is not None and options.pictures:
        facts.attempt(lambda: _data(facts, read), "There are no pictures, as the data cannot be read")
    return facts


def _judge(facts: RunFacts, options: PageOptions) -> None:
    without = "Average precision, decisions and calibration are not shown"
    folder, read, split, device = facts.folder, options.read, options.split, options.device
    if split is not None and read is not None:
        facts.judged = score_split(folder.path, _data(facts, read), split, device)  # asked for: an error if impossible
    else:
        facts.judged = facts.attempt(lambda: kept_scores(folder, facts.labels), without)
        if facts.judged is None and read is not None and folder.best.is_file():
            facts.judged = facts.attempt(lambda: score_validation(folder, lambda: _data(facts, read), device), without)
    judged = facts.judged
    if judged is None:
        if not any(gap.startswith(without) for gap in facts.gaps):
            why = "the run has no validation images" if facts.about.config.val == "none" else "the run kept no scores"
            facts.gaps.append(f"{without}: {why}; `--split NAME` scores a split of the data")
        return
    facts.numbers = facts.attempt(lambda: numbers_of(judged, facts.decisions), without)
    if facts.numbers is not None and judged.fitted_here and split is None:
        _check_epoch(facts, judged, facts.numbers)


def _check_epoch(facts: RunFacts, judged: Judged, numbers: Numbers) -> None:
    """The scores of a run that was resumed for more epochs are of the epoch that was the best before."""
    told = facts.best.val if facts.best else {}
    if told.get("images") == len(judged.labels) and told.get("mAP") is not None:
        found = numbers.overall["mAP"]
        if found is None or abs(told["mAP"] - found) > 1e-3:
            facts.notes.append("classes are judged by the scores of an earlier epoch: the run was resumed, and goes on")


def _data(facts: RunFacts, read: ReadData) -> Dataset:
    if facts.dataset is None:
        facts.dataset = read(facts.folder.path)
    return facts.dataset
