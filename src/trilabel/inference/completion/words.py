"""What a completion did, in a few lines for people."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trilabel.printable import plural

_SIDES = ("present", "absent")
_MOST_NAMED = 3  # classes


def describe(summary: Mapping[str, Any], listed: str | Path = "mistakes.csv") -> list[str]:
    """The lines: what was filled, what is promised or assumed, what was left, and what is suspicious.

    listed: where suspected mistakes are.
    """
    filled = ", ".join(f"{summary[f'filled_{side}']:,} filled as {side}" for side in _SIDES)
    holes, images = plural(summary["holes"], "unknown label"), plural(summary["images"], "image")
    lines = [f"{holes} of {images}: {filled}, {summary['left_unknown']:,} left unknown"]
    if summary["filled_present"] or summary["filled_absent"]:
        lines.append(_basis(summary))
    lines += _checked(summary) + _left(summary)
    if skipped := summary["not_decided_images"]:
        lines.append(
            f"{plural(skipped, 'image')} left as they are: the model has learned from them (--folds 5 trains models "
            "that have not)"
        )
    return [*lines, *_mistakes(summary, listed)]


def _mistakes(summary: Mapping[str, Any], listed: str | Path) -> list[str]:
    told = summary["mistakes"]
    if told["count"]:
        labels, share = plural(told["count"], "known label"), told["expected_share"]
        return [f"{labels} to look at, of which {share:.0%} are probably wrong: {listed}"]
    if told["too_weak"]:
        return ["no suspected mistakes: the scores are too weak to tell them from errors of the model"]
    return ["no suspected mistakes"] if summary["basis"] == "promise" else []


def _basis(summary: Mapping[str, Any]) -> str:
    shares = " and ".join(f"{summary['precision'][side]:.0%} of those filled as {side}" for side in _SIDES)
    if summary["basis"] == "assumption":
        return (
            f"assumption, no promise: {shares} are right if this holds: {summary['assumption']}; --audit 200 writes "
            "questions whose answers turn it into a promise"
        )
    by = "answers to questions drawn at random" if summary["basis"] == "audit" else "known labels"
    given = f"; {summary['assumption']}" if summary["assumption"] and summary["basis"] == "promise" else ""
    return (
        f"promise: at least {shares} are right, of each class or group that shares a threshold, with confidence "
        f"{summary['confidence']:.0%}; by {by}{given}"
    )


def _checked(summary: Mapping[str, Any]) -> list[str]:
    lines = []
    for side, found in summary["audit"].items():
        if found["answered"]:
            lines.append(f"{found['right']:,} of {found['answered']:,} answers agree with what was proposed as {side}")
    if told := summary.get("truth"):
        parts = [
            f"{told[side]['right'] / told[side]['decided']:.1%} of those filled as {side}"
            for side in _SIDES
            if told[side]["decided"]
        ]
        lines += [f"by the labels that were hidden on purpose, right are {' and '.join(parts)}"] if parts else []
    return lines


def _left(summary: Mapping[str, Any]) -> list[str]:
    """Classes in which nothing could be filled in, those first that the fewest more known labels would change."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in summary["classes"]:
        sides = [side for side in _SIDES if one[f"threshold_{side}"] is None]
        if sides and one["left_unknown"]:
            found.setdefault(" or ".join(sides), []).append(one)
    told = []
    for which, classes in found.items():
        cheapest = sorted(classes, key=lambda one: one["needed"] or math.inf)
        names = [one["name"] + (f" ({one['needed']:,} more)" if one["needed"] else "") for one in cheapest]
        every = len(classes) == len(summary["classes"])
        where = "any class" if every else plural(len(classes), "class")
        told.append(f"nothing filled as {which} in {where}: {', '.join(names[:_MOST_NAMED])}{_others(names)}")
    if told and any(one["needed"] for classes in found.values() for one in classes):
        told[-1] += "; in brackets: so many more known labels would do"
    for side, lower in summary["laxer"].items():
        option = "--precision" + ("-absent" if side == "absent" else "")
        count, share = plural(lower["filled"], "label"), lower["precision"]
        told.append(f"at {share:.0%} {count} could be filled as {side}: {option} {share:g}")
    return told


def _others(names: Sequence[str]) -> str:
    return f" and {plural(len(names) - _MOST_NAMED, 'other')}" if len(names) > _MOST_NAMED else ""
