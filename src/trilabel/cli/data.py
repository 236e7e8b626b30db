"""Commands on data sets."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from trilabel.cli.common import Source, UsageError, check_new, read_data, set_words
from trilabel.cli.render import print_entries, print_inspection, print_json, print_merge
from trilabel.log import log

if TYPE_CHECKING:
    from trilabel.data import Dataset


@dataclass(frozen=True, kw_only=True)
class DataFormats:
    """Lists the formats that can be read and written, what each takes for absent and unknown, and its options.

    Example: trilabel data formats
    """

    json: bool = False
    """Print everything as JSON."""

    def __call__(self) -> None:
        from trilabel.data.formats import describe_formats

        found = describe_formats()
        if self.json:
            return print_json(found)
        return print_entries(
            {
                f"{name} (read and written)" if entry["written"] else name: [
                    entry["summary"],
                    f"rule: {entry['rule']}",
                    *set_words(entry["options"], option="--read"),
                ]
                for name, entry in found.items()
            }
        )


@dataclass(frozen=True, kw_only=True)
class DataInspect(Source):
    """Says what is known: shares, counts per class and image, classes that occur together, and what to watch out for.

    Example: trilabel data inspect labels.csv --images photos
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """A file or folder in any format that trilabel reads, or "scenes"."""
    split: str = "all"
    """Only this split."""
    duplicates: bool = False
    """Compare the files of all images, too: which have the same content?"""
    json: bool = False
    """Print everything as JSON."""

    def __call__(self) -> None:
        from trilabel.data.duplicates import find_duplicates
        from trilabel.data.inspect import inspect

        dataset = read_data(self.data, self.options())
        found = inspect(dataset, self.split)
        if self.duplicates:
            found["duplicates"] = find_duplicates(dataset.take(dataset.rows_of(self.split)))
        print_json(found) if self.json else print_inspection(found)


@dataclass(frozen=True, kw_only=True)
class DataSimulate(Source):
    """Hides labels of a data set as the papers do, and writes the table that is left.

    Example: trilabel data simulate VOCdevkit single-positive --out single.csv
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """A file or folder in any format that trilabel reads."""
    setting: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SETTING")]
    """keep-share=0.1, keep-share-per-image=0.1, dense-share=0.1, per-class=0.5, noisy=0.05, noisy-plus,
    single-positive, or single-positive=2,3 (two positives and three negatives an image)."""
    out: Path
    """The table (.csv, .tsv) or trilabel's own file (.trilabel) to write."""
    seed: int | None = None
    """Of the draw; none: the setting's own (0, or 1200 for single-positive as published)."""
    split: str = "train"
    """Hide labels of this split only ("all": everywhere)."""
    layout: Literal["wide", "long"] = "wide"
    """Of a table: a column a class, or a row a label."""
    overwrite: bool = False
    """Replace the file if it exists."""
    json: bool = False
    """Print the summary as JSON."""

    def __call__(self) -> None:
        from trilabel.labels import simulate

        _check_out(self.out, None, self.layout, self.overwrite)
        dataset = read_data(self.data, self.options())
        rows = dataset.rows_of(self.split)
        labels = simulate.apply_to_rows(dataset.labels, rows, self.setting, self.seed)
        hidden = f"labels of {self.split} hidden by {self.setting}" + (
            f", seed {self.seed}" if self.seed is not None else ""
        )
        left = replace(dataset.with_labels(labels), notes=(*dataset.notes, hidden))
        _write(left, self.out, None, self.layout)
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


