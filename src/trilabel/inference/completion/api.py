"""`trilabel.complete`: the unknown labels of a data set, decided as far as known ones bear it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from trilabel.data import read
from trilabel.data.answers import Answer, find_answers, read_answer_table
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.files import write_csv, write_text
from trilabel.inference.completion.core import Given, complete_scores
from trilabel.inference.completion.folds import cross_score
from trilabel.inference.completion.result import Completion
from trilabel.inference.completion.rules import Wanted
from trilabel.inference.completion.summary import truth_of
from trilabel.inference.predictor import Model
from trilabel.inference.score_table import score_table
from trilabel.log import log
from trilabel.methods.posterior import PosteriorSettings
from trilabel.plugin_files import Files
from trilabel.plugin_files import trust as trust_files
from trilabel.settings import settings_of
from trilabel.training.run_folder import Run, RunFolder
from trilabel.training.teachers import fitted_rates_of, posterior_settings


def complete(
    run: str | Path | Run | Model,
    dataset: str | Path | Dataset,
    *,
    images: str | Path | None = None,
    precision: float = 0.95,
    precision_absent: float | None = None,
    confidence: float = 0.9,
    answers: str | Path | Sequence[Answer] = (),
    folds: int | None = None,
    settings: Mapping[str, Any] | None = None,
    device: str = "auto",
    batch_size: int = 64,
    workers: int | None = None,
    broken: Literal["stop", "skip"] = "stop",
    trust: Files = (),
    name: str = "",
) -> Completion:
    """Decides unknown labels as present or absent where known labels bear it; the others stay unknown.

    run: a run folder, or a run or model from one; dataset: with the same classes, or a path that `data.read` reads.
    precision: the share of the labels decided as present that must be right, and precision_absent of those decided as
        absent (None: the same); confidence: how sure that must be, for each threshold.
    answers: of people, which become known labels: a table that `audit` of `Completion` wrote, filled in, or what
        `trilabel.review.store.read_answers` reads.
    folds: trains so many models on parts of the run's training images, so that these can be completed, too, where its
        own model has learned from them.
    settings: how labels came to be known, as settings of `posterior` (rates, positives_known, negatives_known, table);
        None: those of the run. name: of the data, for the record.

    Writes completion.json and mistakes.csv into the run folder; `Completion.write` writes the labels.
    """
    trust_files(trust)
    folder = RunFolder(_folder_of(run))
    if isinstance(dataset, str | Path):
        name, dataset = name or str(dataset), read(dataset, images=images)
    elif images is not None:
        raise TrilabelError("images: a data set knows its images; give them with the path of a table")
    wanted = _wanted(precision, precision if precision_absent is None else precision_absent, confidence)
    given = Given(wanted, _settings(folder, settings), fitted_rates_of([folder.path]), None, str(folder.path), name)
    if len(answers := read_answer_table(answers) if isinstance(answers, str | Path) else answers):
        answered = find_answers(answers, dataset.labels)
        log.info(f"answers: {answered.applied.describe()}")
        given = replace(given, answered=answered)
    if folds is not None:
        cross_score(folder.path, dataset, folds, device, workers)
    table = score_table(folder.path, dataset, device, batch_size, workers, broken)
    found = replace(complete_scores(table, dataset.labels, given), dataset=dataset)
    if dataset.truth is not None:
        found = replace(found, summary={**found.summary, "truth": truth_of(found, dataset.truth)})
    _record(found, folder)
    return found


def _folder_of(run: str | Path | Run | Model) -> Path:
    path = run.folder if isinstance(run, Run) else Path(run.name if isinstance(run, Model) else run)
    folder = RunFolder(path)
    if not (folder.is_described() and folder.labels.is_file()):
        raise TrilabelError(f"{path}: not a run folder; completing labels needs the run, with what it learned from")
    return path


def _wanted(present: float, absent: float, confidence: float) -> Wanted:
    for what, value in (("precision", present), ("precision_absent", absent), ("confidence", confidence)):
        if not 0.5 <= value < 1:
            raise TrilabelError(f"{what} {value:g}: give a share from 0.5 up to below 1, such as 0.95")
    return Wanted(present, absent, confidence)


def _settings(folder: RunFolder, given: Mapping[str, Any] | None) -> PosteriorSettings:
    if given:
        return settings_of(PosteriorSettings, given, "posterior")
    return posterior_settings(folder.read().config)


def _record(found: Completion, folder: RunFolder) -> None:
    """What others look at: the report, and reviews."""
    rows = (
        (one.image, one.cls, str(int(one.known > 0)), f"{one.probability:.4f}", f"{one.expected:.4f}")
        for one in found.mistakes
    )
    write_csv(folder.mistakes, ("image", "class", "known", "probability", "expected"), rows)
    write_text(folder.completion, json.dumps(found.summary, indent=1, ensure_ascii=False))
