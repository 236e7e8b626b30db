"""What the papers report: the figures of their tables, to stand beside one's own.

They are in `published.csv`, as printed. A metric is named as `Model.evaluate` (or, of weak labels, relabelling) names
it; besides, mAP_G1 … mAP_G5 are those of `metrics.map_by_group`, and one that ends in _gain is a difference to the same
model without relabelling.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Figure:
    """One number of one table, in percent."""

    paper: str  # first author and year: "kim2022"
    table: str
    data: str
    labels: str  # as `--hide` takes it; "all" where nothing was hidden; several with spaces between: the mean over them
    recipe: str  # empty where there is none that is this row
    metric: str
    value: float
    deviation: float | None  # over seeds; None where the paper gives none
    about: str

    @property
    def source(self) -> str:
        """Where it stands, for a person: "Kim 2022, table 2"."""
        return f"{self.paper[:-4].capitalize()} {self.paper[-4:]}, {self.table}"


@cache
def figures() -> tuple[Figure, ...]:
    """All of them: papers by year, then in the order of their tables."""
    text = files("trilabel.compare").joinpath("published.csv").read_text(encoding="utf-8")
    _, *rows = csv.reader(text.splitlines())
    return tuple(_figure(row) for row in rows)


def _figure(row: list[str]) -> Figure:
    paper, table, data, labels, recipe, metric, value, deviation, about = row
    spread = float(deviation) if deviation else None
    return Figure(paper, table, data, labels, recipe, metric, float(value), spread, about)
