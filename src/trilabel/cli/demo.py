"""The demo: what missing labels cost, and what a method that knows of them wins back, on scenes drawn by code."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trilabel.config import Config
from trilabel.data import Dataset, scenes
from trilabel.errors import TrilabelError
from trilabel.files import write_text
from trilabel.inference.predictor import load
from trilabel.labels import simulate
from trilabel.log import log, quiet
from trilabel.methods import check_method
from trilabel.recipes import small
from trilabel.report import plots
from trilabel.training.api import train

# What is hidden, and the seed of that for demo seed 0 (single positives: as published).
SETTINGS = {
    "all labels": None,
    "10 % of labels": ("keep-share=0.1", 0),
    "one positive an image": ("single-positive", 1200),
}
METHODS: dict[str, dict[str, Any]] = {
    "known-only": {"method": "known-only"},
    "assume-negative": {"method": "assume-negative"},
    "weak assume-negative": {"method": "assume-negative", "settings": {"weight": None}},
}


@dataclass(frozen=True)
class Cell:
    """One result of the demo."""

    labels: str
    method: str
    known: int
    mAP: float | None  # on the test scenes, all of whose labels are known: are positives ranked above negatives?
    CF1: float | None  # there, too: are the right classes called present?
    found: float | None  # share of the hidden positives among the most likely hidden labels, as many as there are
    run: str
    reason: str = ""  # why there is no result


def run_demo(out: Path, seed: int = 0, epochs: int | None = None) -> list[Cell]:
    """Trains every method in every label setting; writes run folders, demo.json and demo.png under `out`."""
    log.info("drawing scenes …")
    full, begun = scenes(seed=seed), time.monotonic()
    cells: list[Cell] = []
    recipe = small() if epochs is None else replace(small(), epochs=epochs)
    for cell in _cells(full, replace(recipe, seed=seed), out):
        cells.append(cell)
        words = cell.reason or f"mAP {100 * (cell.mAP or 0):.1f}, CF1 {100 * (cell.CF1 or 0):.1f}"
        log.info(f"[{time.monotonic() - begun:4.0f} s] {cell.labels}, {cell.method}: {words}")
    write_text(out / "demo.json", json.dumps([vars(cell) for cell in cells], indent=1))
    plots.save(picture(cells), out / "demo.png")
    return cells


def _cells(full: Dataset, recipe: Config, out: Path) -> Iterator[Cell]:
    rows = full.rows_of("train")
    for setting, hide in SETTINGS.items():
        partial = full
        if hide is not None:
            what, first_seed = hide
            partial = full.with_labels(simulate.apply_to_rows(full.labels, rows, what, first_seed + recipe.seed))
        known = partial.labels[rows].known
        for name, changes in METHODS.items():
            if hide is None and name != "known-only":
                continue  # with nothing unknown, assuming changes nothing
            folder = out / f"{setting} {name}".replace(" % ", "-percent-").replace(" ", "-")
            config = replace(recipe, **changes)
            try:
                check_method(config.method, config.settings, partial.labels[rows])
            except TrilabelError as error:
                yield Cell(setting, name, known, None, None, None, "", str(error))
                continue
            with quiet():
                train(partial, config, folder, overwrite=True)
            model = load(folder)
            found = hidden_presents_found(full, partial, model.score_rows(full, rows)[0].numpy()) if hide else None
            scored = model.evaluate(full, "test")
            yield Cell(setting, name, known, scored["mAP"], scored["CF1"], found, str(folder))


def hidden_presents_found(full: Dataset, partial: Dataset, scores: np.ndarray[Any, Any]) -> float:
    """Of H hidden positives among the training labels, the share that is among the H hidden labels scored highest.

    Scores are made comparable between classes by nothing at all: this is what filling in the holes by score gives.
    """
    rows = full.rows_of("train")
    hidden = partial.labels[rows].to_signed() == 0
    truth = full.labels[rows].to_signed()[hidden] > 0
    best = np.argsort(-scores[hidden], kind="stable")[: truth.sum()]
    return float(truth[best].mean())


def picture(cells: list[Cell]) -> Any:
    """Bars of test mAP and CF1: a group a label setting, a bar a method, a dashed line for all labels."""
    by_place = {(cell.labels, cell.method): cell for cell in cells}
    groups = [f"{name}\n({_known(cells, name):,} known)" for name in SETTINGS]

    def panel(title: str, metric: str) -> plots.Bars:
        def value(setting: str, method: str) -> float | None:
            share = getattr(by_place.get((setting, method)), metric, None)
            return None if share is None else 100 * share

        series = {method: [value(setting, method) for setting in SETTINGS] for method in METHODS}
        return plots.Bars(title, f"test {metric} (%)", series, value("all labels", "known-only"))

    ranked, called = (
        panel("Are positives ranked above negatives?", "mAP"),
        panel("Are positives called present?", "CF1"),
    )
    return plots.bars(groups, [ranked, called])


def _known(cells: list[Cell], setting: str) -> int:
    return next(cell.known for cell in cells if cell.labels == setting)
