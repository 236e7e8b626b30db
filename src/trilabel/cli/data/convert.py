"""`trilabel data convert`."""

from dataclasses import dataclass, field
from pathlib import Path

from trilabel.cli.arguments import DataPath, NamesAndValues, SafeCells
from trilabel.cli.data.output import Layout, check_writable, write_dataset
from trilabel.cli.data_options import DataOptions, Reading, read_data
from trilabel.cli.render import print_json, print_line
from trilabel.log import log
from trilabel.printable import plural


@dataclass(frozen=True, kw_only=True)
class Convert:
    """Reads a data set in one format and writes it in another; trilabel's own format opens instantly at any size.

    Example: trilabel data convert VOCdevkit --difficult absent --out voc.trilabel

    With what people confirmed: trilabel data convert labels.csv --answers answers.db --out confirmed.csv
    """

    data: DataPath
    """A file or folder in any format that trilabel reads."""
    out: Path
    """The file or folder to write; its extension sets the format (.trilabel, .csv, .tsv) unless --to is given."""
    to: str | None = None
    """The format to write (trilabel data formats lists them)."""
    write: NamesAndValues = ()
    """Options of the format to write, NAME=VALUE, such as files=copy; docs/formats.md has them."""
    answers: Path | None = None
    """Answers of people (the store of trilabel review, or a table with a column answer): what they confirmed becomes
    known."""
    layout: Layout = "wide"
    """Layout of a table: a column per class, or a row per label."""
    safe_cells: SafeCells = False
    overwrite: bool = False
    """Replace a file, or write into a folder that is not empty (other files in it are left alone)."""
    json: bool = False
    """Print the summary as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        options = check_writable(self.out, self.to, self.layout, self.overwrite, self.safe_cells, self.write)
        dataset = read_data(self.data, self.reading.chosen())
        if self.answers is not None:
            from trilabel.cli.answers import read_any_answers
            from trilabel.data.answers import with_answers

            dataset, applied = with_answers(dataset, read_any_answers(self.answers))
            log.info(f"{self.answers}: {applied.describe()}")
        warnings = write_dataset(dataset, self.out, self.to, options)
        labels = dataset.labels
        if self.json:
            sizes = {"images": len(labels), "classes": labels.shape[1], "known": labels.known}
            return print_json({"out": str(self.out), **sizes, "warnings": warnings})
        return print_line(
            f"{self.out}: {plural(len(labels), 'image')} × {plural(labels.shape[1], 'class')}, "
            f"{plural(labels.known, 'label')} known "
            f"({labels.known_share:.2%}){' (see the warnings)' if warnings else ''}"
        )
