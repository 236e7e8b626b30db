"""The folder of a training run: configuration, versions, metrics, checkpoints, and the labels it learned from."""

import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.files import write_text
from trilabel.labels import Labels
from trilabel.models import Classifier, create_model
from trilabel.training import checkpoint
from trilabel.training.record import EpochRecord
from trilabel.version import __version__

_BENEATH = ("torch", "torchvision", "timm", "lightning-fabric", "numpy", "scipy", "pillow")
_OURS = "config.json"


def _version_of(name: str) -> tuple[str, str]:
    try:
        return name, version(name)
    except PackageNotFoundError:
        return name, "not installed as a package"


@dataclass(frozen=True)
class RunDescription:
    """The description of a run, as in config.json."""

    config: Config
    classes: list[str]
    image_size: int
    source: Mapping[str, Any]  # how to read the data set again; empty if it was not given


@dataclass(frozen=True)
class RunFolder:
    """The files of a run: their names, and how to write them safely."""

    path: Path

    @property
    def last(self) -> Path:
        """Everything needed to resume."""
        return self.path / "last.safetensors"

    @property
    def best(self) -> Path:
        """The model of the best epoch."""
        return self.path / "best.safetensors"

    def best_of(self, stage: str) -> Path:
        """The model of the best epoch of a stage that is not the last."""
        return self.path / f"best-{stage}.safetensors"

    @property
    def start(self) -> Path:
        """The model as it was before the warm-up."""
        return self.path / "start.safetensors"

    @property
    def weak_labels(self) -> Path:
        """A table of the labels that the method permanently assigned to unknown ones, as of the best epoch."""
        return self.path / "weak_labels.csv"

    @property
    def label_graph(self) -> Path:
        """A table of the relations between labels that the method learned, as of the best epoch."""
        return self.path / "label_graph.csv"

    @property
    def labels(self) -> Path:
        """The labels that the run learned from."""
        return self.path / "labels.npz"

    def annotations(self) -> NDArray[np.int64] | None:
        """Known training labels of each class, of either sign; None where the labels were removed from the folder."""
        if not self.labels.is_file():
            return None
        present, absent = Labels.load(self.labels).counts_per_class()
        return present + absent

    def check(self, resume: bool, overwrite: bool) -> None:
        """Raises an error if the folder is not empty, unless a run is resumed or overwritten; changes nothing."""
        ours = any(file.is_file() for file in (self.path / _OURS, self.path / "versions.json", self.labels))
        if resume:
            if not (self.path / _OURS).is_file():
                raise TrilabelError(f"{self.path}: no run to resume here (no {_OURS}); start it without resume")
        elif self.path.is_file():
            raise TrilabelError(f"{self.path}: this is a file; a run needs its own folder")
        elif self._holds_something():
            if not overwrite:
                raise TrilabelError(f"{self.path}: this folder exists; choose another, or pass --resume or --overwrite")
            if not ours:
                raise TrilabelError(f"{self.path}: not a trilabel run, so it is not overwritten; choose another")

    def _holds_something(self) -> bool:
        """Whether the folder contains anything other than temporary files of a killed process."""
        return self.path.is_dir() and any(not file.name.startswith(".") for file in self.path.iterdir())

    def make_empty(self) -> None:
        """Creates the folder; an existing run is renamed first and then removed."""
        if self._holds_something():
            aside = self.path.with_name(f".{self.path.name}.{os.getpid()}.old")
            self.path.rename(aside)
            shutil.rmtree(aside)
        self.path.mkdir(parents=True, exist_ok=True)

    def describe(self, description: RunDescription, labels: Labels) -> None:
        """Writes the description of the run: config.json, versions.json, labels.npz."""
        versions = {"trilabel": __version__, "python": platform.python_version()} | dict(map(_version_of, _BENEATH))
        write_text(self.path / "versions.json", json.dumps(versions, indent=1))
        labels.save(self.labels)
        self._write_description(description)  # last: from here on the run can be resumed

    def change_config(self, config: Config) -> None:
        """Writes the settings with which a run resumes."""
        self._write_description(replace(self.read(), config=config))

    def _write_description(self, description: RunDescription) -> None:
        values = {
            "classes": description.classes,
            "image_size": description.image_size,
            "source": dict(description.source),
            "config": description.config.to_json(),
        }
        write_text(self.path / _OURS, json.dumps(values, indent=1, ensure_ascii=False))

    def read(self) -> RunDescription:
        """The description that `describe` wrote."""
        file = self.path / _OURS
        if not file.is_file():
            raise TrilabelError(f"{self.path}: not a run folder (no {_OURS} in it)")
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
            config = Config.from_json(values["config"])
            return RunDescription(config, list(values["classes"]), values["image_size"], values.get("source", {}))
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise TrilabelError(f"{file}: damaged ({error})") from error

    def write_history(self, history: Sequence[EpochRecord]) -> None:
        """Writes metrics.jsonl, a line per epoch."""
        lines = (json.dumps(record.to_json()) + "\n" for record in history)
        write_text(self.path / "metrics.jsonl", "".join(lines))

    def read_history(self) -> list[EpochRecord]:
        """The lines of metrics.jsonl."""
        file = self.path / "metrics.jsonl"
        lines = file.read_text().splitlines() if file.is_file() else []
        try:
            return [EpochRecord.from_json(json.loads(line)) for line in lines]
        except (ValueError, TypeError) as error:
            raise TrilabelError(f"{file}: damaged, or written by another version of trilabel ({error})") from error

    def best_record(self) -> EpochRecord:
        """The record of the best epoch."""
        return EpochRecord.from_json(checkpoint.load_state(self.best))

    def run(self) -> "Run":
        """The run that was written here."""
        return Run(self.path, self.read().config, self.read_history(), self.best_record())

    def classifier(self) -> tuple[Classifier, RunDescription]:
        """(the model of the best epoch, the description of the run)."""
        description = self.read()
        tensors, _ = checkpoint.load(self.best, "model.")
        classifier = create_model(description.config, len(description.classes), description.image_size)
        try:
            classifier.load_state_dict(checkpoint.part("model", tensors))
        except RuntimeError as error:
            raise TrilabelError(
                f"{self.best}: does not fit the model in config.json ({str(error).splitlines()[-1].strip()})"
            ) from error
        return classifier, description


@dataclass(frozen=True, repr=False)
class Run:
    """A finished training run."""

    folder: Path
    config: Config
    history: list[EpochRecord]
    best: EpochRecord

    def __repr__(self) -> str:
        scores = f", {self.config.select} {self.metrics.get(self.config.select)}" if self.metrics else ""
        return f"Run({str(self.folder)!r}, {len(self.history)} epochs, best {self.best.epoch}{scores})"

    @property
    def metrics(self) -> dict[str, Any]:
        """Validation metrics of the best epoch; empty if there was no validation."""
        return dict(self.best.val)
