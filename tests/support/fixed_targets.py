"""Files of targets for the method `taught`, with made-up values."""

from pathlib import Path
from typing import Any

import numpy as np

from trilabel.labels import Labels
from trilabel.labels.targets import Targets, thinned


def write_targets(labels: Labels, file: Path) -> str:
    """Random targets of the unknown labels; returns the name of the file."""
    values = np.random.default_rng(0).random(labels.shape).astype(np.float32)
    Targets.from_csr(thinned(values * (labels.to_signed() == 0)), labels.classes, labels.ids).save(file)
    return str(file)


def dense(targets: Targets) -> np.ndarray:
    """Images × classes: the slow way back."""
    found = np.zeros((len(targets.ids), len(targets.classes)), np.float32)
    for row, (begin, end) in enumerate(zip(targets.begins, targets.begins[1:], strict=False)):
        for column, value in zip(targets.columns[begin:end], targets.values[begin:end], strict=True):
            found[row, column] += value
    return found


def with_targets(method: str, settings: dict[str, Any], labels: Labels, folder: Path) -> dict[str, Any]:
    """The settings of a method, and for `taught` a file of targets."""
    return {**settings, "targets": write_targets(labels, folder / "targets.npz")} if method == "taught" else settings
