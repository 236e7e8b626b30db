"""Scoring a data set and every number about it that `Model.evaluate` gives, without images × classes in memory."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trilabel import metrics
from trilabel.data.dataset import Dataset
from trilabel.data.images import in_order
from trilabel.errors import TrilabelError
from trilabel.inference.opened import Options
from trilabel.inference.pointing import PointingGame
from trilabel.inference.processes import Again, in_processes
from trilabel.inference.trust import ScoredLabels
from trilabel.labels.names import Names
from trilabel.printable import plural

if TYPE_CHECKING:
    from trilabel.inference.predictor import Model


@dataclass(frozen=True)
class Evaluating:
    """What to score of a data set; any process can do a part of it."""

    dataset: Dataset
    rows: NDArray[np.int64]
    label_columns: NDArray[np.int64]  # of the data set's classes
    model_columns: NDArray[np.int64]  # of the model, for the same classes
    limits: float | Sequence[float]  # the probability from which a class counts as present, one or one per class
    calibrated: bool
    intervals: bool
    pointing: bool
    options: Options

    def score(self, model: "Model", rank: int = 0, count: int = 1) -> "Found":
        """Scores every `count`-th batch, from batch `rank` on."""
        found, labels, ids = self.nothing(), self.dataset.labels, self.dataset.ids
        mine = np.concatenate(in_order(len(self.rows), self.options.batch_size)[rank::count] or [self.rows[:0]])
        rows = self.rows[mine]
        opened = model.open(*self.dataset.images_of(rows), self.options)
        found.left_out.extend(message for _, message in opened.errors)
        for batch in opened.score("scoring", lambda position: ids[int(rows[position])], self.pointing):
            found.left_out.extend(message for _, message in batch.failed)
            if batch.output is None:
                continue
            logits, chosen = batch.output.logits.float(), rows[batch.positions]
            scores = (model.calibrate(logits) if self.calibrated else logits)[:, self.model_columns]
            found.evaluation.add(scores, labels.rows(chosen)[:, self.label_columns], mine[batch.positions])
            if found.game is not None:
                found.game.add(chosen, batch.output)
        return found

    def score_in_processes(self, again: Again, devices: int) -> "Found":
        """The same in several processes at once."""
        found = self.nothing()
        with TemporaryDirectory() as folder:
            in_processes(_Part(self, Path(folder)), again, devices, "evaluate again")
            for rank in range(devices):
                found.merge_file(Path(folder) / f"{rank}.npz")
        return found

    def nothing(self) -> "Found":
        """Nothing scored yet."""
        threshold = _logit(self.limits)
        evaluation = metrics.Evaluation(len(self.label_columns), threshold, keep_images=self.intervals)
        boxes = self.dataset.boxes if self.pointing else None
        columns = self.label_columns, self.model_columns
        game = None if boxes is None else PointingGame(boxes, self.dataset.labels, *columns)
        return Found(evaluation, game, [])

    def result(self, found: "Found", annotations: NDArray[np.int64] | None) -> dict[str, Any]:
        """All metrics, with what each class rests on and how far probabilities are off.

        annotations: known training labels of each class.
        """
        evaluation = found.evaluation
        present, absent = evaluation.counts_per_class()
        counts = None if annotations is None else annotations[self.model_columns]
        result = evaluation.result(annotations=counts) | {
            "threshold": self.limits,
            "calibration_error": _or_none([evaluation.calibration_error()])[0],
            "class_names": self._class_names(),
            "per_class_positives": present.tolist(),
            "per_class_negatives": absent.tolist(),
        }
        if self.intervals:
            low, high = evaluation.intervals()
            result |= {"per_class_ap_low": _or_none(low), "per_class_ap_high": _or_none(high)}
        return result if found.game is None else result | found.game.result()

    def scored_labels(self, found: "Found") -> ScoredLabels:
        """What the scores rest on."""
        ids = self.dataset.labels.ids.take(self.rows[found.evaluation.index()])
        return ScoredLabels(ids, self._class_names(), *found.evaluation.counts_per_class())

    def _class_names(self) -> list[str]:
        return [self.dataset.classes[column] for column in self.label_columns.tolist()]


@dataclass(frozen=True)
class Found:
    """What was scored so far."""

    evaluation: metrics.Evaluation
    game: PointingGame | None
    left_out: list[str]  # one message for each image that could not be read

    def save(self, path: Path) -> None:
        """Writes it for `merge_file` of another process."""
        self.evaluation.save(path)
        hits = None if self.game is None else self.game.counts.tolist()
        path.with_suffix(".json").write_text(json.dumps({"left_out": self.left_out, "pointing": hits}))

    def merge_file(self, path: Path) -> None:
        """Adds what another process saved."""
        self.evaluation.merge_file(path)
        other = json.loads(path.with_suffix(".json").read_text())
        self.left_out.extend(other["left_out"])
        if self.game is not None:
            self.game.counts += np.array(other["pointing"])


@dataclass(frozen=True)
class _Part:
    """The work of one of several processes."""

    evaluating: Evaluating
    folder: Path

    def __call__(self, model: "Model", rank: int, count: int) -> None:
        self.evaluating.score(model, rank, count).save(self.folder / f"{rank}.npz")


def match_classes(
    of_model: Names, classes: Sequence[str], common_classes: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """(columns of the labels, the model's columns for the same classes, classes that the model does not have)."""
    columns = of_model.positions(Names(classes))
    missing = [name for name, column in zip(classes, columns, strict=True) if column < 0]
    if missing and not common_classes:
        raise TrilabelError(
            f"the data has {plural(len(missing), 'class')} that the model does not have, e.g. {missing[0]!r}; "
            "train with them, or score the common ones only with --common-classes"
        )
    if len(missing) == len(columns):
        raise TrilabelError("the data and the model have no class in common")
    common = np.flatnonzero(columns >= 0)
    return common, columns[common], missing


def _or_none(values: Iterable[float]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _logit(probability: float | Sequence[float]) -> NDArray[np.float64]:
    """The logit at a probability; infinite at or beyond 0 and 1."""
    inside = np.clip(np.asarray(probability, dtype=np.float64), 0, 1)
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(inside) - np.log1p(-inside)
    return found
