"""From what thresholds on labels are decided: one for each class that has enough known labels, one for others together.

Both sides, present and absent, are decided by the same function, by turns.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilabel.inference.completion.promise import Evidence, laxest, least_room, most_errors, times_more

Numbers = NDArray[np.float64]

_ROOM_ALONE = 10  # known errors that a class must be able to bear to have a threshold of its own


@dataclass(frozen=True)
class Side:
    """The labels of one side, by class and by threshold, from the strictest to the laxest that is allowed."""

    unknown: NDArray[np.int64]  # C×T: unknown labels at each threshold that are not beyond the one before
    contrary: NDArray[np.int64]  # C×T: known labels that contradict, likewise
    weights: Numbers  # C: unknown labels that contradict for each known one that does
    most: Numbers  # C: unknown labels that contradict, at most
    known: NDArray[np.int64]  # C: known labels of either value
    confidence: Numbers  # C: of the test; what is left of what was asked for, where weights are estimates


@dataclass(frozen=True)
class Rules:
    """What was found for one side; −1, nan and 0 where nothing can be promised."""

    place: NDArray[np.int64]  # C: the threshold
    bound: Numbers  # C: at least so many of the decided labels are right, of the class or of its group
    unit: NDArray[np.int64]  # C: a number for each class, the same for those that share a threshold
    needed: Numbers  # C: how many more known labels would do; 0 where enough are there, nan where none would


def decide(side: Side, precision: float) -> Rules:
    """The thresholds of one side."""
    decided = side.unknown.sum(1)
    place, bound = np.full(len(decided), -1), np.full(len(decided), np.nan)
    safe = (decided > 0) & (side.most <= (1 - precision) * decided)
    place[safe], bound[safe] = side.unknown.shape[1] - 1, 1 - side.most[safe] / decided[safe]
    unit = np.full(len(decided), -1)
    unit[safe] = np.flatnonzero(safe)
    for number, classes in enumerate(units(np.where(safe, 0, decided), side.weights, 1 - precision, side.confidence)):
        unit[classes] = classes[0] if len(classes) == 1 else len(decided) + number
        evidence, confidence = _evidence(side, classes), float(side.confidence[classes].max())
        if (found := laxest(evidence, precision, confidence)) is not None:
            worst = most_errors(
                float(evidence.errors[found]), float(evidence.squares[found]), evidence.weight, confidence
            )
            place[classes], bound[classes] = found, 1 - worst / float(evidence.decided[found])
    needed = [0.0 if place[c] >= 0 else _needed(side, c, precision) for c in range(len(decided))]
    return Rules(place, bound, unit, np.array(needed))


def units(decided: NDArray[np.int64], weights: Numbers, share: float, confidence: Numbers) -> list[NDArray[np.int64]]:
    """Which classes are tested alone, and which together; those that cannot be tested at all are in none.

    decided: unknown labels that the laxest threshold would decide [C]; weights: what a known label stands for [C].
    share: of errors that are allowed. It is not asked which known labels contradict, so that tests stay exact. As a
    class with few known labels counts with its weight, the heaviest are left out of the group, if it needs that.

    >>> units(np.array([900, 50, 60, 40]), np.array([1.0, 2.0, 1.0, 90.0]), 0.05, np.full(4, 0.9))
    [array([0]), array([1, 2])]
    """
    with np.errstate(invalid="ignore"):
        alone = share * decided / weights >= least_room(_ROOM_ALONE, confidence)
    found = [np.array([c]) for c in np.flatnonzero(alone)]
    rest = np.flatnonzero(~alone & (decided > 0) & np.isfinite(weights))
    rest = rest[np.argsort(weights[rest], kind="stable")]
    room = share * np.cumsum(decided[rest]) / np.maximum(weights[rest], 1e-12)
    surest = np.maximum.accumulate(confidence[rest])
    for errors in range(_ROOM_ALONE, -1, -1):
        if (fits := np.flatnonzero(room >= least_room(errors, surest))).size:
            found.append(np.sort(rest[: fits[-1] + 1]))
            break
    return found


def _evidence(side: Side, classes: NDArray[np.int64]) -> Evidence:
    own, contrary = side.weights[classes], side.contrary[classes]
    return Evidence(
        side.unknown[classes].sum(0).cumsum().astype(np.float64),
        (own @ contrary).cumsum(),
        (own**2 @ contrary).cumsum(),
        float(own.max()),
    )


def _needed(side: Side, number: int, precision: float) -> float:
    """How many more known labels of a class, like those that there are, would give it a threshold of its own."""
    decided, known = side.unknown[number].cumsum().astype(np.float64), int(side.known[number])
    weight, more = float(side.weights[number]), known
    if not decided[-1]:
        return math.nan
    if not math.isfinite(weight):  # none is known: as if one of them were, and beyond no threshold
        weight = float(side.most[number])
        more = known + max(1, round((float(side.unknown[number].sum()) + known) / max(weight, 1.0)))
    errors = side.contrary[number].cumsum() * weight
    evidence = Evidence(decided, errors, errors * weight, weight)
    times = times_more(evidence, precision, float(side.confidence[number]))
    return math.nan if times is None else math.ceil(times * more) - known
