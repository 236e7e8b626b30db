"""`trilabel predict`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

import trilabel as tl
from trilabel.cli.arguments import (
    Broken,
    RunPath,
    SafeCells,
    Trust,
    UsageError,
    check_output,
    require_positive,
    require_probability,
)
from trilabel.cli.render import print_line
from trilabel.log import log
from trilabel.printable import in_number, plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from trilabel.inference.predictions import Predictions

_TABLES = (".csv", ".parquet")  # of probabilities, which no threshold changes


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Predicts the classes of images and writes a table (.csv, .parquet), records (.json, .jsonl), or labels (--to).

    Example: trilabel predict runs/first photos --out predictions.csv
    """

    run: RunPath
    """The run folder, a model folder, or an exported .onnx or .pt2 file."""
    images: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="IMAGES …")]
    """A folder (searched with its sub-folders), or image files."""
    out: Path | None = None
    """The file to write: .csv, .parquet, .json or .jsonl, or what --to needs; none: a line per image on standard
    output."""
    to: str | None = None
    """A format of data sets to write: what is predicted is present, the rest unknown; label-studio and cvat show it to
    annotators."""
    resume: bool = False
    """Go on where predictions for this file were stopped; the file ends up the same."""
    threshold: float | None = None
    """Probability from which a class is listed as present, in lines, records and with --to; none: the one that the run
    fitted for each class. Tables have probabilities alone."""
    broken: Broken = "stop"
    """Whether a missing or broken image stops the command, or is left out and counted."""
    batch_size: int = 64
    """Number of images to score at a time."""
    workers: int | None = None
    """Number of processes that decode images, for each device; none: one per core, at most 16."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    devices: int = 1
    """How many GPUs (or CPU processes) of this machine to use."""
    trust: Trust = ()
    safe_cells: SafeCells = False
    overwrite: bool = False
    """Replace the file if it exists."""
    json: bool = False
    """Print the records as JSON."""

    def __call__(self) -> None:
        from trilabel.data.image_paths import find_images
        from trilabel.inference.parts import is_finished

        self._check()
        if self.resume and self.out is not None and is_finished(self.out):
            return print_line(f"{self.out}: finished already")
        model = tl.load(self.run, self.device, self.trust)
        files = [file for given in self.images for file in find_images(given)]
        if self.to is not None and self.out is not None:
            return self._write_labels(model, files, self.out, self.to)
        with self._printer() as show:
            if self.out is None:
                self._print_all(model, files, show)
            else:
                self._write(model, files, self.out, show)
        return None

    def _print_all(self, model: "tl.Model", files: list[str], show: "Callable[[Predictions], None]") -> None:
        from trilabel.data.left_out import log_left_out

        left_out = list[str]()
        for found in model.predict_batches(files, self.batch_size, self.workers, self.broken):
            left_out += found.left_out
            show(found)
        log_left_out(left_out, len(files))

    def _write(self, model: "tl.Model", files: list[str], out: Path, show: "Callable[[Predictions], None]") -> None:
        from trilabel.data.left_out import log_left_out, write_left_out
        from trilabel.data.spreadsheet_cells import count_formulas, formula_note
        from trilabel.inference.prediction_files import Layout

        written = model.predict_to_file(
            files,
            out,
            self.batch_size,
            self.workers,
            self.broken,
            self.devices,
            self.resume,
            self.overwrite,
            Layout(self.threshold, self.safe_cells),
            show if self.json else None,
        )
        listed = out.with_suffix(".left_out.txt")
        log_left_out(written.left_out, len(files), listed)
        if written.left_out:
            write_left_out(written.left_out, listed)
        if out.suffix == ".csv" and not self.safe_cells and (count := count_formulas(files, model.classes)):
            log.warning(f"{out}: {formula_note(count)}")
        if not self.json:
            print_line(f"{out}: {plural(written.images, 'image')} × {plural(len(model.classes), 'class')}")

    @contextmanager
    def _printer(self) -> "Iterator[Callable[[Predictions], None]]":
        """Yields what prints predictions: as a part of one JSON list, or a line per image."""
        from trilabel.inference.prediction_files import open_json_list

        if not self.json:
            yield self._print_lines
            return
        with open_json_list(sys.stdout.write) as add:
            yield lambda found: add(found.to_records(self.threshold))
        print_line()

    def _print_lines(self, found: "Predictions") -> None:
        records: list[dict[str, Any]] = found.to_records(self.threshold)
        for record in records:
            classes = "  ".join(f"{name} {record['scores'][name]:.2f}" for name in record["present"])
            print_line(record["image"], classes or "(none)", between="\t")

    def _write_labels(self, model: "tl.Model", files: list[str], out: Path, format: str) -> None:
        from trilabel.data.left_out import log_left_out

        found = model.predict(files, self.batch_size, self.workers, self.broken)
        log_left_out(found.left_out, len(files))
        for note in found.write(out, format, self.threshold):
            log.warning(f"{out}: {in_number(note)}")
        print_line(f"{out}: {plural(len(found.ids), 'image')} × {plural(len(found.classes), 'class')}")

    def _check(self) -> None:
        from trilabel.inference.prediction_files import FILES

        require_probability(threshold=self.threshold)
        require_positive(batch_size=self.batch_size, devices=self.devices)
        if not self.images:
            raise UsageError("give a folder of images, or image files")
        if self.to is not None:
            return self._check_format(self.to)
        if self.out is None and (self.resume or self.devices > 1):
            raise UsageError(f"{'--resume' if self.resume else '--devices'}: this is for files; give --out FILE")
        if self.resume and self.overwrite:
            raise UsageError("--resume and --overwrite: give one of the two")
        if self.out is not None and self.out.suffix not in FILES:
            ends = f"{', '.join([*FILES][:-1])} or {[*FILES][-1]}"
            raise UsageError(f"--out {self.out}: the name must end in {ends}, or give --to")
        if self.safe_cells and (self.out is None or self.out.suffix != ".csv"):
            raise UsageError("--safe-cells: this is for tables; give --out FILE.csv")
        if self.threshold is not None and self.out is not None and self.out.suffix in _TABLES and not self.json:
            raise UsageError(
                f"--threshold: {self.out} gets probabilities alone; for what is present give --to csv, or --out "
                f"{self.out.with_suffix('.jsonl')}"
            )
        if self.out is not None and not self.resume:
            check_output(self.out, self.overwrite)
        return None

    def _check_format(self, format: str) -> None:
        from trilabel.data.formats import writer_of

        if self.out is None:
            raise UsageError(f"--to {format}: also give --out, the file or folder to write")
        for name in ("resume", "safe_cells", "json"):
            if getattr(self, name):
                raise UsageError(f"--{name.replace('_', '-')}: this is for tables and records, not for --to {format}")
        writer_of(self.out, format)
        check_output(self.out, self.overwrite)
