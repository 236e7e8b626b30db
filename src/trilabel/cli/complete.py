"""`trilabel complete`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import trilabel as tl
from trilabel.cli.arguments import (
    Broken,
    NamesAndValues,
    OptionalDataPath,
    RunPath,
    Trust,
    UsageError,
    check_output,
    require_positive,
    split_pairs,
)
from trilabel.cli.data_options import DataOptions, Reading, are_scenes, read_data, read_training_data
from trilabel.cli.render import print_json, print_line
from trilabel.log import log
from trilabel.plugin_files import trust
from trilabel.printable import in_number, plural

if TYPE_CHECKING:
    from trilabel.data import Dataset


@dataclass(frozen=True, kw_only=True)
class Complete:
    """Fills in unknown labels where known ones bear it, at the precision asked for, and writes the table again.

    Example: trilabel complete runs/first labels.csv --images photos --out filled.csv

    Known labels are never changed. A second table, filled.provenance.csv, says where each label is from, with its
    probability.
    """

    COMMON: ClassVar = ("run", "data", "images", "out", "precision", "confidence", "audit", "answers", "folds", "json")

    run: RunPath
    """The run folder; images that it has not scored yet are scored first."""
    data: OptionalDataPath = ""
    """The labels to complete; none: those that the run was trained on, as it knew them."""
    out: Path
    """The file to write: the table that came in with its holes filled; another ending or --to: another format."""
    to: str | None = None
    """A format to write (trilabel data formats lists them); none: the table that came in, with its holes
    filled, else by --out; csv: a new table with a column for each class."""
    precision: float = 0.95
    """Share of the labels filled in as present that must be right."""
    precision_absent: float | None = None
    """Share of the labels filled in as absent that must be right; none: the same."""
    confidence: float = 0.9
    """How sure that must be, for each threshold."""
    audit: int | None = None
    """Also write so many questions, drawn at random among what is filled in, for people (OUT.audit.csv)."""
    answers: Path | None = None
    """Answers of people: the store of trilabel review, or the table of --audit with its column answer filled in; they
    become known labels, and those to an audit bear a promise."""
    folds: int | None = None
    """Train so many models on parts of the training images, where the run's own model has learned from them."""
    set: NamesAndValues = ()
    """How labels came to be known, as settings of the method posterior: rates=one-of-k, positives_known=0.3,
    table=FILE, …; none: those of the run."""
    provenance: Literal["csv", "parquet", "none"] = "csv"
    """The table of where each label is from, beside --out; none: leave it out."""
    broken: Broken = "stop"
    """Whether a missing or broken image stops the scoring, or is left out."""
    batch_size: int = 64
    """Number of images to score at a time."""
    workers: int | None = None
    """Number of processes that decode images; none: one per core, at most 16."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    trust: Trust = ()
    overwrite: bool = False
    """Replace files that exist."""
    json: bool = False
    """Print the summary as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        from trilabel.cli.answers import read_any_answers
        from trilabel.inference.completion.words import describe
        from trilabel.training.run_folder import RunFolder

        files = self._check()
        trust(self.trust)
        dataset, like, options = self._read()
        found = tl.complete(
            self.run,
            dataset,
            precision=self.precision,
            precision_absent=self.precision_absent,
            confidence=self.confidence,
            answers=() if self.answers is None else read_any_answers(self.answers),
            folds=self.folds,
            settings=split_pairs("--set", self.set),
            device=self.device,
            batch_size=self.batch_size,
            workers=self.workers,
            broken=self.broken,
            name=like or self.data,
        )
        for note in found.write(self.out, self.to, like or None, options, files.get("provenance")):
            log.warning(f"{self.out}: {in_number(note)}")
        questions = found.audit(files["audit"], self.audit) if self.audit is not None else 0
        if self.json:
            names = {name: str(path) for name, path in {"out": self.out, **files}.items()}
            return print_json({**found.summary, "files": names})
        for line in describe(found.summary, RunFolder(self.run).mistakes):
            print_line(line)
        print_line(f"written: {', '.join(str(path) for path in (self.out, *files.values()))}")
        if questions:
            print_line(f"{plural(questions, 'question')} in {files['audit']}: write 1 or 0 into its column answer")
        return None

    def _check(self) -> dict[str, Path]:
        """The files beside --out; nothing is computed where one may not be written."""
        from trilabel.data.formats import writer_of
        from trilabel.data.provenance import beside, check_name

        require_positive(batch_size=self.batch_size, **({} if self.audit is None else {"audit": self.audit}))
        for name in ("precision", "precision_absent", "confidence"):
            value = getattr(self, name)
            if value is not None and not 0.5 <= value < 1:
                raise UsageError(f"--{name.replace('_', '-')} {value:g}: give a share from 0.5 up to below 1")
        writer_of(self.out, self.to)
        files = {} if self.provenance == "none" else {"provenance": beside(self.out, "provenance", self.provenance)}
        if self.audit is not None:
            files["audit"] = beside(self.out, "audit", "csv")
        for path in (self.out, *files.values()):
            check_output(path, self.overwrite)
        if "provenance" in files:
            check_name(files["provenance"])
        return files

    def _read(self) -> "tuple[Dataset, str, Mapping[str, Any]]":
        """(the data, the path that it was read from, "" for scenes, and how)."""
        from trilabel.training.run_folder import RunFolder

        options: Mapping[str, Any] = self.reading.chosen()
        if self.data:
            return read_data(self.data, options), "" if are_scenes(self.data) else self.data, _of_cells(options)
        if options:
            raise UsageError(f"{', '.join(options)}: also give the data that these options are for")
        about = RunFolder(self.run).read()
        if not about.source:
            raise UsageError("the run does not record its data (it was trained from Python); give the data")
        about.require(["format"], self.run)
        source = dict(about.source)
        dataset, data = read_training_data(source, about.config).dataset, str(source["data"])
        # Labels that were hidden on purpose, or predicted, are in the table, which would say more than the run knew.
        like = "" if are_scenes(data) or {"hide", "provenance"} & source.keys() else data
        return dataset, like, _of_cells({name: value for name, value in source.items() if name != "data"})


def _of_cells(options: Mapping[str, Any]) -> dict[str, Any]:
    """With the options of --read as those of the reader; those of tables are words."""
    texts = split_pairs("--read", options.get("read", ()))
    return {**{name: value for name, value in options.items() if name != "read"}, **texts}
