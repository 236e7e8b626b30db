"""The single runs of a comparison: where they are, how they are trained and scored, and the commands for them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from trilabel.compare.image_cache import DecodedImageCache
from trilabel.compare.reproduce import evaluate_command, train_command
from trilabel.compare.spec import ALL, MethodRow
from trilabel.compare.splits import TrainingSplits
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.inference.predictor import load
from trilabel.log import quiet
from trilabel.training.api import train
from trilabel.training.run_folder import Run, RunFolder

RUN_ERRORS = (TrilabelError, torch.OutOfMemoryError)  # they end one run, not the comparison
_METRICS = ("mAP", "CF1", "OF1")
_POINTING_METRICS = ("pointing_game", "pointing_game_by_class")


@dataclass(frozen=True)
class Scoring:
    """How finished cells are scored."""

    split: str = "test"
    pointing: bool = False  # also play the pointing game

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that tables show, the most important first."""
        return (*_METRICS, *_POINTING_METRICS) if self.pointing else _METRICS


class RunExecutor:
    """Trains and scores the runs of a comparison, one at a time."""

    def __init__(
        self, dataset: Dataset, out: Path, hide_seed: int | None, scoring: Scoring, source: Mapping[str, Any]
    ) -> None:
        """source: how the command line reads the data, for run folders and commands."""
        self.out, self.hide_seed, self.scoring, self.source = out, hide_seed, scoring, source
        self.dataset, self.splits = dataset, TrainingSplits(dataset)
        self.current: Path | None = None  # the folder of the run that is being trained
        self._images = DecodedImageCache(dataset)

    def folder(self, kind: Literal["search", "cells"], row: MethodRow, labels: str, config: Config) -> Path:
        """A folder for each configuration, so that results cannot be confused."""
        about = [config.to_json(), labels, self.hide_seed, self.scoring.split, self.scoring.metrics]
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:8]
        name = "".join(letter if letter.isalnum() or letter in "-.=" else "_" for letter in f"{row.name}-{labels}")
        return self.out / kind / f"{name[:80]}-{config.seed}-{digest}"

    def data_for(self, config: Config) -> Dataset:
        """The data set, with decoded images if that saves time."""
        return self._images.for_run(config)

    def train(self, folder: Path, labels: str, config: Config) -> Run:
        """Trains a run in a label setting, or resumes it."""
        started = (folder / "config.json").is_file()
        split = self.splits.of(config)._replace(dataset=self.data_for(config))
        split = split if labels == ALL else split.hide(labels, self.hide_seed)
        source = self._source(labels)
        self.current = folder
        try:
            with quiet(bars=True):
                return train(split, config, folder, resume=started, overwrite=not started, source=source)
        finally:
            self.current = None

    def score(self, run: Run, config: Config) -> dict[str, float | None]:
        """The test metrics of a run."""
        with quiet(bars=True):
            scores = load(run, config.device).evaluate(
                self.data_for(config),
                self.scoring.split,
                workers=config.workers,
                broken=config.broken,
                pointing=self.scoring.pointing,
            )
        return {name: scores[name] for name in self.scoring.metrics}

    def command(self, folder: Path, labels: str, config: Config) -> str:
        """The commands that reproduce a cell, in a folder other than the cell's own."""
        again = f"runs/{folder.name}"
        training = train_command(self._source(labels), config, again)
        return f"{training}\n{evaluate_command(again, self.scoring.split, self.scoring.pointing, config.broken)}"

    def _source(self, labels: str) -> dict[str, Any]:
        hidden = {} if labels == ALL else {"hide": labels, "hide_seed": self.hide_seed}
        return {**self.source, **hidden}


def seconds_of(folder: Path) -> float:
    """Time of training and validation, over all starts of a run."""
    history = RunFolder(folder).read_history()
    return float(sum(record.seconds + record.val_seconds for record in history))
