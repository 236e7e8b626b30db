"""Probabilities of classes for images, and writing them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.formats import options_of, writer_of
from trilabel.files import replacing
from trilabel.inference.prediction_files import Kind, Layout, csv_table, json_list, parquet_table
from trilabel.labels import Labels
from trilabel.printable import plural

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

    @classmethod
    def join(
        cls, parts: "Iterable[Predictions]", classes: Sequence[str], thresholds: Sequence[float] = ()
    ) -> "Predictions":
        """Those of all parts, in order."""
        parts = list(parts)
        scores = [np.zeros((0, len(classes)), np.float32), *(part.scores for part in parts)]
        ids = [id_ for part in parts for id_ in part.ids]
        left_out = tuple(message for part in parts for message in part.left_out)
        return cls(ids, classes, np.concatenate(scores), left_out, thresholds)

    def to_frame(self) -> "pd.DataFrame":
        """A pandas table with a row per image and a column per class."""
        import pandas as pd

        index = pd.Index(self.ids, name="image", dtype=object)  # strings of pyarrow cannot hold every name of a file
        return pd.DataFrame(self.scores, index=index, columns=list(self.classes))

    def to_csv(self, path: str | Path, safe_cells: bool = False) -> None:
        """A table with one row per image and one column per class.

        With `safe_cells`, names that a spreadsheet would run as formulas get an apostrophe in front.
        """
        self._write(csv_table, path, Layout(safe_cells=safe_cells))

    def to_parquet(self, path: str | Path) -> None:
        """The same table as Parquet (needs pyarrow)."""
        self._write(parquet_table, path, Layout())

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

    def to_dataset(self, threshold: float | None = None) -> Dataset:
        """The images with the predicted classes as present labels; others are unknown. `threshold` as above."""
        limits = np.asarray(self.thresholds or 0.5) if threshold is None else np.asarray(threshold)
        labels = Labels.from_signed((self.scores >= limits).astype(np.int8), self.classes, self.ids)
        return Dataset(labels.ids, self.ids, labels, notes=("predicted classes are present, others unknown",))

    def write(self, path: str | Path, format: str, threshold: float | None = None) -> list[str]:
        """Writes the predicted classes in a format of data sets; returns notes. `threshold` as above.

        Label Studio ("label-studio") and CVAT ("cvat") show them to annotators as a start.
        """
        writer = writer_of(Path(path), format)
        offered = options_of(writer)
        options = {"predictions": True, "scores": self.scores}
        return writer(self.to_dataset(threshold), Path(path), **{k: v for k, v in options.items() if k in offered})

    def to_json(self, path: str | Path, threshold: float | None = None) -> None:
        """Writes `to_records` as a JSON file."""
        self._write(json_list, path, Layout(threshold))

    def _write(self, kind: Kind, path: str | Path, layout: Layout) -> None:
        with replacing(path) as temporary, kind(temporary, self.classes, layout) as add:
            add(self)
