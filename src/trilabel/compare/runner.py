"""Carrying a plan out, cell by cell.

A cell is a run folder with a result.json in it once it is finished: a comparison that was stopped goes on where it was,
inside a cell too. What is searched is chosen by validation alone; search runs never see the test split.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from trilabel import simulate
from trilabel.compare.as_command import evaluate_command, train_command
from trilabel.compare.decoded import DecodedOnce
from trilabel.compare.plan import ALL, PARTS, Plan, Row, changed
from trilabel.config import Config
from trilabel.console import muted, warn
from trilabel.data.dataset import Dataset
from trilabel.engine import train
from trilabel.errors import TrilabelError
from trilabel.files import write_text
from trilabel.labels import Labels
from trilabel.plan import split_for_training
from trilabel.predict import load
from trilabel.published import figures
from trilabel.recipes import resolve
from trilabel.report import comparison
from trilabel.report.comparison import Cell, Place, Reference
from trilabel.run_folder import Run, RunFolder

METRICS = ("mAP", "CF1", "OF1")
_POINTING = ("pointing_game", "pointing_game_by_class")
_DATA = "data.json"


@dataclass(frozen=True)
class Trial:
    """A finished search run."""

    row: str
    labels: str
    tried: Mapping[str, Any]
    validation: float | None  # None where it failed
    seconds: float


class Comparison:
    """A plan on its way: what is finished, and what is under way."""

    def __init__(
        self,
        dataset: Dataset,
        plan: Plan,
        out: str | Path,
        *,
        test: str = "test",
        published: Sequence[str] = (),
        pointing: bool = False,
        keep: bool = False,
        source: Mapping[str, Any] | None = None,
    ) -> None:
        """test: the split that finished cells are scored on. published: data sets whose figures stand beside ours.

        pointing: play the pointing game, too. keep: the models, not only the numbers. source: how the command line
        reads the data, for the commands that make each cell again.
        """
        self.plan, self.out, self.test, self.keep = plan, Path(out), test, keep
        self.source = dict(source or {"data": "DATA"})
        self.metrics = (*METRICS, *_POINTING) if pointing else METRICS
        self.pointing = pointing
        self.data = DecodedOnce(dataset)
        self.references = references(plan, published, self.metrics)
        self.cells: list[Cell] = []
        self.trials: list[Trial] = []
        self.failed: dict[Place, str] = {}
        self.running: Place | None = None
        self.folder: Path | None = None  # of the run under way
        _check(dataset, plan, test)

    def run(self, seen: Callable[[], None] = lambda: None) -> list[Cell]:
        """Makes every run that is not finished yet, the search first; `seen` is called after each."""
        self._take_folder()
        chosen: dict[tuple[str, str], Mapping[str, Any] | TrilabelError] = {}
        for row, labels, seed in self.plan.cells():
            if (row.name, labels) not in chosen:
                self.running = row.name, labels, seed
                chosen[row.name, labels] = self._search(row, labels, seen)
        for row, labels, seed in self.plan.cells():
            self.running = row.name, labels, seed
            try:
                self.cells.append(self._cell(row, labels, seed, chosen[row.name, labels]))
            except TrilabelError as error:  # a method that cannot work with such labels is no reason to lose the rest
                self.failed[self.running] = str(error)
                warn(f"{row.name}, {labels}, seed {seed}: {error}")
            self.running = None
            self.write()
            seen()
        return self.cells

    def write(self) -> None:
        """Tables and plot of what there is."""
        comparison.write(self.out, self.cells, self.references, self.metrics, notes=self.notes())

    def notes(self) -> list[str]:
        """What a reader of the tables must know of how they came about."""
        found = [
            f"Scored on split {self.test}. The epoch is chosen on validation images, of which no label was hidden.",
        ]
        if self.trials:
            seconds = sum(trial.seconds for trial in self.trials)
            alone = ", ".join(f"{name} {value}" for name, value in self.plan.search.items())
            found.append(
                f"Searched on validation alone, with seed {next(iter(self.plan.rows)).config.seed}: "
                f"{len(self.trials)} runs, {seconds:,.0f} s, at most {self.plan.budget} a method and label setting"
                + (f"; search runs have {alone}." if alone else ".")
            )
            for row in self.plan.rows:
                if len(tried := self.plan.trials(row)):
                    values = "; ".join(f"{name}: {', '.join(map(str, given))}" for name, given in row.grid.items())
                    found.append(f"Searched for {row.name} in {len(tried)} runs: {values}.")
        return found + [f"{row}, {labels} failed: {why}" for row, labels, why in self.failures()]

    def failures(self) -> list[tuple[str, str, str]]:
        """(row, labels, why) of what failed, whatever the seed."""
        return list(dict.fromkeys((row, labels, why) for (row, labels, _), why in self.failed.items()))

    def _search(self, row: Row, labels: str, seen: Callable[[], None]) -> Mapping[str, Any] | TrilabelError:
        """What is best on validation; empty where there is nothing to search."""
        trials = []
        for tried in self.plan.trials(row):
            trials.append(self._trial(row, labels, tried))
            self.trials.append(trials[-1])
            seen()
        scored = [trial for trial in trials if trial.validation is not None]
        if trials and not scored:
            return TrilabelError("every run of its search failed")
        return max(scored, key=lambda trial: trial.validation or 0.0).tried if scored else {}

    def _trial(self, row: Row, labels: str, tried: Mapping[str, Any]) -> Trial:
        config = changed(changed(row.config, self.plan.search, "search"), tried, row.name)
        folder = self._folder("search", row, labels, config)
        known = _result(folder)
        if known is None:
            begun = time.monotonic()
            try:
                validation = self._train(folder, labels, config).metrics.get(config.select)
            except TrilabelError as error:  # a learning rate may be too high for the method
                warn(f"{row.name}, {labels}, {dict(tried)}: {error}")
                validation = None
            known = {"validation": validation, "seconds": time.monotonic() - begun}
            self._finish(folder, known)
        return Trial(row.name, labels, tried, known["validation"], known["seconds"])

    def _cell(self, row: Row, labels: str, seed: int, chosen: Mapping[str, Any] | TrilabelError) -> Cell:
        if isinstance(chosen, TrilabelError):
            raise chosen
        config = replace(changed(row.config, chosen, row.name), seed=seed)
        folder = self._folder("cells", row, labels, config)
        known = _result(folder)
        if known is None:
            begun = time.monotonic()
            run = self._train(folder, labels, config)
            with muted(bars=True):
                scores = load(run, config.device).evaluate(self.data.for_run(config), self.test, pointing=self.pointing)
            learned = Labels.load(RunFolder(folder).labels)
            cell = Cell(
                row=row.name,
                labels=labels,
                seed=seed,
                known=int(learned.csr.nnz),
                known_share=learned.known_share,
                metrics={name: scores[name] for name in self.metrics},
                validation=run.metrics.get(config.select, math.nan),
                epoch=run.best["epoch"],
                epochs=sum(record["stage"] == run.best["stage"] for record in run.history),
                seconds=time.monotonic() - begun,
                chosen=chosen,
                command=self._command(folder, labels, config),
                recipe=row.recipe,
            )
            known = asdict(cell)
            self._finish(folder, known)
        return Cell(**{**known, "row": row.name})

    def _train(self, folder: Path, labels: str, config: Config) -> Run:
        dataset, began = self.data.for_run(config), (folder / "config.json").is_file()
        if labels != ALL:
            _, rows, _ = split_for_training(dataset, config)
            dataset = dataset.with_labels(simulate.apply_to_rows(dataset.labels, rows, labels, self.plan.hide_seed))
        self.folder = folder
        try:
            with muted(bars=True):
                return train(dataset, config, folder, resume=began, overwrite=not began, source=self._source(labels))
        finally:
            self.folder = None

    def _source(self, labels: str) -> dict[str, Any]:
        return self.source if labels == ALL else {**self.source, "hide": labels, "hide_seed": self.plan.hide_seed}

    def _command(self, folder: Path, labels: str, config: Config) -> str:
        """The exact commands of a cell."""
        trained = train_command(self._source(labels), config, str(folder))
        return f"{trained}\n{evaluate_command(str(folder), self.test, self.pointing)}"

    def _folder(self, kind: str, row: Row, labels: str, config: Config) -> Path:
        """One for each configuration, so that no result is taken for another's."""
        about = json.dumps([config.to_json(), labels, self.plan.hide_seed, self.test, self.metrics], sort_keys=True)
        name = "".join(letter if letter.isalnum() or letter in "-.=" else "_" for letter in f"{row.name}-{labels}")
        return self.out / kind / f"{name[:80]}-{config.seed}-{hashlib.sha256(about.encode()).hexdigest()[:8]}"

    def _take_folder(self) -> None:
        """Makes the folder, or makes sure that it compares the same data."""
        file, classes = self.out / _DATA, list(self.data.dataset.classes)
        about = {"source": self.source, "images": len(self.data.dataset), "classes": classes}
        if file.is_file():
            if json.loads(file.read_text(encoding="utf-8")) != json.loads(json.dumps(about)):
                raise TrilabelError(f"{self.out}: compares other data already ({file}); choose another --out")
        elif self.out.is_dir() and any(self.out.iterdir()):
            raise TrilabelError(f"{self.out}: this folder holds something else; choose another --out")
        write_text(file, json.dumps(about, ensure_ascii=False))

    def _finish(self, folder: Path, known: Mapping[str, Any]) -> None:
        """Writes the result, then lets go of what only training needed."""
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "result.json", json.dumps(known, ensure_ascii=False))
        for file in folder.glob("*.safetensors"):
            if not (self.keep and file == RunFolder(folder).best):
                file.unlink()


