"""The runs of the demo, on scenes drawn by code: all labels known, one positive per image, or a tenth of the labels.

With unknown labels, twice: as most tools do it (unknown = absent, present from a probability of 0.5 on), and as
`trilabel train` does it by itself (the method by which labels are known, two rounds, its own thresholds).
"""

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
from trilabel.files import write_text
from trilabel.labels import simulate
from trilabel.log import log, quiet
from trilabel.recipes import small
from trilabel.report import plots

# Which labels are hidden, and with which seed at the demo's seed 0 (single positives: as published).
ALL = "all labels"
LABEL_SETTINGS = {
    ALL: None,
    "one positive per image": ("single-positive", 1200),
    "10 % of labels": ("keep-share=0.1", 0),
}
ABSENT, OURS = "unknown = absent", "trilabel"
VARIANTS: dict[str, dict[str, Any]] = {ABSENT: {"method": "assume-negative"}, OURS: {"method": "auto", "rounds": 2}}


@dataclass(frozen=True)
class DemoResult:
    """One way to learn in one label setting."""

    labels: str
    way: str
    known: int  # training labels
    mAP: float  # on the test scenes, whose labels are all known: are positives ranked above negatives?
    CF1: float  # on the test scenes: are positives predicted present?
    found: float | None  # see `hidden_positives_found`
    run: str


def run_demo(out: Path, seed: int = 0, epochs: int | None = None) -> list[DemoResult]:
    """Trains in both ways in every label setting; writes run folders, demo.json and demo.png under `out`."""
    log.info("drawing scenes …")
    full, start = scenes(seed=seed), time.monotonic()
    results: list[DemoResult] = []
    recipe = small() if epochs is None else replace(small(), epochs=epochs)
    for result in _run_all(full, replace(recipe, seed=seed), out):
        results.append(result)
        words = f"mAP {100 * result.mAP:.1f}, CF1 {100 * result.CF1:.1f}"
        log.info(f"[{time.monotonic() - start:4.0f} s] {result.labels}, {result.way}: {words}")
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
        for way, changes in VARIANTS.items():
            if hide is None and way != OURS:
                continue  # nothing is unknown
            folder = out / f"{setting} {way}".replace(" % ", "-percent-").replace(" = ", "-").replace(" ", "-")
            config = replace(recipe, **(changes if hide else {}))
            with quiet():
                tl.train(partial, config, folder, overwrite=True)
            model = tl.load(folder)
            found = hidden_positives_found(full, partial, model.score_rows(full, rows)[0].numpy()) if hide else None
            plain: dict[str, Any] = {"threshold": 0.5, "calibrated": False} if way == ABSENT else {}
            scored = model.evaluate(full, "test", **plain)
            yield DemoResult(setting, way, known, scored["mAP"], scored["CF1"], found, str(folder))


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
    """Bars of test mAP and CF1: a group per label setting, a bar per way, a dashed line for all labels."""
    by_place = {(result.labels, result.way): result for result in results}
    known = {result.labels: result.known for result in results}
    settings = [name for name in LABEL_SETTINGS if name != ALL]
    groups = [f"{name}\n({known[name]:,} known)" for name in settings]

    def panel(title: str, metric: str) -> plots.Bars:
        """The bars of one metric."""

        def value(setting: str, way: str) -> float:
            return float(100 * getattr(by_place[setting, way], metric))

        series = {way: [value(setting, way) for setting in settings] for way in VARIANTS}
        return plots.Bars(title, f"test {metric} (%)", series, value(ALL, OURS))

    panels = [panel("Are positives ranked above negatives?", "mAP"), panel("Are positives predicted present?", "CF1")]
    return plots.bars(groups, panels)
