"""The folder of a training run: configuration, versions, metrics, checkpoints, and the labels it learned from."""

import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.files import write_text
from trilabel.labels import Labels
from trilabel.models import Classifier, create_model
from trilabel.training import checkpoint
from trilabel.version import __version__

_BENEATH = ("torch", "torchvision", "timm", "lightning-fabric", "numpy", "scipy", "pillow")
_OURS = "config.json"


def _version_of(name: str) -> tuple[str, str]:
    try:
        return name, version(name)
    except PackageNotFoundError:
        return name, "not installed as a package"


@dataclass(frozen=True)
class RunFolder:
    """Where the files of a run are; knows their names and how to write them safely."""

    path: Path

    @property
    def last(self) -> Path:
        """Everything needed to go on."""
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
        """The model as it was before a warm-up."""
        return self.path / "start.safetensors"

    @property
    def weak_labels(self) -> Path:
        """A table of the labels that the method gave to unknown ones for good, as of the best epoch."""
        return self.path / "weak_labels.csv"

    @property
    def label_graph(self) -> Path:
        """A table of what the method learned of how labels go together, as of the best epoch."""
        return self.path / "label_graph.csv"

    @property
    def labels(self) -> Path:
        """The labels that it learned from."""
        return self.path / "labels.npz"

    def check(self, resume: bool, overwrite: bool) -> None:
        """Refuses a folder that holds something, unless told to resume or overwrite a run; changes nothing."""
        ours = any(file.is_file() for file in (self.path / _OURS, self.path / "versions.json", self.labels))
        if resume:
            if not (self.path / _OURS).is_file():
                raise TrilabelError(f"{self.path}: no run to resume here (no {_OURS}); start it without resume")
        elif self.path.is_file():
            raise TrilabelError(f"{self.path}: this is a file; a run needs a folder of its own")
        elif self._holds_something():
            if not overwrite:
                raise TrilabelError(f"{self.path}: this folder exists; choose another, or pass --resume or --overwrite")
            if not ours:
                raise TrilabelError(f"{self.path}: not a trilabel run, so it is not overwritten; choose another")

    def _holds_something(self) -> bool:
        """Whether anything is there but what a killed process may have left of a file."""
        return self.path.is_dir() and any(not file.name.startswith(".") for file in self.path.iterdir())

    def make_empty(self) -> None:
        """Makes the folder; a run that is there goes first out of the way and then away."""
        if self._holds_something():
            aside = self.path.with_name(f".{self.path.name}.{os.getpid()}.old")
            self.path.rename(aside)
            shutil.rmtree(aside)
        self.path.mkdir(parents=True, exist_ok=True)

    def describe(
        self, config: Config, classes: Sequence[str], image_size: int, labels: Labels, source: Mapping[str, Any]
    ) -> None:
        """Writes what the run is: config.json, versions.json, labels.npz."""
        versions = {"trilabel": __version__, "python": platform.python_version()} | dict(map(_version_of, _BENEATH))
        write_text(self.path / "versions.json", json.dumps(versions, indent=1))
        labels.save(self.labels)
        about = {"classes": list(classes), "image_size": image_size, "source": dict(source)}
        self._write_about(config, about)  # last: from here on the run can be resumed

    def change_config(self, config: Config) -> None:
        """Writes the settings with which a run goes on."""
        self._write_about(config, self.read())

    def _write_about(self, config: Config, about: Mapping[str, Any]) -> None:
        text = json.dumps({**about, "config": config.to_json()}, indent=1, ensure_ascii=False)
        write_text(self.path / _OURS, text)

    def write_history(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Writes metrics.jsonl, a line per epoch."""
        write_text(self.path / "metrics.jsonl", "".join(json.dumps(record) + "\n" for record in history))

    def read_history(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        file = self.path / "metrics.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []

    def run(self) -> "Run":
        """The run that was written here."""
        return Run(self.path, self.read()["config"], self.read_history(), checkpoint.load_state(self.best))

    def classifier(self) -> tuple[Classifier, dict[str, Any]]:
        """(the model of the best epoch, what `read` gives)."""
        about = self.read()
        tensors, _ = checkpoint.load(self.best, "model.")
        classifier = create_model(about["config"], len(about["classes"]), about["image_size"])
        try:
            classifier.load_state_dict(checkpoint.part("model", tensors))
        except RuntimeError as error:
            raise TrilabelError(
                f"{self.best}: does not fit the model in config.json ({str(error).splitlines()[-1].strip()})"
            ) from error
        return classifier, about

    def read(self) -> dict[str, Any]:
        """What `describe` wrote, with "config" as a Config."""
        file = self.path / _OURS
        if not file.is_file():
            raise TrilabelError(f"{self.path}: not a run folder (no {_OURS} in it)")
        try:
            about = json.loads(file.read_text(encoding="utf-8"))
            return {**about, "config": Config.from_json(about["config"])}
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise TrilabelError(f"{file}: damaged ({error})") from error


@dataclass(frozen=True, repr=False)
class Run:
    """A finished training run."""

    folder: Path
    config: Config
    history: list[dict[str, Any]]
    best: dict[str, Any]

    def __repr__(self) -> str:
        scores = f", {self.config.select} {self.metrics.get(self.config.select)}" if self.metrics else ""
        return f"Run({str(self.folder)!r}, {len(self.history)} epochs, best {self.best['epoch']}{scores})"

    @property
    def metrics(self) -> dict[str, Any]:
        """Validation metrics of the best epoch; empty where there was no validation."""
        return dict(self.best.get("val", {}))