def references(plan: Plan, published: Sequence[str], metrics: Sequence[str]) -> list[Reference]:
    """The published figures of the plan's rows on these data sets: of the row's recipe, or of the very same method."""
    found: list[Reference] = []
    wanted = [figure for figure in figures() if figure.data in published and figure.metric in metrics and figure.recipe]
    for row in plan.rows:
        for figure in wanted:
            same = figure.recipe == row.recipe or _same_method(figure.recipe, row.config)
            if same and figure.labels in plan.labels_of(row):
                source = f"{figure.source}, {figure.data}"
                found.append(Reference(row.name, figure.labels, figure.metric, figure.value, source))
    return found


def _same_method(recipe: str, config: Config) -> bool:
    published = resolve(recipe)
    return all(getattr(published, part) == getattr(config, part) for part in PARTS)


def _check(dataset: Dataset, plan: Plan, test: str) -> None:
    """Refuses before anything slow what would fail in the end."""
    dataset.rows_of(test)
    names = [row.name for row in plan.rows]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TrilabelError(f"two rows are called {min(twice)!r}; give each a name of its own")
    for labels in {labels for _, labels, _ in plan.cells()} - {ALL}:
        simulate.apply(dataset.labels[:1], labels, plan.hide_seed)
    for row in plan.rows:
        for tried in plan.trials(row):
            changed(row.config, tried, row.name)
        if row.grid and row.config.val == "none":
            raise TrilabelError(f"{row.name}: a search needs validation images, and val is none")


def _result(folder: Path) -> dict[str, Any] | None:
    file = folder / "result.json"
    if not file.is_file():
        return None
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise TrilabelError(f"{file}: damaged; delete it, and the run is made again") from None
