"""Commands on data sets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from trilabel.commands.common import Source, read_data
from trilabel.errors import TrilabelError
from trilabel.show import print_inspection, print_json


@dataclass(frozen=True, kw_only=True)
class DataInspect(Source):
    """Says what is known: shares, counts per class and image, classes that occur together, and what to watch out for.

    Example: trilabel data inspect labels.csv --images photos
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """A table, a folder with a sub-folder per class, a PASCAL VOC folder, or "scenes"."""
    split: str = "all"
    """Only this split."""
    json: bool = False
    """Print everything as JSON."""

    def __call__(self) -> None:
        from trilabel.data.inspect import inspect

        found = inspect(read_data(self.data, self.options()), self.split)
        print_json(found) if self.json else print_inspection(found)


@dataclass(frozen=True, kw_only=True)
class DataSimulate(Source):
    """Hides labels of a data set as the papers do, and writes the table that is left.

    Example: trilabel data simulate VOCdevkit single-positive --out single.csv
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """A table, a folder with a sub-folder per class, a PASCAL VOC folder, or a table of scenes."""
    setting: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SETTING")]
    """keep-share=0.1, keep-share-per-image=0.1, dense-share=0.1, per-class=0.5, noisy=0.05, noisy-plus,
    single-positive, or single-positive=2,3 (two presents and three absents an image)."""
    out: Path
    """The table to write."""
    seed: int | None = None
    """Of the draw; none: the setting's own (0, or 1200 for single-positive as published)."""
    split: str = "train"
    """Hide labels of this split only ("all": everywhere)."""
    layout: Literal["wide", "long"] = "wide"
    """A column a class, or a row a label."""
    overwrite: bool = False
    """Replace the table if it exists."""
    json: bool = False
    """Print the summary as JSON."""

    def __call__(self) -> None:
        from trilabel import simulate
        from trilabel.data.csv_table import write

        if self.out.exists() and not self.overwrite:
            raise TrilabelError(f"{self.out}: this file exists; choose another, or say --overwrite")
        dataset = read_data(self.data, self.options())
        rows = dataset.rows_of(self.split)
        labels = simulate.apply_to_rows(dataset.labels, rows, self.setting, self.seed)
        write(dataset.with_labels(labels), self.out, layout=self.layout)
        before, after = dataset.labels[rows], labels[rows]
        summary = {
            "table": str(self.out),
            "images": len(rows),
            "known_before": before.known,
            "known_after": after.known,
        }
        if self.json:
            return print_json(summary)
        return print(
            f"{self.out}: {after.known:,} of {before.known:,} labels of {len(rows):,} images left "
            f"({after.known_share:.2%} of all known); read it without --images, its paths start from itself"
        )
