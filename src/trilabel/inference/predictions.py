"""Probabilities of classes for images, and writing them as CSV or JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trilabel.data.spreadsheet_cells import safe_cell
from trilabel.files import replacing, write_text
from trilabel.printable import json_escaped, plural

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Predictions:
    """Probabilities of every class for every image.

    >>> found = Predictions(["a.jpg"], ["cat", "dog"], np.array([[0.25, 0.75]], np.float32))
    >>> found.to_records()
    [{'image': 'a.jpg', 'present': ['dog'], 'scores': {'cat': 0.25, 'dog': 0.75}}]
    """

    ids: list[str]
    classes: Sequence[str]
    scores: NDArray[np.float32]  # images × classes, in [0, 1]
    left_out: tuple[str, ...] = ()  # one message for each image that could not be read
    thresholds: Sequence[float] = ()  # the probability from which each class counts as present; none given: a half

    def __repr__(self) -> str:
        left_out = f", {len(self.left_out):,} left out" if self.left_out else ""
        return f"Predictions({plural(len(self.ids), 'image')} × {plural(len(self.classes), 'class')}{left_out})"

    def to_frame(self) -> "pd.DataFrame":
        """A pandas table with a row per image and a column per class."""
        import pandas as pd

        index = pd.Index(self.ids, name="image", dtype=object)  # strings of pyarrow cannot hold every name of a file
        return pd.DataFrame(self.scores, index=index, columns=list(self.classes))

    def to_csv(self, path: str | Path, safe_cells: bool = False) -> None:
        """A table with one row per image and one column per class.

        With `safe_cells`, names that a spreadsheet would run as formulas get an apostrophe in front.
        """
        import pandas as pd

        cell = safe_cell if safe_cells else str
        table = pd.DataFrame(self.scores, columns=list(map(cell, self.classes)))
        names = pd.Series(list(map(cell, self.ids)), dtype=object)  # see `to_frame`
        table.insert(0, "image", names, allow_duplicates=True)  # a class may have this name too
        with replacing(path) as temporary:
            # The name of a file may be bytes that are not UTF-8: they are written as they are.
            table.to_csv(temporary, index=False, float_format="%.6g", errors="surrogateescape")

    def to_records(self, threshold: float | None = None) -> list[dict[str, Any]]:
        """One record per image: its id, the classes that are present (highest first), and all scores.

        threshold: the probability from which a class is present; None: the one of each class.
        """
        names = list(self.classes)
        own = self.thresholds or [0.5] * len(names)
        limits = dict(zip(names, own if threshold is None else [threshold] * len(names), strict=True))
        records = []
        for id_, row in zip(self.ids, self.scores.tolist(), strict=True):
            by_class = dict(zip(names, row, strict=True))
            present = sorted(
                (name for name in names if by_class[name] >= limits[name]), key=lambda name: -by_class[name]
            )
            rounded = {name: round(value, 6) for name, value in by_class.items()}
            records.append({"image": id_, "present": present, "scores": rounded})
        return records

    def to_json(self, path: str | Path, threshold: float | None = None) -> None:
        """Writes `to_records` as a JSON file."""
        write_text(path, json_escaped(json.dumps(self.to_records(threshold), ensure_ascii=False, indent=1)))
