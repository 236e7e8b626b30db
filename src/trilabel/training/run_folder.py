"""The folder of a training run: configuration, versions, metrics, checkpoints, and the labels it learned from."""

import json
import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilabel.config import Config
from trilabel.errors import TrilabelError, one_line, system_error
from trilabel.files import sync_folder, write_text
from trilabel.input_files import read_input
from trilabel.labels import Labels
from trilabel.models import Classifier
from trilabel.printable import command_line, plural
from trilabel.training import checkpoint, history
from trilabel.training.description import RunDescription, read_description, write_description, write_versions
from trilabel.training.record import EpochRecord
from trilabel.training.run_files import RunFiles
from trilabel.training.run_lock import lock_lost
from trilabel.training.trained_model import load_classifier

_DESCRIPTION, _VERSIONS = "config.json", "versions.json"
_OTHERWISE = "pass overwrite=True, or resume=True to go on with its run"


@dataclass(frozen=True)
class RunFolder(RunFiles):
    """The files of a run, and how to read and write them safely."""

    def first_round(self, fold: int | None = None) -> "RunFolder":
        """The folder of the first round, or of one of several that leave a part of the images out each."""
        place = self.path / "round-1"
        return RunFolder(place if fold is None else place / f"fold-{fold}", self.path)

    def fold(self, number: int, of: int) -> "RunFolder":
        """The folder of a model that is trained on all training images but a part."""
        return RunFolder(self.folds / f"{number}-of-{of}")

    def annotations(self) -> NDArray[np.int64] | None:
        """Known training labels of each class, of either sign; None where the labels were removed from the folder."""
        if not self.labels.is_file():
            return None
        present, absent = Labels.load(self.labels).counts_per_class()
        return present + absent

    def seen_images(self) -> tuple[Sequence[str], Sequence[str]]:
        """Ids of the images that the run learned from, and of those that chose its epoch; none where files are gone."""
        learned = Labels.load(self.labels).ids if self.labels.is_file() else ()
        return learned, self._read_validation_images()

    def _read_validation_images(self) -> list[str]:
        file = self.validation_images
        try:
            found = json.loads(read_input(file)) if file.is_file() else []
        except (OSError, ValueError, RecursionError) as error:
            raise TrilabelError(f"{file}: damaged ({one_line(error)}); restore or remove it") from error
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise TrilabelError(f"{file}: not a list of ids; restore or remove it")
        return found

    def check(self, resume: bool, overwrite: bool, otherwise: str = _OTHERWISE) -> None:
        """Raises an error if the folder is not empty, unless a run is resumed or overwritten; changes nothing.

        otherwise: what to do about a run that is there, other than to choose another folder. What a run leaves that was
        killed before its config.json was there is no run, and does not count.
        """
        if resume:
            if not self.is_described():
                raise TrilabelError(
                    f"{self.path}: no run to resume here (no {_DESCRIPTION}); start a new run, without resume"
                )
        elif self.path.exists() and not self.path.is_dir():
            raise TrilabelError(f"{self.path}: this is a file; a run needs its own folder")
        elif self._holds_something() and not self._is_unfinished_start():
            if not self._is_run():
                raise TrilabelError(f"{self.path}: this folder exists and is not a trilabel run; choose another")
            if not overwrite:
                raise TrilabelError(f"{self.path}: this folder exists; choose another, or {otherwise}")

    def is_described(self) -> bool:
        """Whether there is a run, which then can be resumed."""
        return (self.path / _DESCRIPTION).is_file()

    def _holds_something(self) -> bool:
        """Whether the folder contains anything other than temporary files of a killed process."""
        return self.path.is_dir() and any(not file.name.startswith(".") for file in self.path.iterdir())

    def _is_unfinished_start(self) -> bool:
        names = {file.name for file in self.path.iterdir() if not file.name.startswith(".")}
        return _VERSIONS in names <= {_VERSIONS, self.labels.name, self.validation_images.name}

    def _is_run(self) -> bool:
        """Whether this is surely a run: many programs have a config.json, and --overwrite deletes the folder."""
        if (self.path / _VERSIONS).is_file():
            return True
        try:
            self.read()
        except TrilabelError:
            return False
        return True

    def make_empty(self) -> None:
        """Creates the folder; an existing run is renamed first and then removed. Call it with the lock held."""
        path = self.path.resolve()
        self.remove_leftovers()
        try:
            if self._holds_something():
                aside = path.with_name(f".{path.name}.{os.getpid()}.old")
                path.rename(aside)
                shutil.rmtree(aside)
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise system_error(error, self.path) from error
        sync_folder(path.parent)

    def remove_leftovers(self) -> None:
        """Removes what killed processes left; with the lock held, nobody else is writing."""
        path = self.path.resolve()
        with suppress(OSError):
            for file in path.iterdir() if path.is_dir() else ():
                if re.fullmatch(r"\..+\.tmp(\..+)?|\.tmp\w{6}", file.name):  # ours, and those of safetensors
                    file.unlink(missing_ok=True)
            for folder in path.parent.iterdir():
                if re.fullmatch(rf"\.{re.escape(path.name)}\.\d+\.old", folder.name):
                    shutil.rmtree(folder)

    def refuse_if_removed(self) -> None:
        """Raises an error if the folder or its description was deleted since the run began."""
        if lock_lost(self.path) or not self.is_described():
            raise TrilabelError(
                f"{self.path}: this folder, or its {_DESCRIPTION}, was removed while the run was training, so nothing "
                "can be saved; start the run again"
            )

    def describe(self, description: RunDescription, labels: Labels, validation: Sequence[str] = ()) -> None:
        """Writes the description of the run: config.json, versions.json, labels.npz, the ids of validation images."""
        try:
            write_versions(self.path / _VERSIONS)
            labels.save(self.labels)
            write_text(self.validation_images, json.dumps(list(validation), indent=0))
            description = replace(description, plugins=description.origins())
            write_description(self.path / _DESCRIPTION, description)  # last: from here on the run can be resumed
        except OSError as error:
            raise system_error(error, self.path, "run again") from error

    def change_config(self, config: Config) -> None:
        """Writes the settings with which a run resumes."""
        try:
            write_description(self.path / _DESCRIPTION, replace(self.read(), config=config))
        except OSError as error:
            raise system_error(error, self.path, "resume the run again") from error

    def read(self) -> RunDescription:
        """The description that `describe` wrote."""
        return read_description(self.path / _DESCRIPTION)

    def mark_finished(self, epochs: int) -> None:
        """Notes that nothing is left to do; call it last."""
        try:
            write_text(self.finished, json.dumps({"epochs": epochs}))
        except OSError as error:
            raise system_error(error, self.path, "resume the run") from error

    def mark_begun(self) -> None:
        """Takes back `mark_finished`: the run goes on."""
        self.finished.unlink(missing_ok=True)

    def append_record(self, record: EpochRecord, number: int) -> None:
        """Adds the line of an epoch to the `number` lines of metrics.jsonl."""
        self.refuse_if_removed()
        try:
            history.append(self.metrics, record, number)
        except OSError as error:
            then = f"resume the run: {command_line('trilabel', 'train', '--resume', self.to_resume)}"
            raise system_error(error, self.metrics, then) from error

    def read_history(self) -> list[EpochRecord]:
        """The lines of metrics.jsonl."""
        return history.read(self.metrics)

    def best_record(self) -> EpochRecord:
        """The record of the best epoch, with metrics of out-of-fold scores where no image was held out."""
        try:
            record = EpochRecord.from_json(checkpoint.load_state(self.best))
            judged = self._read_judged_record() if self.out_of_fold_record.is_file() else record
            # It is older than a run that was resumed for more epochs.
            return judged if (judged.stage, judged.epoch) == (record.stage, record.epoch) else record
        except TrilabelError as error:
            if str(error).startswith(f"{self.best}: "):
                raise
            raise TrilabelError(
                f"{self.best}: not the best model of a run ({error}); restore it or train again"
            ) from error

    def _read_judged_record(self) -> EpochRecord:
        file = self.out_of_fold_record
        try:
            return EpochRecord.from_json(json.loads(read_input(file)))
        except (OSError, ValueError, RecursionError, TrilabelError) as error:
            raise TrilabelError(
                f"{self.best}: {file.name} beside it is damaged ({one_line(error)}); restore or remove that"
            ) from error

    def run(self) -> "Run":
        """The run that was written here."""
        return Run(self.path, self.read().config, self.read_history(), self.best_record())

    def classifier(self) -> tuple[Classifier, RunDescription]:
        """(the model of the best epoch, the description of the run)."""
        description = self.read()
        description.require(["head"], self.path)
        return load_classifier(description, self.path / _DESCRIPTION, self.best), description


@dataclass(frozen=True, repr=False)
class Run:
    """A finished training run."""

    folder: Path
    config: Config
    history: list[EpochRecord]
    best: EpochRecord

    def __repr__(self) -> str:
        scores = f", {self.config.select} {self.metrics.get(self.config.select)}" if self.metrics else ""
        return f"Run({str(self.folder)!r}, {plural(len(self.history), 'epoch')}, best {self.best.epoch}{scores})"

    @property
    def metrics(self) -> dict[str, Any]:
        """Validation metrics of the best epoch; empty if there was no validation."""
        return dict(self.best.val)
