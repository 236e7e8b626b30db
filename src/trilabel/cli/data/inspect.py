"""`trilabel data inspect`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trilabel.cli.arguments import DataPath
from trilabel.cli.data_options import DataOptions, Reading, read_data
from trilabel.cli.render import MOST_SHOWN, print_json, print_line, print_table
from trilabel.printable import plural

_MOST_CLASSES = 60  # if there are more, only the most and the least frequent are shown


@dataclass(frozen=True, kw_only=True)
class Inspect:
    """Counts the known labels per class and image, lists classes that occur together, and warns of likely problems.

    Example: trilabel data inspect labels.csv --images photos
    """

    data: DataPath
    """A file or folder in any format that trilabel reads, or "scenes"."""
    split: str = "all"
    """Inspect only this split."""
    duplicates: bool = False
    """Also compare the files of all images to find those with the same content."""
    json: bool = False
    """Print everything as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        from trilabel.data.duplicates import find_duplicates
        from trilabel.data.inspect import inspect

        dataset = read_data(self.data, self.reading.chosen())
        found = inspect(dataset, self.split)
        if self.duplicates:
            found["duplicates"] = find_duplicates(dataset.take(dataset.rows_of(self.split)))
        print_json(found) if self.json else print_inspection(found)


def print_inspection(found: Mapping[str, Any]) -> None:
    """Prints what `trilabel.data.inspect` found."""
    print_line(
        f"{plural(found['images'], 'image')} × {plural(found['classes'], 'class')}: "
        f"{plural(found['known'], 'label')} known "
        f"({found['known_share']:.2%}), {found['positives']:,} present, {found['negatives']:,} absent"
    )
    for kind, spread in found["per_image"].items():
        print_line(f"{kind} per image: {spread['least']} to {spread['most']}, {spread['mean']:.2f} on average")
    if found["expected_positives"]:
        from trilabel.labels.expected_positives import ExpectedPositives

        print_line(ExpectedPositives(source="labeled", **found["expected_positives"]).describe())
    if found["splits"]:
        print_line("splits: " + ", ".join(f"{name} {count:,}" for name, count in found["splits"].items()))
    if found["boxes"]:
        print_line(f"boxes: {found['boxes']:,}")
    print_line()
    _print_classes(found["per_class"])
    if found["often_together"]:
        print_line()
        print_line("most often present together:")
        rows = [[" + ".join(pair["classes"]), f"{pair['images']:,}"] for pair in found["often_together"]]
        print_table(["classes", "images"], rows)
    if "duplicates" in found:
        _print_duplicates(found["duplicates"])
    for warning in found["warnings"]:
        print_line()
        print_line(f"warning: {warning}")


def _print_classes(per_class: Sequence[Mapping[str, Any]]) -> None:
    classes = sorted(per_class, key=lambda row: -row["present"])
    half = _MOST_CLASSES // 2
    shown = classes if len(classes) <= _MOST_CLASSES else [*classes[:half], *classes[-half:]]
    rows = [[row["class"], *(f"{row[kind]:,}" for kind in ("present", "absent", "unknown"))] for row in shown]
    print_table(["class", "present", "absent", "unknown"], rows)
    if len(shown) < len(classes):
        between = plural(len(classes) - len(shown), "class")
        print_line(f"({between} between the {half} most and {half} least frequent not shown; --json lists all)")


def _print_duplicates(found: Mapping[str, Any]) -> None:
    groups = found["groups"]
    print_line()
    print_line(
        f"{plural(len(groups), 'image occurs', 'images occur')} more than once, "
        f"{plural(sum(map(len, groups)), 'file')} in all; "
        f"{found['across_splits']:,} of them in several splits, {found['contradicting']:,} with contradicting labels"
    )
    for group in groups[:MOST_SHOWN]:
        print_line(f"  {' = '.join(group)}")
    if len(groups) > MOST_SHOWN:
        print_line(f"  (and {len(groups) - MOST_SHOWN:,} more; --json lists all)")
    if found["images_without_file"]:
        without = plural(found["images_without_file"], "image has no file and was", "images have no file and were")
        print_line(f"{without} not compared")
