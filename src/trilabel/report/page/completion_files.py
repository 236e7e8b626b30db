"""What `trilabel complete` left in the run folder: completion.json and mistakes.csv, as far as a page shows them."""

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from trilabel.errors import TrilabelError, one_line
from trilabel.input_files import open_input, read_input
from trilabel.settings import filled

_MOST_READ = 1 << 24  # bytes of the table of suspected mistakes: its first rows are shown


@dataclass(frozen=True)
class CompletedClass:
    """One class: what was filled in, from which probabilities on, and how precise that is at least."""

    name: str
    known_positives: int = 0
    known_negatives: int = 0
    group: str | None = None
    threshold_present: float | None = None
    threshold_absent: float | None = None
    bound_present: float | None = None
    bound_absent: float | None = None
    filled_present: int = 0
    filled_absent: int = 0
    left_unknown: int = 0
    needed: int | None = None


@dataclass(frozen=True)
class Completion:
    """What was decided about the unknown labels of a data set, and how sure that is."""

    images: int
    labels: int
    known: int
    holes: int
    filled_present: int
    filled_absent: int
    left_unknown: int
    basis: str  # promise, assumption or audit
    precision: Mapping[str, float] = field(default_factory=dict)  # asked for: present, absent
    confidence: float | None = None
    assumption: str | None = None
    date: str = ""
    data: str = ""
    mistakes: Mapping[str, Any] = field(default_factory=dict)
    classes: list[CompletedClass] = field(default_factory=list)

    @property
    def filled(self) -> int:
        """How many unknown labels were decided."""
        return self.filled_present + self.filled_absent


class Mistake(NamedTuple):
    """A known label that scores contradict."""

    image: str
    cls: str
    known_present: bool
    probability: float  # that it is present, by its score alone
    expected: float | None  # share of true mistakes among this and the more suspicious ones


def read_completion(path: Path) -> Completion | None:
    """What completing wrote; None if it was not run. Entries that this version does not know are left out."""
    if not path.is_file():
        return None
    try:
        values: Any = json.loads(read_input(path), parse_constant=lambda word: None)
        if not isinstance(values, dict) or not isinstance(values.get("classes", []), list):
            raise ValueError("not a dictionary")
        classes = [
            filled(CompletedClass, _known(CompletedClass, each), "a class") for each in values.pop("classes", [])
        ]
        found = filled(Completion, _known(Completion, values), "completion")
    except (OSError, ValueError, RecursionError, TrilabelError) as error:
        raise TrilabelError(f"{path}: damaged, or of another version ({one_line(error)})") from error
    return Completion(**{**vars(found), "classes": classes})


def _known(kind: type[Any], values: Any) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise ValueError("an entry is not a dictionary")
    names = {f.name for f in fields(kind)}
    return {name: value for name, value in values.items() if name in names}


def read_mistakes(path: Path, most: int) -> list[Mistake]:
    """The most suspicious known labels, at most so many; none if there is no table of them."""
    if not path.is_file():
        return []
    try:
        with open_input(path) as file:
            text = io.TextIOWrapper(io.BytesIO(file.read(_MOST_READ)), "utf-8", "surrogateescape", newline="")
            return [_mistake(row) for row in islice(csv.DictReader(text), most)]
    except (OSError, ValueError, TypeError, KeyError, csv.Error) as error:
        raise TrilabelError(f"{path}: damaged, or of another version ({one_line(error)})") from error


def _mistake(row: Mapping[str, str]) -> Mistake:
    expected, probability = float(row["expected"]) if row.get("expected") else None, float(row["probability"])
    if not 0 <= probability <= 1 or (expected is not None and not math.isfinite(expected)):
        raise ValueError(f"a probability of {probability}")
    return Mistake(row["image"], row["class"], int(row["known"]) > 0, probability, expected)
