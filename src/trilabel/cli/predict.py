"""`trilabel predict`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

import trilabel as tl
from trilabel.cli.arguments import Broken, RunPath, SafeCells, Trust, UsageError, check_output, require_probability
from trilabel.cli.render import print_json, print_line
from trilabel.log import log
from trilabel.printable import in_number, plural

if TYPE_CHECKING:
    from trilabel.inference.predictions import Predictions


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Predicts the classes of images and writes a table (.csv), records (.json), or labels in any format (--to).

    Example: trilabel predict runs/first photos --out predictions.csv
    """

    run: RunPath
    """The run folder."""
    images: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="IMAGES …")]
    """A folder (searched with its sub-folders), or image files."""
    out: Path | None = None
    """The file to write: .csv or .json, or what --to needs; none: a line per image on standard output."""
    to: str | None = None
    """A format of data sets to write: what is predicted is present, the rest unknown; label-studio and cvat show it to
    annotators."""
    threshold: float | None = None
    """Probability from which a class is listed as present; none: the one that the run fitted for each class."""
    broken: Broken = "stop"
    """Whether a missing or broken image stops the command, or is left out and counted."""
    batch_size: int = 64
    """Number of images to score at a time."""
    workers: int | None = None
    """Number of processes that decode images; none: one per core, at most 16."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    trust: Trust = ()
    safe_cells: SafeCells = False
    overwrite: bool = False
    """Replace the file if it exists."""
    json: bool = False
    """Print the records as JSON."""

    def __call__(self) -> None:
        from trilabel.data.image_paths import find_images
        from trilabel.data.left_out import log_left_out, write_left_out

        self._check()
        model = tl.load(self.run, self.device, self.trust)
        files = [file for given in self.images for file in find_images(given)]
        found = model.predict(files, self.batch_size, self.workers, self.broken)
        listed = self.out and self.out.with_suffix(".left_out.txt")
        log_left_out(found.left_out, len(files), listed)
        if self.out is not None:
            self._write(found, self.out)
        if found.left_out and listed:
            write_left_out(found.left_out, listed)
        if self.json:
            return print_json(found.to_records(self.threshold))
        if self.out is not None:
            return print_line(f"{self.out}: {plural(len(found.ids), 'image')} × {plural(len(found.classes), 'class')}")
        for record in found.to_records(self.threshold):
            classes = "  ".join(f"{name} {record['scores'][name]:.2f}" for name in record["present"])
            print_line(record["image"], classes or "(none)", between="\t")
        return None

    def _write(self, found: "Predictions", out: Path) -> None:
        from trilabel.data.spreadsheet_cells import count_formulas, formula_note

        if self.to is not None:
            for note in found.write(out, self.to, self.threshold):
                log.warning(f"{out}: {in_number(note)}")
            return None
        if out.suffix == ".json":
            return found.to_json(out, self.threshold)
        found.to_csv(out, self.safe_cells)
        if not self.safe_cells and (count := count_formulas(found.ids, found.classes)):
            log.warning(f"{out}: {formula_note(count)}")
        return None

    def _check(self) -> None:
        require_probability(threshold=self.threshold)
        if not self.images:
            raise UsageError("give a folder of images, or image files")
        if self.to is not None:
            self._check_format(self.to)
        elif self.out is not None and self.out.suffix not in (".csv", ".json"):
            raise UsageError(f"--out {self.out}: the name must end in .csv or .json, or give --to")
        if self.safe_cells and (self.out is None or self.out.suffix != ".csv" or self.to):
            raise UsageError("--safe-cells: this is for tables; give --out FILE.csv")
        if self.out is not None:
            check_output(self.out, self.overwrite)

    def _check_format(self, format: str) -> None:
        from trilabel.data.formats import writer_of

        if self.out is None:
            raise UsageError(f"--to {format}: also give --out, the file or folder to write")
        writer_of(self.out, format)
