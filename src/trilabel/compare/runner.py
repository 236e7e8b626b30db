"""Carrying a plan out, cell by cell.

A cell is a run folder with a result.json in it once it is finished: a comparison that was stopped goes on where it was,
inside a cell too. Several processes may work on one comparison (one for each GPU, say): each takes the runs that no
other is at. What is searched is chosen by validation alone; search runs never see the test split.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from trilabel.compare.checks import check
from trilabel.compare.image_cache import DecodedImageCache
from trilabel.compare.references import references
from trilabel.compare.reproduce import evaluate_command, train_command
from trilabel.compare.spec import ALL, Plan, Row, changed
from trilabel.compare.store import finish, open_comparison, result_of, taken
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.inference.predictor import load
from trilabel.labels import Labels, simulate
from trilabel.log import log, quiet
from trilabel.report import comparison
from trilabel.report.comparison import Cell, Place
from trilabel.training.api import train
from trilabel.training.run_folder import Run, RunFolder
from trilabel.training.splits import split_for_training

METRICS = ("mAP", "CF1", "OF1")
_POINTING = ("pointing_game", "pointing_game_by_class")
_SECONDS_TO_WAIT = 1.0
_FAILURES = (TrilabelError, torch.OutOfMemoryError)  # of one run


@dataclass(frozen=True)
class Trial:
    """A finished search run."""

    row: str
    labels: str
    tried: Mapping[str, Any]
    validation: float | None  # None where it failed
    seconds: float
    why: str = ""  # it failed


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
        self.data = DecodedImageCache(dataset)
        self.references = references(plan, published, self.metrics)
        self.trials: list[Trial] = []
        self._cells: dict[Place, Cell] = {}
        self._waiting: list[Callable[[], bool]] = []
        self.failed: dict[Place, str] = {}
        self.running: Place | None = None
        self.folder: Path | None = None  # of the run under way
        check(dataset, plan, test, pointing)

    @property
    def cells(self) -> list[Cell]:
        """What is finished, in the order of the plan."""
        places = [(row.name, labels, seed) for row, labels, seed in self.plan.cells()]
        return [self._cells[place] for place in places if place in self._cells]

    def run(self, seen: Callable[[], None] = lambda: None) -> list[Cell]:
        """Makes every run that is not finished yet, the search first; `seen` is called after each."""
        open_comparison(self.out, self.data.dataset, self.source)
        for row in self.plan.rows:
            for labels in self.plan.searched_in(row):
                for tried in self.plan.trials(row):
                    self._waiting.append(partial(self._try_one, row, labels, tried, seen))
        self._work_off()
        for row, labels, seed in self.plan.cells():
            self._waiting.append(partial(self._fill, row, labels, seed, seen))
        self._work_off()
        self.write(draw=True)
        return self.cells

    def _work_off(self) -> None:
        """Does what no other process is at, then waits for the others (or does what they had to give up)."""
        while self._waiting:
            self._waiting = [work for work in self._waiting if not work()]
            if self._waiting:
                time.sleep(_SECONDS_TO_WAIT)

    def _try_one(self, row: Row, labels: str, tried: Mapping[str, Any], seen: Callable[[], None]) -> bool:
        """A run of the search; False where another process is at it."""
        self.running = row.name, labels, row.config.seed
        config = changed(changed(row.config, self.plan.search, "search"), tried, row.name)
        folder = self._folder("search", row, labels, config)
        with taken(folder) as mine:
            if mine:
                self.trials.append(self._trial(folder, row, labels, tried, config))
                seen()
        self.running = None
        return mine

    def _fill(self, row: Row, labels: str, seed: int, seen: Callable[[], None]) -> bool:
        """A cell; False where another process is at it."""
        place = self.running = row.name, labels, seed
        done = True
        try:
            chosen = self._chosen(row, labels)
            config = replace(changed(row.config, chosen, row.name), seed=seed)
            folder = self._folder("cells", row, labels, config)
            with taken(folder) as done:
                if done:
                    self._cells[place] = self._cell(folder, row, labels, config, chosen)
        except _FAILURES as error:  # a method that cannot work with such labels is no reason to lose the rest
            self.failed[place] = str(error)
            log.warning(f"{row.name}, {labels}, seed {seed}: {error}")
        self.running = None
        if done:
            self.write()
            seen()
        return done

    def write(self, draw: bool = False) -> None:
        """Tables of what there is; `draw`: the plot too."""
        title = f"Methods compared on {Path(self.source['data']).name}"
        comparison.write(self.out, self.cells, self.references, self.metrics, title, self.notes(), draw)

    def notes(self) -> list[str]:
        """What a reader of the tables must know of how they came about."""
        dataset = self.data.dataset
        known = dataset.labels[dataset.rows_of(self.test)].known_share
        found = [f"Scored on split {self.test}" + (f", {known:.1%} of whose labels are known." if known < 1 else ".")]
        last = [row.name for row in self.plan.rows if row.config.val == "none"]
        if len(last) < len(self.plan.rows):
            found.append("The epoch is chosen on validation images, of which no label was hidden.")
        if last:
            found.append(f"The last epoch is kept, for want of validation images: {'; '.join(last)}.")
        if self.trials:
            seconds = sum(trial.seconds for trial in self.trials)
            alone = ", ".join(f"{name} {value}" for name, value in self.plan.search.items())
            found.append(
                f"Searched on validation alone, with seed {next(iter(self.plan.rows)).config.seed}: "
                f"{len(self.trials)} runs, {seconds:,.0f} s, at most {self.plan.budget} a method and label setting"
                + (f"; search runs have {alone}." if alone else ".")
            )
            searched: dict[str, list[str]] = {}
            for row in self.plan.rows:
                if len(tried := self.plan.trials(row)):
                    grid = (row.grid or {}).items()
                    values = "; ".join(f"{name}: {', '.join(map(str, given))}" for name, given in grid)
                    searched.setdefault(f"{len(tried)} runs each of {values}", []).append(row.name)
            found += [f"Searched in {what}, for: {'; '.join(names)}." for what, names in searched.items()]
        return found + [f"{row}, {labels} failed: {why}" for row, labels, why in self.failures()]

    def failures(self) -> list[tuple[str, str, str]]:
        """(row, labels, why) of what failed, whatever the seed."""
        return list(dict.fromkeys((row, labels, why) for (row, labels, _), why in self.failed.items()))

    def _chosen(self, row: Row, labels: str) -> Mapping[str, Any]:
        """What is best on validation, of equals what the plan has first; without a search what the grid says."""
        order = self.plan.trials(row)
        where = self.plan.search_labels or labels
        trials = [trial for trial in self.trials if (trial.row, trial.labels) == (row.name, where)]
        trials.sort(key=lambda trial: order.index(trial.tried))  # other processes may have been first
        trials = [self._as_written(row, where, trial) for trial in trials]
        scored = [trial for trial in trials if trial.validation is not None]
        if trials and not scored:
            raise TrilabelError(f"every run of its search failed; the first: {trials[0].why}")
        if scored:
            return max(scored, key=lambda trial: trial.validation or 0.0).tried
        return {name: only for name, (only,) in (row.grid or {}).items()}

    def _as_written(self, row: Row, labels: str, trial: Trial) -> Trial:
        """What failed here may have been done by another process since; all must choose from the same."""
        known = None
        if trial.validation is None:
            config = changed(changed(row.config, self.plan.search, "search"), trial.tried, row.name)
            known = result_of(self._folder("search", row, labels, config))
        return trial if known is None else replace(trial, validation=known["validation"], seconds=known["seconds"])

    def _trial(self, folder: Path, row: Row, labels: str, tried: Mapping[str, Any], config: Config) -> Trial:
        known = result_of(folder)
        if known is None:
            begun = time.monotonic()
            try:
                validation = self._train(folder, labels, config).metrics.get(config.select)
            except _FAILURES as error:  # a learning rate may be too high for the method
                log.warning(f"{row.name}, {labels}, {dict(tried)}: {error}")
                # Not written down: what was wrong may be put right before the next start.
                return Trial(row.name, labels, tried, None, time.monotonic() - begun, str(error))
            known = {"validation": validation, "seconds": _seconds(folder)}
            finish(folder, known, self.keep)
        return Trial(row.name, labels, tried, known["validation"], known["seconds"])

    def _cell(self, folder: Path, row: Row, labels: str, config: Config, chosen: Mapping[str, Any]) -> Cell:
        known = result_of(folder)
        if known is None:
            run = self._train(folder, labels, config)
            with quiet(bars=True):
                scores = load(run, config.device).evaluate(
                    self.data.for_run(config),
                    self.test,
                    workers=config.workers,
                    broken=config.broken,
                    pointing=self.pointing,
                )
            learned = Labels.load(RunFolder(folder).labels)
            cell = Cell(
                row=row.name,
                labels=labels,
                seed=config.seed,
                known=int(learned.csr.nnz),
                known_share=learned.known_share,
                metrics={name: scores[name] for name in self.metrics},
                validation=run.metrics.get(config.select, math.nan),
                epoch=run.best["epoch"],
                epochs=sum(record["stage"] == run.best["stage"] for record in run.history),
                seconds=_seconds(folder),
                chosen=chosen,
                command=self._command(folder, labels, config),
                recipe=row.recipe,
            )
            known = asdict(cell)
            finish(folder, known, self.keep)
        elif self.keep and not RunFolder(folder).best.is_file():
            log.warning(f"{row.name}, {labels}, seed {config.seed}: finished before, without --keep; its model is gone")
        return Cell(**{**known, "row": row.name, "recipe": row.recipe, "chosen": chosen})

    def _train(self, folder: Path, labels: str, config: Config) -> Run:
        dataset, began = self.data.for_run(config), (folder / "config.json").is_file()
        if labels != ALL:
            _, rows, _ = split_for_training(dataset, config)
            dataset = dataset.with_labels(simulate.apply_to_rows(dataset.labels, rows, labels, self.plan.hide_seed))
        self.folder = folder
        try:
            with quiet(bars=True):
                return train(dataset, config, folder, resume=began, overwrite=not began, source=self._source(labels))
        finally:
            self.folder = None

    def _source(self, labels: str) -> dict[str, Any]:
        return self.source if labels == ALL else {**self.source, "hide": labels, "hide_seed": self.plan.hide_seed}

    def _command(self, folder: Path, labels: str, config: Config) -> str:
        """The exact commands of a cell, in a folder of its own: the cell's is taken."""
        again = f"runs/{folder.name}"
        trained = train_command(self._source(labels), config, again)
        return f"{trained}\n{evaluate_command(again, self.test, self.pointing, config.broken)}"

    def _folder(self, kind: str, row: Row, labels: str, config: Config) -> Path:
        """One for each configuration, so that no result is taken for another's."""
        about = json.dumps([config.to_json(), labels, self.plan.hide_seed, self.test, self.metrics], sort_keys=True)
        name = "".join(letter if letter.isalnum() or letter in "-.=" else "_" for letter in f"{row.name}-{labels}")
        return self.out / kind / f"{name[:80]}-{config.seed}-{hashlib.sha256(about.encode()).hexdigest()[:8]}"


def _seconds(folder: Path) -> float:
    """Of training and validation, however often the run was stopped on the way."""
    history = RunFolder(folder).read_history()
    return float(sum(record["seconds"] + record.get("val_seconds", 0.0) for record in history))
