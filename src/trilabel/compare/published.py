"""What the papers report: the numbers of their tables, to compare with ours.

They are in `published.csv`, as printed. Metrics have the names that `Model.evaluate` gives them, or relabelling for
those of weak labels, or the record of an epoch. mAP_G1 … mAP_G5 are those of `metrics.map_by_group`; a name that ends
in _gain is the difference to the same model without relabelling; one that begins with train_ or val_ is of the full
labels of training images or of validation images, all others are of the images that the paper compares methods on.
"""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from trilabel.compare.changes import with_changes
from trilabel.config import Config
from trilabel.recipes import resolve


@dataclass(frozen=True)
class PublishedFigure:
    """One number of one table, in percent."""

    paper: str  # first author and year: "kim2022"
    table: str
    data: str
    labels: str  # as for `--hide`; "all" if nothing was hidden; several separated by spaces: the mean over them
    recipe: str  # empty if no recipe is this row; `about` then says why
    settings: str  # those that its table varies, also at the recipe's own: "head_settings.k=1"; separated by spaces
    metric: str
    value: float
    deviation: float | None  # over seeds; None if the paper gives none
    about: str

    @property
    def source(self) -> str:
        """Paper and table for a reader: "Kim 2022, table 2"."""
        return f"{self.paper[:-4].capitalize()} {self.paper[-4:]}, {self.table}"

    @property
    def config(self) -> Config:
        """The recipe with the row's settings."""
        pairs = (pair.split("=") for pair in self.settings.split())
        changes = {name: _value(text) for name, text in pairs}
        return with_changes(resolve(self.recipe), changes, f"{self.source}, {self.about}")


@cache
def figures() -> tuple[PublishedFigure, ...]:
    """All published figures: papers by year, then in the order of their tables."""
    text = files("trilabel.compare").joinpath("published.csv").read_text(encoding="utf-8")
    _, *rows = csv.reader(text.splitlines())
    return tuple(read_figure(row) for row in rows)


def read_figure(row: Sequence[str]) -> PublishedFigure:
    """A row of the table."""
    paper, table, data, labels, recipe, settings, metric, value, deviation, about = row
    spread = float(deviation) if deviation else None
    return PublishedFigure(paper, table, data, labels, recipe, settings, metric, float(value), spread, about)


def _value(text: str) -> Any:
    """A number or true or false where it is one, else the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
