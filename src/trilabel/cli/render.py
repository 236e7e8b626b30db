"""Printing results on standard output, for a person or as JSON."""

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from trilabel.printable import json_escaped, plural, printable, shorten

_LONGEST_CELL = 160  # letters; --json prints whole names
_LEGEND = (
    "mAP: average precision, mean over classes; P, R, F1: precision, recall and their harmonic mean,",
    "C mean over classes, O all labels together",
)
_EXACT_MATCH = "; exact_match: images with every label right"
# A number, perhaps in percent, with a second one after it, or in brackets; a dash; nothing.
_NUMBER = re.compile(r"[-−+]?[\d,.]+(?:e[-+]?\d+)?(?: ?%)?(?: […±] [\d,.]+)?|—|")
MOST_SHOWN = 10  # entries of a list; --json prints all


def print_json(value: Any) -> None:
    """Prints JSON; characters that a terminal would obey are escaped, so the value is exact."""
    print(json_escaped(json.dumps(value, indent=1, ensure_ascii=False)))


def print_line(*texts: str, between: str = " ") -> None:
    """Prints a line of these texts. What others wrote may stand in them: control characters are made visible."""
    print(between.join(map(printable, texts)))


def percent(value: float | None) -> str:
    """A share in percent with one decimal; a dash for None.

    >>> percent(0.12345), percent(None)
    ('12.3', '—')
    """
    return "—" if value is None else f"{100 * value:.1f}"


def print_table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Prints a table, numbers at the right; at its full width if standard output is not a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    texts = [[Text(shorten(printable(str(cell)), _LONGEST_CELL)) for cell in row] for row in (heads, *rows)]
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for head, *cells in zip(*texts, strict=True):
        table.add_column(head, justify="right" if _are_numbers([cell.plain for cell in cells]) else "left")
    for row in texts[1:]:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)


def _are_numbers(cells: Sequence[str]) -> bool:
    """Whether these are numbers, or dashes where there is none."""
    return all(map(_NUMBER.fullmatch, cells)) and any(any(map(str.isdigit, cell)) for cell in cells)


def print_entries(entries: Mapping[str, Sequence[str]]) -> None:
    """Prints names, each with a few lines under it, within the width of the terminal."""
    width = max(40, shutil.get_terminal_size((120, 24)).columns)
    for name, lines in entries.items():
        print_line(name)
        for line in lines:
            # Options and paths are for pasting: they are never broken.
            print(
                textwrap.fill(
                    printable(line),
                    width,
                    initial_indent="    ",
                    subsequent_indent="      ",
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            )


def print_metrics(result: Mapping[str, Any], title: str) -> None:
    """Prints the metrics that people want to see first."""
    from trilabel.metrics import CLASSES_WORTH_GROUPS, GROUP_METRICS

    print_line(title)
    names = ("mAP", "CP", "CR", "CF1", "OP", "OR", "OF1", "exact_match")
    shown = [name for name in names if name in result]
    if result.get("known_share", 1) < 1 and "exact_match" in shown:  # of few known labels all are soon right
        shown.remove("exact_match")
    if shown:
        print_table([f"{name} %" for name in shown], [[percent(result[name]) for name in shown]])
        print("\n".join(_LEGEND) + _EXACT_MATCH * ("exact_match" in shown))
    groups = [name for name in GROUP_METRICS if name in result]
    if any(result[name] is not None for name in groups) and result["classes"] >= CLASSES_WORTH_GROUPS:
        print("mAP by five groups of classes, from those with fewest known training labels (G1) to most (G5)")
        print_table([f"{name[4:]} %" for name in groups], [[percent(result[name]) for name in groups]])
    if result.get("classes_without_ap"):
        print_line(
            plural(result["classes_without_ap"], "class has", "classes have")
            + " no known positive, or no known negative, in this split, and no part in mAP"
        )


def settings_lines(choices: Mapping[str, str], prefix: str = "", option: str = "--set") -> list[str]:
    """The option that gives these settings, as one line; no line if there are none.

    >>> settings_lines({"alpha": "0.5", "k": "5"}, "head.")
    ['--set head.alpha=0.5 head.k=5']
    """
    words = " ".join(f"{prefix}{name}={choice}" for name, choice in choices.items())
    return [f"{option} {words}"] if words else []
