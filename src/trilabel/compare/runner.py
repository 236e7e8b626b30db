"""Carrying out a comparison, cell by cell.

A cell is a run folder with a result.json in it once it is finished: a stopped comparison resumes where it was, even
inside a cell. Several processes may work on one comparison (for example one per GPU): each makes the runs that no other
is working on.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from trilabel.compare.changes import with_changes
from trilabel.compare.checks import check
from trilabel.compare.references import references
from trilabel.compare.results import CellKey, CellResult, ComparisonResults, Trial
from trilabel.compare.runs import RunExecutor, Scoring, seconds_of
from trilabel.compare.search import Search
from trilabel.compare.spec import MethodRow, Spec
from trilabel.compare.store import finish, open_comparison, read_result
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError, explain
from trilabel.labels import Labels
from trilabel.locks import try_lock
from trilabel.log import log
from trilabel.metrics import GROUP_METRICS
from trilabel.training.run_folder import Run, RunFolder
from trilabel.training.starting_weights import with_backbone

POLL_SECONDS = 1.0  # between checks of the runs of other processes

Attempt = Callable[[], bool]  # False: another process is working on it, try again later


class Comparison:
    """A comparison in progress: what is finished, and what is running."""

    executor_class = RunExecutor

    def __init__(
        self,
        dataset: Dataset,
        spec: Spec,
        out: str | Path,
        *,
        test: str = "test",
        published: Sequence[str] = (),
        pointing: bool = False,
        keep: bool = False,
        source: Mapping[str, Any] | None = None,
    ) -> None:
        """test: the split that finished cells are scored on. published: data sets whose published figures to show.

        pointing: also play the pointing game. keep: keep the models, not only the numbers. source: how the command line
        reads the data, for the commands that reproduce each cell.
        """
        spec = _with_backbones(spec)
        self.dataset, self.spec, self.out, self.keep = dataset, spec, Path(out), keep
        self.scoring, self.source = Scoring(test, pointing), dict(source or {"data": "DATA"})
        self.executor = self.executor_class(dataset, spec, self.out, self.scoring, self.source)
        self.search = Search(spec, self.executor, keep)
        check(dataset, spec, self.scoring, self.executor.splits)
        self.references = references(spec, published, self.metrics)
        self.failed: dict[CellKey, str] = {}
        self.running: CellKey | None = None
        self._finished: dict[CellKey, CellResult] = {}

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that tables show, the most important first."""
        return self.scoring.shown(len(self.dataset.classes))

    @property
    def cells(self) -> list[CellResult]:
        """The finished cells, in the order of the spec."""
        return [self._finished[key] for key in self.spec.cell_keys() if key in self._finished]

    @property
    def trials(self) -> list[Trial]:
        """The search runs that ended."""
        return self.search.trials

    @property
    def folder(self) -> Path | None:
        """The folder of the run that is being trained."""
        return self.executor.current

    @property
    def results(self) -> ComparisonResults:
        """The results that tables show."""
        return ComparisonResults(self.cells, self.references, self.metrics)

    def failures(self) -> list[tuple[str, str, str]]:
        """(row, labels, error) of the cells that failed, seeds taken together."""
        return list(dict.fromkeys((key.row, key.labels, error) for key, error in self.failed.items()))

    def run(self, on_progress: Callable[[], None] = lambda: None) -> list[CellResult]:
        """Makes every run that is not finished yet, the search first; calls `on_progress` after each.

        It writes the results of single runs; `report.comparison.run_and_report` also writes the tables.
        """
        open_comparison(self.out, self.dataset, self.source)
        _complete(
            [
                partial(self._search, row, labels, tried, on_progress)
                for row in self.spec.rows
                for labels in self.spec.search_labels_of(row)
                for tried in self.spec.trials(row)
            ]
        )
        _complete([partial(self._fill, row, labels, seed, on_progress) for row, labels, seed in self.spec.cells()])
        return self.cells

    def _search(self, row: MethodRow, labels: str, tried: Mapping[str, Any], on_progress: Callable[[], None]) -> bool:
        self.running = CellKey(row.name, labels, row.config.seed)
        if done := self.search.run(row, labels, tried):
            on_progress()
        self.running = None
        return done

    def _fill(self, row: MethodRow, labels: str, seed: int, on_progress: Callable[[], None]) -> bool:
        key = self.running = CellKey(row.name, labels, seed)
        done = True
        try:
            chosen = self.search.choose(row, labels)
            config = replace(with_changes(row.config, chosen, row.name), seed=seed)
            folder = self.executor.folder("cells", row, labels, config)
            with try_lock(folder) as done:
                if done:
                    self._finished[key] = self._cell(folder, row, labels, config, chosen)
        except Exception as error:  # the other methods may work with these labels
            self.failed[key] = explain(error)
            log.warning(f"{row.name}, {labels}, seed {seed}: {self.failed[key]}")
            log.debug("", exc_info=error)
        self.running = None
        if done:
            on_progress()
        return done

    def _cell(self, folder: Path, row: MethodRow, labels: str, config: Config, chosen: Mapping[str, Any]) -> CellResult:
        result = read_result(folder)
        if result is None:
            result = asdict(self._train_and_score(folder, row, labels, config, chosen))
            finish(folder, result, self.keep)
        elif set(GROUP_METRICS) <= set(self.metrics) and not set(GROUP_METRICS) & set(result["metrics"]):
            result = self._with_groups(folder, result, config)
        elif self.keep and not RunFolder(folder).best.is_file():
            log.warning(
                f"{row.name}, {labels}, seed {config.seed}: its model was deleted, because it ran without --keep"
            )
        return CellResult(**{**result, "row": row.name, "recipe": row.recipe, "chosen": chosen})

    def _with_groups(self, folder: Path, result: dict[str, Any], config: Config) -> dict[str, Any]:
        """Adds mAP by groups of classes to the result of an earlier version, where its model was kept."""
        files = RunFolder(folder)
        if not files.best.is_file():
            log.warning(
                f"{folder}: finished before mAP by groups of classes was recorded, and its model was not kept; delete "
                "the folder to make the run again, or go without"
            )
            return result
        try:
            run = Run(folder, config, files.read_history(), files.best_record())
            scored = {**result, "metrics": {**self.executor.score(run, config), **result["metrics"]}}
            finish(folder, scored, keep=True)
        except Exception as error:  # a damaged model, for example: the numbers of before are right all the same
            log.warning(f"{folder}: cannot be scored by groups of classes, its other numbers stay: {explain(error)}")
            log.debug("", exc_info=error)
            return result
        return scored

    def _train_and_score(
        self, folder: Path, row: MethodRow, labels: str, config: Config, chosen: Mapping[str, Any]
    ) -> CellResult:
        run = self.executor.train(folder, labels, config)
        metrics = self.executor.score(run, config)
        train_labels = Labels.load(RunFolder(folder).labels)
        return CellResult(
            row=row.name,
            labels=labels,
            seed=config.seed,
            known=int(train_labels.csr.nnz),
            known_share=train_labels.known_share,
            metrics=metrics,
            validation=run.metrics.get(config.select, math.nan),
            epoch=run.best.epoch,
            epochs=sum(record.stage == run.best.stage for record in run.history),
            seconds=seconds_of(folder),
            chosen=chosen,
            command=self.executor.command(folder, labels, config),
            recipe=row.recipe,
        )


def _complete(attempts: Sequence[Attempt]) -> None:
    """Makes the runs that no other process is working on, then waits for the others or takes over what they left."""
    while attempts:
        attempts = [attempt for attempt in attempts if not attempt()]
        if attempts:
            time.sleep(POLL_SECONDS)


def _with_backbones(spec: Spec) -> Spec:
    """Rows whose backbone is that of their weights get its name, before cells are named after it."""
    found: dict[tuple[str, str | None], str] = {}  # each is told once
    for config in (row.config for row in spec.rows):
        if (key := (config.backbone, config.weights)) not in found:
            try:
                found[key] = with_backbone(config).backbone
            except TrilabelError:
                if config.backbone == "auto":
                    raise
                found[key] = config.backbone  # its runs will say so
    configs = (replace(row.config, backbone=found[row.config.backbone, row.config.weights]) for row in spec.rows)
    return replace(spec, rows=tuple(replace(row, config=c) for row, c in zip(spec.rows, configs, strict=True)))
