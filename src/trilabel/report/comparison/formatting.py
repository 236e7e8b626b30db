"""Numbers and names as tables and plots of a comparison show them."""

import math

from trilabel.compare.results import SeedStatistics
from trilabel.printable import printable

NO_VALUE = "—"
_MOST_LETTERS = 40  # of a name in a plot


def mean_text(statistics: SeedStatistics) -> str:
    """Mean and deviation over seeds: "71.2 ± 0.4", "71.2" for one seed, "—" without a value."""
    if statistics.mean is None:
        return NO_VALUE
    spread = "" if statistics.deviation is None else f" ± {statistics.deviation:.1f}"
    return f"{statistics.mean:.1f}{spread}"


def percent(share: float) -> str:
    """A share in few digits.

    >>> percent(1), percent(0.1), percent(0.0025)
    ('100 %', '10 %', '0.25 %')
    """
    return f"{float(f'{100 * share:.2g}') if share < 0.1 else round(100 * share, 1):g} %"


def number_text(value: float | None) -> str:
    """A number as CSV files have it; empty if there is none."""
    return "" if value is None or math.isnan(value) else f"{value:.12g}"


def one_line(text: str) -> str:
    """The text without line breaks, repeated spaces and control characters."""
    return printable(" ".join(text.split()))


def plot_label(name: str) -> str:
    """A name for a plot: on one line, not too long, and safe for matplotlib."""
    text = one_line(name)
    text = text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"
    # matplotlib hides labels that start with an underscore and reads a dollar as the start of a formula.
    return " " * text.startswith("_") + text.replace("$", r"\$")
