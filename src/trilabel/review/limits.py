"""From which probabilities labels are proposed: those of `trilabel complete` where it has run, else the run's own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilabel.errors import TrilabelError, one_line
from trilabel.input_files import read_input

Floats = NDArray[np.float64]


def proposal_limits(completion: Path, classes: list[str], thresholds: Floats) -> tuple[Floats, Floats]:
    """(C: present from, C: absent up to); inf and −inf where nothing is filled in.

    completion: the file completion.json of a run. thresholds: from which probability a class counts as present.
    """
    if not completion.is_file():
        return thresholds, np.nextafter(thresholds.astype(np.float32), np.float32(-1)).astype(np.float64)
    try:
        rows: Any = json.loads(read_input(completion))["classes"]
        limits = {row["name"]: (_number(row["threshold_present"]), _number(row["threshold_absent"])) for row in rows}
        found = [limits[name] for name in classes]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise TrilabelError(f"{completion}: damaged, or of other classes ({one_line(error)}); remove it") from error
    present = [np.inf if one is None else one for one, _ in found]
    absent = [-np.inf if other is None else other for _, other in found]
    return np.array(present), np.array(absent)


def _number(value: object) -> float | None:
    if value is None or (isinstance(value, int | float) and 0 <= value <= 1):
        return None if value is None else float(value)
    raise ValueError(f"{value!r} is no probability")
