"""What a completion decided and what it promises: the contents of completion.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trilabel.inference.completion.counts import Counts
from trilabel.inference.completion.deciding import Rules
from trilabel.inference.completion.result import Completion
from trilabel.inference.completion.rules import Decided, Wanted, threshold
from trilabel.inference.score_table import ScoreTable
from trilabel.labels import Labels
from trilabel.printable import plural


@dataclass(frozen=True)
class Basis:
    """What decisions rest on."""

    kind: Literal["promise", "assumption", "audit"]
    assumption: str | None  # a sentence for people, where something is taken for granted
    note: str
    audit: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # side -> (right, answered)


def summary_of(
    table: ScoreTable,
    labels: Labels,
    counts: Counts,
    decided: Decided,
    basis: Basis,
    wanted: Wanted,
    answers: NDArray[np.int64],
) -> dict[str, Any]:
    """labels: all that is known, with answers. counts: of the labels that were looked at, by log-odds.

    answers: 2×C, of the labels counted as present and as absent those that people answered."""
    images, classes = labels.shape
    bins = np.arange(counts.unknown.shape[1])
    present = (counts.unknown * (bins >= decided.from_bin[:, None])).sum(1) - answers[0]
    absent = (counts.unknown * (bins <= decided.to_bin[:, None])).sum(1) - answers[1]
    positives, negatives = labels.counts_per_class()
    unknown = images - positives - negatives
    names = list(table.classes)
    needed = _needed(decided)
    groups = [_group(names, rules) for rules in (decided.present, decided.absent)]
    from_p, to_p = threshold(decided.from_bin), threshold(decided.to_bin + 1)
    by_class: list[dict[str, Any]] = [
        {
            "name": names[c],
            "known_positives": int(positives[c]),
            "known_negatives": int(negatives[c]),
            "group": groups[0][c],
            "group_absent": groups[1][c],
            "threshold_present": _number(from_p[c]) if decided.present.place[c] >= 0 else None,
            "threshold_absent": _number(to_p[c]) if decided.absent.place[c] >= 0 else None,
            "bound_present": _number(decided.present.bound[c]),
            "bound_absent": _number(decided.absent.bound[c]),
            "filled_present": int(present[c]),
            "filled_absent": int(absent[c]),
            "left_unknown": max(int(unknown[c] - present[c] - absent[c]), 0),
            "needed": needed[c],
        }
        for c in range(classes)
    ]
    filled = {
        name: sum(each[name] for each in by_class) for name in ("filled_present", "filled_absent", "left_unknown")
    }
    return {
        "precision": {"present": wanted.present, "absent": wanted.absent},
        "confidence": wanted.confidence,
        "basis": basis.kind,
        "assumption": basis.assumption,
        "audit": {side: {"right": right, "answered": of} for side, (right, of) in basis.audit.items()},
        "images": images,
        "labels": images * classes,
        "known": labels.known,
        "holes": images * classes - labels.known,
        **filled,
        "not_decided_images": int((~table.held_out).sum()),
        "classes": by_class,
    }


def truth_of(completion: Completion, truth: Labels) -> dict[str, dict[str, int]]:
    """Of the labels decided as present, and as absent: how many are right by labels that were hidden on purpose."""
    found = {side: {"right": 0, "decided": 0} for side in ("present", "absent")}
    for rows, origins in completion.origins():
        true = truth.csr[rows[0] : rows[-1] + 1].toarray()
        for sign, side in ((1, "present"), (-1, "absent")):
            told = (origins.sources == 0) & (origins.values == sign) & (true != 0)
            found[side]["decided"] += int(told.sum())
            found[side]["right"] += int((true[told] == sign).sum())
    return found


def _needed(decided: Decided) -> list[int | None]:
    """How many more known labels each class needs for both sides; 0 is None: nothing is needed, or nothing helps."""
    both = np.stack((decided.present.needed, decided.absent.needed))
    most = np.where(np.isnan(both), -1, both).max(0)
    return [int(number) if number > 0 else None for number in most.tolist()]


def _group(names: list[str], rules: Rules) -> list[str]:
    """The name of the class, or of the group that shares its threshold."""
    shared = {number: int((rules.unit == number).sum()) for number in np.unique(rules.unit[rules.unit >= len(names)])}
    return [
        f"{plural(shared[unit], 'class')} together" if unit in shared else name
        for name, unit in zip(names, rules.unit.tolist(), strict=True)
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
