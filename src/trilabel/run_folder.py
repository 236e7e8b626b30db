"""The folder of a training run: configuration, versions, metrics, checkpoints, and the labels it learned from."""

import json
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from trilabel import __version__, checkpoint
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.files import write_text
from trilabel.labels import Labels

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
    def labels(self) -> Path:
        """The labels that it learned from."""
        return self.path / "labels.npz"

    def prepare(self, resume: bool, overwrite: bool) -> None:
        """Makes the folder; refuses to touch one that holds something unless told to resume or overwrite."""
        if resume:
            if not self.last.is_file():
                raise TrilabelError(
                    f"{self.path}: nothing to resume here (no {self.last.name}); start the run without resume"
                )
            return
        if self.path.exists() and any(self.path.iterdir()):
            if not overwrite:
                raise TrilabelError(f"{self.path}: this folder exists; choose another, or say --resume or --overwrite")
            if not (self.path / _OURS).is_file():
                raise TrilabelError(
                    f"{self.path}: this folder is not a trilabel run, so it is not overwritten; choose another"
                )
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True, exist_ok=True)

    def describe(
        self, config: Config, classes: Sequence[str], image_size: int, labels: Labels, source: Mapping[str, Any]
    ) -> None:
        """Writes what the run is: config.json, versions.json, labels.npz."""
        about = {
            "config": config.to_json(),
            "classes": list(classes),
            "image_size": image_size,
            "source": dict(source),
        }
        write_text(self.path / _OURS, json.dumps(about, indent=1, ensure_ascii=False))
        versions = {"trilabel": __version__, "python": platform.python_version()} | dict(map(_version_of, _BENEATH))
        write_text(self.path / "versions.json", json.dumps(versions, indent=1))
        labels.save(self.labels)

    def write_history(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Writes metrics.jsonl, a line an epoch."""
        write_text(self.path / "metrics.jsonl", "".join(json.dumps(record) + "\n" for record in history))

    def read_history(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        file = self.path / "metrics.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []

    def run(self) -> "Run":
        """The run that was written here."""
        return Run(self.path, self.read()["config"], self.read_history(), checkpoint.load_state(self.best))

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


@dataclass(frozen=True)
class Run:
    """A finished training run."""

    folder: Path
    config: Config
    history: list[dict[str, Any]]
    best: dict[str, Any]

    @property
    def metrics(self) -> dict[str, Any]:
        """Validation metrics of the best epoch; empty where there was no validation."""
        return dict(self.best.get("val", {}))
