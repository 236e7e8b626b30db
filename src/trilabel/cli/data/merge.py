"""`trilabel data merge`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trilabel.cli.arguments import SafeCells, UsageError
from trilabel.cli.data.output import check_writable, write_dataset
from trilabel.cli.data_options import read_data
from trilabel.cli.render import MOST_SHOWN, print_json, print_line, print_table
from trilabel.printable import plural


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Merges data sets with different classes: what a set never annotated is unknown. Reports overlaps and conflicts.

    Each set is read with the defaults of its format; if it needs options, convert it to a .trilabel file first.

    Example: trilabel data merge a=voc.trilabel b=export.json --same name --map classes.csv --out both.trilabel
    """

    sets: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[NAME=]DATA …")]
    """Two or more files or folders in formats that trilabel reads; a name is used in --map and in the report."""
    out: Path
    """The file or folder to write; its extension sets the format (.trilabel, .csv, .tsv) unless --to is given."""
    map: Path | None = None
    """Table of classes to rename, with the columns from and to, and set if a row is for one set only. Several classes
    may become one; an empty `to` drops a class."""
    same: Literal["path", "id", "name", "content"] = "path"
    """Which images of two sets are the same: the same file, the same id, the same file name in any folder (without the
    parts that Roboflow and Label Studio add), or the same bytes under any name."""
    conflict: Literal["error", "unknown", "first", "last"] = "error"
    """What to do with a label that is present in one set and absent in another."""
    to: str | None = None
    """The format to write (trilabel data formats lists them)."""
    safe_cells: SafeCells = False
    overwrite: bool = False
    """Replace a file, or write into a folder that is not empty (other files in it are left alone)."""
    json: bool = False
    """Print the whole report as JSON."""

    def __call__(self) -> None:
        from trilabel.data.merge import merge
        from trilabel.data.merge.class_map import read_class_map

        options = check_writable(self.out, self.to, "wide", self.overwrite, self.safe_cells)
        if len(self.sets) < 2:
            raise UsageError("give at least two data sets")
        paths = dict(_name_and_path(text) for text in self.sets)
        if len(paths) < len(self.sets):
            raise UsageError("two sets have the same name; write NAME=DATA")
        classes = read_class_map(self.map) if self.map else None
        sets = {name: read_data(path, {}, "convert it first with") for name, path in paths.items()}
        merged, report = merge(sets, classes=classes, same=self.same, conflict=self.conflict)
        write_dataset(merged, self.out, self.to, options)
        print_json({"out": str(self.out), **report}) if self.json else print_merge(str(self.out), report)


def _name_and_path(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if equals and not Path(text).exists():
        return name, path
    return Path(text).resolve().stem, text


def _sizes(found: Mapping[str, Any]) -> str:
    known = plural(found["known"], "label")
    return f"{plural(found['images'], 'image')} × {plural(found['classes'], 'class')}, {known} known"


def print_merge(out: str, found: Mapping[str, Any]) -> None:
    """Prints the report of `trilabel.data.merge`."""
    print_line(f"{out}: {_sizes(found)}")
    rows = [[one["set"], *(f"{one[key]:,}" for key in ("images", "classes", "known"))] for one in found["sets"]]
    print_table(["set", "images", "classes", "labels known"], rows)
    shared = found["classes_in_several_sets"]
    print_line()
    images, classes = plural(found["images_in_several_sets"], "image"), plural(len(shared), "class")
    print_line(f"in several sets: {images} and {classes}")
    twice = plural(found["labels_stated_twice"], "label is", "labels are")
    print_line(f"{twice} stated more than once, {found['contradicting']:,} with a contradiction")
    for name, count in list(found["contradicting_per_class"].items())[:MOST_SHOWN]:
        print_line(f"  {name}: {count:,}")
    for one in found["contradictions"][:MOST_SHOWN]:
        print_line(
            f"  {one['image']}, {one['class']}: present in {', '.join(one['present'])}, "
            f"absent in {', '.join(one['absent'])}"
        )
    if found["contradicting"] > MOST_SHOWN:
        print_line("  (--json lists all)")
    if found["images_in_different_splits"]:
        images = plural(found["images_in_different_splits"], "image")
        print_line(f"kept out of train: {images} in different splits of different sets")
    if not found["images_in_several_sets"]:
        ways = ", ".join(way for way in ("path", "id", "name", "content") if way != found["same"])
        print_line(f"hint: no image is in several sets by its {found['same']}; --same {ways} may find some")
    for one in found["classes_joined_of_some"][:MOST_SHOWN]:
        print_line(
            f"hint: {one['set']} has no {' or '.join(map(repr, one['lacks']))}: where "
            f"{' and '.join(map(repr, one['has']))} is absent, {one['class']!r} is absent"
        )
    for names in found["classes_with_similar_names"][:MOST_SHOWN]:
        print_line(f"hint: {' and '.join(map(repr, names))} stay different classes; --map makes them one")
