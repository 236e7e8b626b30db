"""The runs of the demo: three methods on scenes drawn by code, with all labels, some, or one positive per image."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import trilabel as tl
from trilabel.config import Config
from trilabel.data import Dataset, scenes
from trilabel.errors import TrilabelError
from trilabel.files import write_text
from trilabel.labels import simulate
from trilabel.log import log, quiet
from trilabel.methods import check_method
from trilabel.recipes import small
from trilabel.report import plots

# Which labels are hidden, and with which seed at the demo's seed 0 (single positives: as published).
LABEL_SETTINGS = {
    "all labels": None,
    "10 % of labels": ("keep-share=0.1", 0),
    "one positive per image": ("single-positive", 1200),
}
VARIANTS: dict[str, dict[str, Any]] = {
    "known-only": {"method": "known-only"},
    "assume-negative": {"method": "assume-negative"},
    "weak assume-negative": {"method": "assume-negative", "settings": {"weight": None}},
}


@dataclass(frozen=True)
class DemoResult:
    """One method in one label setting."""

    labels: str
    method: str
    known: int  # training labels
    mAP: float | None  # on the test scenes, whose labels are all known: are positives ranked above negatives?
    CF1: float | None  # on the test scenes: are positives predicted present?
    found: float | None  # see `hidden_positives_found`
    run: str
    reason: str = ""  # why there is no result


def run_demo(out: Path, seed: int = 0, epochs: int | None = None) -> list[DemoResult]:
    """Trains every method in every label setting; writes run folders, demo.json and demo.png under `out`."""
    log.info("drawing scenes …")
    full, start = scenes(seed=seed), time.monotonic()
    results: list[DemoResult] = []
    recipe = small() if epochs is None else replace(small(), epochs=epochs)
    for result in _run_all(full, replace(recipe, seed=seed), out):
        results.append(result)
        words = result.reason or f"mAP {100 * (result.mAP or 0):.1f}, CF1 {100 * (result.CF1 or 0):.1f}"
        log.info(f"[{time.monotonic() - start:4.0f} s] {result.labels}, {result.method}: {words}")
    write_text(out / "demo.json", json.dumps([vars(result) for result in results], indent=1))
    plots.save(plot(results), out / "demo.png")
    return results


def _run_all(full: Dataset, recipe: Config, out: Path) -> Iterator[DemoResult]:
    rows = full.rows_of("train")
    for setting, hide in LABEL_SETTINGS.items():
        partial = full
        if hide is not None:
            what, first_seed = hide
            partial = full.with_labels(simulate.apply_to_rows(full.labels, rows, what, first_seed + recipe.seed))
        known = partial.labels[rows].known
        for name, changes in VARIANTS.items():
            if hide is None and name != "known-only":
                continue  # the methods differ only in what they do with unknown labels
            folder = out / f"{setting} {name}".replace(" % ", "-percent-").replace(" ", "-")
            config = replace(recipe, **changes)
            try:
                check_method(config.method, config.settings, partial.labels[rows], partial.labels[full.rows_of("val")])
            except TrilabelError as error:
                yield DemoResult(setting, name, known, None, None, None, "", str(error))
                continue
            with quiet():
                tl.train(partial, config, folder, overwrite=True)
            model = tl.load(folder)
            found = hidden_positives_found(full, partial, model.score_rows(full, rows)[0].numpy()) if hide else None
            scored = model.evaluate(full, "test", threshold=0.5, calibrated=False)  # as methods leave it
            yield DemoResult(setting, name, known, scored["mAP"], scored["CF1"], found, str(folder))


def hidden_positives_found(full: Dataset, partial: Dataset, scores: np.ndarray[Any, Any]) -> float:
    """Of H hidden positives in the training labels, the share among the H hidden labels with the highest scores.

    scores: training images × classes. Scores of different classes are compared directly, as they would be if the
    highest were treated as present.
    """
    rows = full.rows_of("train")
    hidden = partial.labels[rows].to_signed() == 0
    truth = full.labels[rows].to_signed()[hidden] > 0
    best = np.argsort(-scores[hidden], kind="stable")[: truth.sum()]
    return float(truth[best].mean())


def plot(results: list[DemoResult]) -> Any:
    """Bars of test mAP and CF1: a group per label setting, a bar per method, a dashed line for all labels."""
    by_place = {(result.labels, result.method): result for result in results}
    known = {result.labels: result.known for result in results}
    groups = [f"{name}\n({known[name]:,} known)" for name in LABEL_SETTINGS]

    def panel(title: str, metric: str) -> plots.Bars:
        """The bars of one metric."""

        def value(setting: str, method: str) -> float | None:
            share = getattr(by_place.get((setting, method)), metric, None)
            return None if share is None else 100 * share

        series = {method: [value(setting, method) for setting in LABEL_SETTINGS] for method in VARIANTS}
        return plots.Bars(title, f"test {metric} (%)", series, value("all labels", "known-only"))

    panels = [panel("Are positives ranked above negatives?", "mAP"), panel("Are positives predicted present?", "CF1")]
    return plots.bars(groups, panels)
