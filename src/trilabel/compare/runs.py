"""The single runs of a comparison: where they are, how they are trained and scored, and the commands for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from trilabel.compare.folders import run_folder
from trilabel.compare.image_cache import DecodedImageCache
from trilabel.compare.reproduce import evaluate_command, train_command
from trilabel.compare.spec import ALL, MethodRow, Spec
from trilabel.compare.splits import TrainingSplits
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.inference.loading import load
from trilabel.log import quiet
from trilabel.methods import METHODS
from trilabel.metrics import CLASSES_WORTH_GROUPS, GROUP_METRICS
from trilabel.models import HEADS
from trilabel.plugin_files import trust_options
from trilabel.training.api import train
from trilabel.training.run_folder import Run, RunFolder
from trilabel.training.teaching import targets_seconds

_METRICS = ("mAP", "CF1", "OF1")
_POINTING_METRICS = ("pointing_game", "pointing_game_by_class")


@dataclass(frozen=True)
class Scoring:
    """How finished cells are scored."""

    split: str = "test"
    pointing: bool = False  # also play the pointing game

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that every cell has, the most important first. A cell's folder is named by them, too."""
        return (*_METRICS, *_POINTING_METRICS) if self.pointing else _METRICS

    def shown(self, classes: int) -> tuple[str, ...]:
        """The metrics that tables show: also mAP by groups of classes, where there are enough classes for it.

        It is no part of a cell's name, so that cells of before it was recorded are found.
        """
        return (*self.metrics, *GROUP_METRICS) if classes >= CLASSES_WORTH_GROUPS else self.metrics


class RunExecutor:
    """Trains and scores the runs of a comparison, one at a time."""

    def __init__(self, dataset: Dataset, spec: Spec, out: Path, scoring: Scoring, source: Mapping[str, Any]) -> None:
        """source: how the command line reads the data, for run folders and commands."""
        self.out, self.spec, self.scoring, self.source = out, spec, scoring, source
        self.dataset, self.splits = dataset, TrainingSplits(dataset)
        self.current: Path | None = None  # the folder of the run that is being trained

    @cached_property
    def images(self) -> DecodedImageCache:
        """The images of the splits that the comparison uses."""
        splits = [self.splits.of(row.config) for row in self.spec.rows]
        used = [self.dataset.rows_of(self.scoring.split), *(rows for split in splits for rows in split[1:])]
        return DecodedImageCache(self.dataset, used)

    def folder(self, kind: Literal["search", "cells"], row: MethodRow, labels: str, config: Config) -> Path:
        """The folder of a run."""
        name = "".join(letter if letter.isalnum() or letter in "-.=" else "_" for letter in f"{row.name}-{labels}")
        scored = [labels, self.spec.hide_seed_of(config.seed), self.scoring.split, self.scoring.metrics]
        origins = (METHODS.origin(config.method), HEADS.origin(config.head))  # what they compute may change
        scored += [origin.sha256 or origin.version for origin in origins if origin is not None]
        return run_folder(self.out / kind, f"{name[:80]}-{config.seed}", config, scored)

    def train(self, folder: Path, labels: str, config: Config) -> Run:
        """Trains a run in a label setting, or resumes it."""
        started = (folder / "config.json").is_file()
        split = self.splits.of(config)
        split = split if labels == ALL else split.hide(labels, self.spec.hide_seed_of(config.seed))
        split = self.images.for_training(split, config)
        source = self._source(labels, config)
        self.current = folder
        try:
            with quiet(bars=True):
                return train(split, config, folder, resume=started, overwrite=not started, source=source)
        finally:
            self.current = None

    def score(self, run: Run, config: Config) -> dict[str, float | None]:
        """The test metrics of a run; by groups of classes where there are enough classes, None if it is undefined."""
        with quiet(bars=True):
            scores = load(run, config.device).evaluate(
                self.images.for_scoring(config),
                self.scoring.split,
                workers=config.workers,
                broken=config.broken,
                pointing=self.scoring.pointing,
                threshold=0.5,  # as the papers have it
                calibrated=False,
            )
        shown = self.scoring.shown(len(self.dataset.classes))
        groups = [name for name in GROUP_METRICS if name in shown or scores.get(name) is not None]
        return {name: scores.get(name) for name in (*self.scoring.metrics, *groups)}

    def command(self, folder: Path, labels: str, config: Config) -> str:
        """The commands that reproduce a cell, in a folder other than the cell's own."""
        again = f"runs/{folder.name}"
        training = train_command(self._source(labels, config), config, again)
        trust = trust_options(config.head, self.source.get("format") or "")
        scoring = evaluate_command(again, self.scoring.split, self.scoring.pointing, config.broken, trust)
        return f"{training}\n{scoring}"

    def _source(self, labels: str, config: Config) -> dict[str, Any]:
        hidden = {} if labels == ALL else {"hide": labels, "hide_seed": self.spec.hide_seed_of(config.seed)}
        return {**self.source, **hidden}


def seconds_of(folder: Path) -> float:
    """Time of training and validation, over all starts and rounds of a run, and of scoring between rounds."""
    histories = [RunFolder(file.parent).read_history() for file in folder.rglob(RunFolder(folder).metrics.name)]
    trained = sum(record.seconds + record.val_seconds for history in histories for record in history)
    return float(trained + targets_seconds(RunFolder(folder)))