@dataclass(frozen=True, kw_only=True)
class DataConvert(Source):
    """Reads a data set in one format and writes it in another; trilabel's own opens at once at any size.

    Example: trilabel data convert VOCdevkit --difficult absent --out voc.trilabel
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """A file or folder in any format that trilabel reads."""
    out: Path
    """What to write; its ending tells the format (.trilabel, .csv, .tsv) where --to does not."""
    to: str | None = None
    """The format to write (trilabel data formats lists them)."""
    layout: Literal["wide", "long"] = "wide"
    """Of a table: a column a class, or a row a label."""
    overwrite: bool = False
    """Replace a file, or write into a folder that has something in it (other files there are not touched)."""
    json: bool = False
    """Print the summary as JSON."""

    def __call__(self) -> None:
        _check_out(self.out, self.to, self.layout, self.overwrite)
        dataset = read_data(self.data, self.options())
        warnings = _write(dataset, self.out, self.to, self.layout)
        labels = dataset.labels
        if self.json:
            sizes = {"images": len(labels), "classes": labels.shape[1], "known": labels.known}
            return print_json({"out": str(self.out), **sizes, "warnings": warnings})
        some = " (see the warnings)" if warnings else ""
        return print(
            f"{self.out}: {len(labels):,} images × {labels.shape[1]:,} classes, {labels.known:,} labels known "
            f"({labels.known_share:.2%}){some}"
        )


@dataclass(frozen=True, kw_only=True)
class DataMerge:
    """Joins data sets with different classes: what a set never annotated is unknown. Reports overlaps and conflicts.

    Each set is read with the defaults of its format; where it needs options, convert it to a .trilabel file first.

    Example: trilabel data merge a=voc.trilabel b=export.json --same name --map classes.csv --out both.trilabel
    """

    sets: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[NAME=]DATA …")]
    """Two or more files or folders in formats that trilabel reads, each perhaps with a name for map and report."""
    out: Path
    """What to write; its ending tells the format (.trilabel, .csv, .tsv) where --to does not."""
    map: Path | None = None
    """Table of classes to rename, with the columns from and to, and set where a row is about one set only. Several
    classes may become one; an empty `to` drops a class."""
    same: Literal["path", "id", "name", "content"] = "path"
    """When images of two sets are one: the same file, the same id, the same file name in any folder (without what
    Roboflow and Label Studio add to it), or the same bytes under any name."""
    conflict: Literal["error", "unknown", "first", "last"] = "error"
    """What becomes of a label that one set calls present and another absent."""
    to: str | None = None
    """The format to write (trilabel data formats lists them)."""
    overwrite: bool = False
    """Replace a file, or write into a folder that has something in it (other files there are not touched)."""
    json: bool = False
    """Print the whole report as JSON."""

    def __call__(self) -> None:
        from trilabel.data.merge import merge
        from trilabel.data.merge.class_map import read_class_map

        _check_out(self.out, self.to, "wide", self.overwrite)
        if len(self.sets) < 2:
            raise UsageError("data merge: name two data sets or more")
        paths = dict(_name_and_path(text) for text in self.sets)
        if len(paths) < len(self.sets):
            raise UsageError("data merge: two sets of one name; write NAME=DATA")
        classes = read_class_map(self.map) if self.map else None
        sets = {name: read_data(path, {}, "convert it first with") for name, path in paths.items()}
        merged, report = merge(sets, classes=classes, same=self.same, conflict=self.conflict)
        _write(merged, self.out, self.to, "wide")
        print_json({"out": str(self.out), **report}) if self.json else print_merge(str(self.out), report)


def _name_and_path(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if equals and not Path(text).exists():
        return name, path
    return Path(text).resolve().stem, text


def _check_out(out: Path, to: str | None, layout: str, overwrite: bool) -> None:
    """Refuses what cannot be written before anything is read, as that may take a while."""
    from trilabel.data.formats import writer_of

    check_new(out, overwrite)
    writer_of(out, to, _layout(layout))


def _layout(layout: str) -> dict[str, str]:
    return {"layout": layout} if layout != "wide" else {}


def _write(dataset: "Dataset", out: Path, to: str | None, layout: str) -> list[str]:
    from trilabel.data import write

    notes = write(dataset, out, to, **_layout(layout))
    for note in notes:
        log.warning(f"{out}: {note}")
    return notes
