"""Run folders made by hand for reports: any number of classes, any names, and no training."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trilabel import metrics
from trilabel.config import Config
from trilabel.labels import Labels
from trilabel.labels.expected_positives import expected_positives
from trilabel.training import checkpoint
from trilabel.training.decisions import fit_decisions
from trilabel.training.description import RunDescription
from trilabel.training.diagnosis import label_histogram
from trilabel.training.record import EpochRecord, Example, UnknownTargets
from trilabel.training.run_folder import RunFolder
from trilabel.training.validation_scores import save_validation_scores

HOSTILE = (
    "<script>window.hit = 1</script>",
    "</script><img src=x onerror='window.hit = 1'>",
    "\"quoted\" & 'single' <b>bold</b>",
    "javascript:window.hit=1",
    "{{ 7 * 7 }} {% raw %}",
    "a name that does not end " * 12,
    "x" * 300,
    "\N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET}\N{HEBREW LETTER GIMEL} dog",
    "\N{RIGHT-TO-LEFT OVERRIDE}reversed\x1b[2J",
    "\N{GRINNING FACE} \N{PARTY POPPER}",
    "' onmouseover='window.hit=1",
    "`backticks`",
)


def write_run(
    folder: Path,
    classes: Sequence[str] = ("cat", "dog", "sofa"),
    images: int = 40,
    ids: str = "{}.jpg",
    negatives: bool = True,
    source: dict[str, Any] | None = None,
    seed: int = 0,
) -> RunFolder:
    """A finished run with two epochs, kept validation scores, followed images and, of few classes, decisions."""
    draw = np.random.default_rng(seed)
    shape = (images, len(classes))
    truth = np.where(draw.random(shape) < 0.4, 1, -1)
    known = np.where(draw.random(shape) < 0.6, truth, 0).astype(np.int8)
    known = known if negatives else known.clip(min=0)
    train = Labels.from_signed(known, classes, [ids.format(f"train-{number}") for number in range(images)])
    val = Labels.from_signed(known[::-1], classes, [ids.format(f"val-{number}") for number in range(images)])
    logits = torch.tensor(1.5 * truth[::-1] + draw.normal(0, 1.5, shape), dtype=torch.float32)
    run = RunFolder(folder)
    folder.mkdir(parents=True)
    run.describe(RunDescription(Config(method="splc", epochs=2), list(classes), 32, source or {}), train, list(val.ids))
    scored = metrics.evaluate(logits, val, threshold=0.0)
    histograms = label_histogram(logits, val)
    counts = {"known_positives": histograms["positives"], "unknown": histograms["unknown"]}
    for epoch in (1, 2):
        shown = Example(str(train.ids[0]), list(classes[:3]), [1, 0, 0], [epoch - 1.5, 1.0, -1.0], [], [1, 0, 1])
        record = EpochRecord(
            "fine-tune", epoch, 1 / epoch, seconds=1.5, probabilities=counts, unknown=UnknownTargets(5, 3, epoch),
            examples=[shown], val=scored, val_unknown_as_absent=not negatives,
        )  # fmt: skip
        run.append_record(record, epoch - 1)
    checkpoint.save(run.best, {"model.nothing": torch.zeros(1)}, record.to_json())
    save_validation_scores(run, logits, val)
    if len(classes) <= 100:  # fitting thousands takes seconds
        decided = fit_decisions(logits, val, expected_positives(train, val))
        assert decided is not None
        decided.save(run.decisions)
    return run


def write_completion(run: RunFolder, basis: str = "promise") -> None:
    """As `trilabel complete` writes it, for the labels that the run learned from."""
    labels = Labels.load(run.labels)
    present, absent = labels.counts_per_class()
    classes = [
        {"name": str(name), "known_positives": int(yes), "known_negatives": int(no), "group": str(name),
         "threshold_present": 0.9, "threshold_absent": 0.1, "bound_present": 0.951, "bound_absent": None,
         "filled_present": 2, "filled_absent": 3, "left_unknown": len(labels) - int(yes + no) - 5,
         "needed": None if number else 7}
        for number, (name, yes, no) in enumerate(zip(labels.classes, present, absent, strict=True))
    ]  # fmt: skip
    holes = labels.shape[0] * labels.shape[1] - labels.known
    values = {
        "date": "2026-03-04T05:06:07", "data": "labels.csv", "precision": {"present": 0.95, "absent": 0.9},
        "confidence": 0.9, "basis": basis, "assumption": "one <i>positive</i> an image",
        "images": len(labels), "labels": labels.shape[0] * labels.shape[1], "known": labels.known, "holes": holes,
        "filled_present": 2 * len(classes), "filled_absent": 3 * len(classes), "left_unknown": holes - 5 * len(classes),
        "classes": classes, "mistakes": {"count": 2, "expected_share": 0.5}, "from_the_future": 1,
    }  # fmt: skip
    run.completion.write_text(json.dumps(values))
    with run.mistakes.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["image", "class", "known", "probability", "expected"])
        rows.writerow([labels.ids[0], labels.classes[0], 1, 0.02, 0.75])
        rows.writerow([labels.ids[1], labels.classes[1], 0, 0.97, ""])
