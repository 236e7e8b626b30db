"""The table of all classes, as columns of numbers for the page's script."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilabel.printable import plural, printable
from trilabel.report.page.blocks import ClassTable
from trilabel.report.page.facts import RunFacts
from trilabel.report.page.numbers import Numbers

_FEW = 10  # known positives


def class_table(facts: RunFacts) -> ClassTable:
    """All classes, as columns of numbers for the page's script."""
    columns: list[Mapping[str, Any]] = [column("class", "name", [printable(name) for name in facts.about.classes])]
    numbers, filters = facts.numbers, list[Mapping[str, Any]]()
    if numbers is not None:
        columns.append(ap_column("AP %", numbers))
    if facts.labels is not None:
        present, absent = facts.labels.counts_per_class()
        columns.append(column("known +", "count", present.tolist(), "training images known to have it"))
        columns.append(column("known −", "count", absent.tolist(), "training images known not to have it"))
        filters.append({"label": f"fewer than {_FEW} known positives", "column": len(columns) - 2, "below": _FEW})
    if numbers is not None:
        columns.append(column("judged +", "count", numbers.positives.tolist(), "known positives where it is judged"))
        columns.append(column("precision %", "percent", percents(numbers.precision), "at the threshold"))
        columns.append(column("recall %", "percent", percents(numbers.recall), "at the threshold"))
        limits = [round(value, 3) for value in numbers.thresholds.tolist()]
        columns.append(column("present from", "share", limits, "the probability from which it counts as present"))
        filters.append({"label": "no AP", "column": 1, "empty": True})
    if facts.completion is not None:
        filters += _add_completion(facts, columns)
    caption = f"{plural(len(facts.about.classes), 'class')}. Click a heading to sort."
    return ClassTable("class-table", caption, columns, filters)


def _add_completion(facts: RunFacts, columns: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    assert facts.completion is not None
    by_name = {each.name: each for each in facts.completion.classes}
    found = [by_name.get(name) for name in facts.about.classes]
    for head, name, words in (
        ("filled +", "filled_present", "unknown labels that complete decided are present"),
        ("filled −", "filled_absent", "unknown labels that complete decided are absent"),
        ("left unknown", "left_unknown", "labels that complete left unknown"),
        ("needed", "needed", "how many more known labels would allow a decision"),
    ):
        values = [None if each is None else getattr(each, name) for each in found]
        columns.append(column(head, "count", values, words))
    return [{"label": "more known labels needed", "column": len(columns) - 1, "above": 0}]


def column(label: str, kind: str, values: Sequence[Any], words: str = "") -> dict[str, Any]:
    """A column of the table; kind: name, count, percent, share or range."""
    return {"label": label, "kind": kind, "help": words, "values": list(values)}


def ap_column(label: str, numbers: Numbers, words: str = "average precision, with its 95 % interval") -> dict[str, Any]:
    """The column of APs, with their intervals."""
    bounds = {"low": percents(numbers.ap_low), "high": percents(numbers.ap_high)} if numbers.has_intervals else {}
    return column(label, "range", percents(numbers.ap), words) | bounds


def percents(shares: NDArray[np.float64]) -> list[float | None]:
    """Shares in percent with one decimal; None for nan."""
    return [None if np.isnan(value) else round(100 * value, 1) for value in shares.tolist()]
