"""`trilabel data simulate`."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import tyro

from trilabel.cli.arguments import DataPath, SafeCells
from trilabel.cli.data.output import Layout, check_writable, write_dataset
from trilabel.cli.data_options import DataOptions, Reading, read_data
from trilabel.cli.render import print_json, print_line
from trilabel.printable import plural


@dataclass(frozen=True, kw_only=True)
class Simulate:
    """Hides labels of a data set as the papers do, and writes the remaining labels.

    Example: trilabel data simulate VOCdevkit single-positive --out single.csv
    """

    data: DataPath
    """A file or folder in any format that trilabel reads."""
    setting: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SETTING")]
    """keep-share=0.1, keep-share-per-image=0.1, dense-share=0.1, per-class=0.5, fixed-per-class=10, tags=0.2,0.9,
    noisy=0.05, noisy-plus, single-positive, or single-positive=2,3 (two positives and three negatives per image)."""
    out: Path
    """The table (.csv, .tsv) or trilabel's own file (.trilabel) to write."""
    seed: int | None = None
    """Seed of the hidden labels; none: that of the label setting (0, or 1200 for single-positive as published)."""
    split: str = "train"
    """Hide labels of this split only ("all": everywhere)."""
    layout: Layout = "wide"
    """Layout of a table: a column per class, or a row per label."""
    safe_cells: SafeCells = False
    overwrite: bool = False
    """Replace the file if it exists."""
    json: bool = False
    """Print the summary as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        from trilabel.labels import simulate

        options = check_writable(self.out, None, self.layout, self.overwrite, self.safe_cells)
        dataset = read_data(self.data, self.reading.chosen())
        rows = dataset.rows_of(self.split)
        labels = simulate.apply_to_rows(dataset.labels, rows, self.setting, self.seed)
        seed = "" if self.seed is None else f", seed {self.seed}"
        note = f"labels of {self.split} hidden by {self.setting}{seed}"
        left = replace(dataset.with_labels(labels), notes=(*dataset.notes, note))
        write_dataset(left, self.out, None, options)
        before, after = dataset.labels[rows], labels[rows]
        if self.json:
            known = {"known_before": before.known, "known_after": after.known}
            return print_json({"table": str(self.out), "images": len(rows), **known})
        return print_line(
            f"{self.out}: {after.known:,} of {plural(before.known, 'label')} of {plural(len(rows), 'image')} left "
            f"({after.known_share:.2%} of all known); read it without --images, its paths are relative to its folder"
        )
