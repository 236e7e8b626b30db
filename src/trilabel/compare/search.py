"""The search before a comparison: values are chosen on validation only, never on the test split."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trilabel.compare.results import Trial
from trilabel.compare.runs import RunExecutor, explain, seconds_of
from trilabel.compare.spec import MethodRow, Spec
from trilabel.compare.store import finish, read_result
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.locks import try_lock
from trilabel.log import log


class Search:
    """The search runs of a comparison and what they choose."""

    def __init__(self, spec: Spec, executor: RunExecutor, keep: bool) -> None:
        self.spec, self.executor, self.keep = spec, executor, keep
        self.trials: list[Trial] = []

    def run(self, row: MethodRow, labels: str, tried: Mapping[str, Any]) -> bool:
        """Makes one search run, or reads its result; False if another process is working on it."""
        config, folder = self._place(row, labels, tried)
        with try_lock(folder) as locked:
            if locked:
                self.trials.append(self._trial(folder, row, labels, tried, config))
        return locked

    def choose(self, row: MethodRow, labels: str) -> Mapping[str, Any]:
        """The values with the best validation score, the first of equal ones; without a search, the only ones."""
        order = self.spec.trials(row)
        where = self.spec.search_labels or labels
        trials = [trial for trial in self.trials if (trial.row, trial.labels) == (row.name, where)]
        trials.sort(key=lambda trial: order.index(trial.tried))  # another process may have finished first
        trials = [self._updated(row, trial) for trial in trials]
        scored = [trial for trial in trials if trial.validation is not None]
        if trials and not scored:
            raise TrilabelError(f"every run of the search failed; the first error: {trials[0].error}")
        if scored:
            return max(scored, key=lambda trial: trial.validation or 0.0).tried
        return {name: only for name, (only,) in (row.grid or {}).items()}

    def _place(self, row: MethodRow, labels: str, tried: Mapping[str, Any]) -> tuple[Config, Path]:
        config = self.spec.search_config(row, tried)
        return config, self.executor.folder("search", row, labels, config)

    def _updated(self, row: MethodRow, trial: Trial) -> Trial:
        """A trial that failed here may have succeeded in another process; all processes must choose the same."""
        if trial.validation is not None:
            return trial
        result = read_result(self._place(row, trial.labels, trial.tried)[1])
        return trial if result is None else replace(trial, validation=result["validation"], seconds=result["seconds"])

    def _trial(self, folder: Path, row: MethodRow, labels: str, tried: Mapping[str, Any], config: Config) -> Trial:
        result = read_result(folder)
        if result is None:
            start = time.monotonic()
            try:
                validation = self.executor.train(folder, labels, config).metrics.get(config.select)
            except Exception as error:  # a learning rate may be too high for the method
                log.warning(f"{row.name}, {labels}, {dict(tried)}: {explain(error)}")
                # No result is written: the cause may be gone at the next start.
                return Trial(row.name, labels, tried, None, time.monotonic() - start, explain(error))
            result = {"validation": validation, "seconds": seconds_of(folder)}
            finish(folder, result, self.keep)
        return Trial(row.name, labels, tried, result["validation"], result["seconds"])
