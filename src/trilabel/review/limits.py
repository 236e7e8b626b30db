"""How labels become probabilities, and from which ones they are proposed.

As `trilabel complete` has it where it has run, else as the run has it.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.errors import TrilabelError, one_line
from trilabel.input_files import read_input

Floats = NDArray[np.float64]


class Limits(NamedTuple):
    """From scores to proposals: slope · logit + shift is calibrated."""

    present_from: Floats  # C probabilities; inf where nothing is filled in
    absent_to: Floats  # C; −inf where nothing is filled in
    slope: float
    shifts: Floats  # C


def proposal_limits(completion: Path, classes: list[str], thresholds: Floats, slope: float, shifts: Floats) -> Limits:
    """completion: the file completion.json of a run. The others are the run's own: how it calibrates and decides."""
    if not completion.is_file():
        below = np.nextafter(thresholds.astype(np.float32), np.float32(-1)).astype(np.float64)
        return Limits(thresholds, below, slope, shifts)
    try:
        content: Any = json.loads(read_input(completion))
        rows = content["classes"]
        if (line := content.get("calibration")) is not None:
            by_name = dict(zip((row["name"] for row in rows), line["shifts"], strict=True))
            slope, shifts = float(line["slope"]), np.array([float(by_name[name]) for name in classes])
        limits = {row["name"]: (_number(row["threshold_present"]), _number(row["threshold_absent"])) for row in rows}
        found = [limits[name] for name in classes]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise TrilabelError(f"{completion}: damaged, or of other classes ({one_line(error)}); remove it") from error
    present = [np.inf if one is None else one for one, _ in found]
    absent = [-np.inf if other is None else other for _, other in found]
    return Limits(np.array(present), np.array(absent), slope, shifts)


def _number(value: object) -> float | None:
    if value is None or (isinstance(value, int | float) and 0 <= value <= 1):
        return None if value is None else float(value)
    raise ValueError(f"{value!r} is no probability")
