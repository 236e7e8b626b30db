"""Results for a person or a program, on standard output."""

import json
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

_MOST_SHOWN = 10


def print_json(value: Any) -> None:
    """JSON on standard output."""
    print(json.dumps(value, indent=1, ensure_ascii=False))


def percent(value: float | None) -> str:
    """A share as per cent with one decimal; a dash where there is none."""
    return "—" if value is None else f"{100 * value:.1f}"


def print_table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table on standard output, as wide as it needs where that is no terminal."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*heads, box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*(str(cell).replace("[", "\\[") for cell in row))
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)


def print_entries(entries: Mapping[str, Sequence[str]]) -> None:
    """Names, each with a few lines of words under it, within the width of the terminal."""
    width = max(40, shutil.get_terminal_size((120, 24)).columns)
    for name, lines in entries.items():
        print(name)
        for line in lines:
            print(textwrap.fill(line, width, initial_indent="    ", subsequent_indent="      ", break_long_words=False))


def print_metrics(result: Mapping[str, Any], title: str) -> None:
    """The metrics that people look at first."""
    print(title)
    names = ("mAP", "CP", "CR", "CF1", "OP", "OR", "OF1", "exact_match")
    shown = [name for name in names if name in result]
    if shown:
        print_table([f"{name} %" for name in shown], [[percent(result[name]) for name in shown]])
    if result.get("classes_without_ap"):
        print(f"{result['classes_without_ap']} classes have no known present here and are left out of mAP")


def print_inspection(found: Mapping[str, Any]) -> None:
    """What `data inspect` found, for a person."""
    print(
        f"{found['images']:,} images × {found['classes']:,} classes: {found['known']:,} labels known "
        f"({found['known_share']:.2%}), {found['positives']:,} present, {found['negatives']:,} absent"
    )
    for kind, spread in found["per_image"].items():
        print(f"{kind} an image: {spread['least']} to {spread['most']}, {spread['mean']:.2f} on average")
    if found["expected_positives"]:
        from trilabel.labels.expected_positives import ExpectedPositives

        print(ExpectedPositives(source="labelled", **found["expected_positives"]).describe())
    if found["splits"]:
        print("splits: " + ", ".join(f"{name} {count:,}" for name, count in found["splits"].items()))
    if found["boxes"]:
        print(f"boxes: {found['boxes']:,}")
    print()
    classes = sorted(found["per_class"], key=lambda row: -row["present"])
    shown = classes if len(classes) <= 60 else [*classes[:30], *classes[-30:]]
    rows = [[row["class"], *(f"{row[kind]:,}" for kind in ("present", "absent", "unknown"))] for row in shown]
    print_table(["class", "present", "absent", "unknown"], rows)
    if len(shown) < len(classes):
        print(f"(the {len(classes) - len(shown):,} classes between the 30 most and 30 least frequent: --json)")
    if found["often_together"]:
        print("\nmost often present together:")
        print_table(
            ["classes", "images"], [[" + ".join(p["classes"]), f"{p['images']:,}"] for p in found["often_together"]]
        )
    if "duplicates" in found:
        _print_duplicates(found["duplicates"])
    for warning in found["warnings"]:
        print(f"\nwarning: {warning}")


def _print_duplicates(found: Mapping[str, Any]) -> None:
    groups = found["groups"]
    print(
        f"\n{len(groups):,} images are there more than once, {sum(map(len, groups)):,} files in all; "
        f"{found['across_splits']:,} of them in several splits, {found['contradicting']:,} with contradicting labels"
    )
    for group in groups[:_MOST_SHOWN]:
        print(f"  {' = '.join(group)}")
    if len(groups) > _MOST_SHOWN:
        print(f"  (and {len(groups) - _MOST_SHOWN:,} more: --json)")
    if found["images_without_file"]:
        print(f"{found['images_without_file']:,} images have no file: they were not compared")


def print_merge(out: str, found: Mapping[str, Any]) -> None:
    """What `data merge` joined, for a person."""
    print(f"{out}: {found['images']:,} images × {found['classes']:,} classes, {found['known']:,} labels known")
    rows = [[one["set"], *(f"{one[key]:,}" for key in ("images", "classes", "known"))] for one in found["sets"]]
    print_table(["set", "images", "classes", "labels known"], rows)
    shared = found["classes_in_several_sets"]
    print(f"\n{found['images_in_several_sets']:,} images and {len(shared):,} classes are in several sets")
    print(f"{found['labels_stated_twice']:,} labels are stated more than once, {found['contradicting']:,} contradict")
    for name, count in list(found["contradicting_per_class"].items())[:_MOST_SHOWN]:
        print(f"  {name}: {count:,}")
    for one in found["contradictions"][:_MOST_SHOWN]:
        print(
            f"  {one['image']}, {one['class']}: present in {', '.join(one['present'])}, "
            f"absent in {', '.join(one['absent'])}"
        )
    if found["contradicting"] > _MOST_SHOWN:
        print("  (more of them: --json)")
    if found["images_in_different_splits"]:
        print(
            f"{found['images_in_different_splits']:,} images are in different splits of different sets: "
            "they are kept out of train"
        )
    if not found["images_in_several_sets"]:
        ways = ", ".join(way for way in ("path", "id", "name", "content") if way != found["same"])
        print(f"hint: no image is in several sets by its {found['same']}; --same {ways} may find some")
    for one in found["classes_joined_of_some"][:_MOST_SHOWN]:
        print(
            f"hint: {one['set']} has no {' or '.join(map(repr, one['lacks']))}: where it says that "
            f"{' and '.join(map(repr, one['has']))} is absent, {one['class']!r} is absent"
        )
    for names in found["classes_with_similar_names"][:_MOST_SHOWN]:
        print(f"hint: {' and '.join(map(repr, names))} stay different classes; --map makes them one")
