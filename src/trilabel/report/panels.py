"""What is drawn of a run over its epochs, as numbers: the same for a picture and for a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Lines:
    """One panel of lines: series[name][e] is the value of `name` after epoch e + 1 (None: no point)."""

    title: str
    unit: str
    series: Mapping[str, Sequence[float | None]]
    caption: str = ""  # what it shows, for who sees it first
