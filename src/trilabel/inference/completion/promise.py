"""The laxest threshold at which a promise holds: exact tests, one after the other, from strict thresholds to lax ones.

At a threshold some unknown labels are decided. Some known labels beyond it contradict the decision; each stands for as
many unknown ones (its weight) as there are unknown labels of its class and value for a known one. So many errors are to
be expected among the decided labels, and a Poisson test, exact where all weights are equal (Fay and Feuer 1997
otherwise), says whether there may be more than the promise allows. The sequence of thresholds depends on scores alone,
and the first test that fails ends it: so the chance that any of its promises is broken is that of one (fixed-sequence
testing, as in "learn then test").
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaincinv

Numbers = NDArray[np.float64]

_STEP = 1.1  # as many times more labels are decided at the next threshold that is tested
_MOST_ERRORS = 3  # known ones that the first test allows, where a unit is large enough to go on from there
_ROOM = 2.0  # as many times more must be to be decided in all
_MOST_TIMES = 1000.0  # more known labels than that nobody gets


@dataclass(frozen=True)
class Evidence:
    """What there is at each of T thresholds, from the strictest to the laxest: all numbers add up, so none falls."""

    decided: Numbers  # T: unknown labels beyond the threshold
    errors: Numbers  # T: known labels beyond it that contradict, each counted with its weight
    squares: Numbers  # T: the same with the squares of the weights
    weight: float  # the largest weight


def chance(errors: float, squares: float, weight: float, allowed: float) -> float:
    """How likely so few errors are if more than `allowed` are to be expected: the p-value of the promise.

    >>> round(chance(0, 0, 1, 2.303), 3), round(chance(3, 3, 1, 6.681), 3)
    (0.1, 0.1)
    """
    scale = (squares + weight**2) / (errors + weight)
    return float(gammaincc((errors + weight) / scale, allowed / scale))


def most_errors(errors: float, squares: float, weight: float, confidence: float) -> float:
    """As many errors are to be expected at most.

    >>> round(most_errors(0, 0, 1, 0.9), 3)
    2.303
    """
    scale = (squares + weight**2) / (errors + weight)
    return float(scale * gammaincinv((errors + weight) / scale, confidence))


def least_room(known_errors: int, confidence: Any) -> Any:
    """Weights' worth of errors that a promise must allow for so many known errors not to break it."""
    return gammaincinv(known_errors + 1, confidence)


def laxest(evidence: Evidence, precision: float, confidence: float) -> int | None:
    """The laxest threshold at which at least `precision` of the decided labels are right; None if there is none."""
    decided, share = evidence.decided, 1 - precision
    best = None
    for place in _tested(evidence, share, confidence):
        at = (float(evidence.errors[place]), float(evidence.squares[place]), evidence.weight)
        if chance(*at, share * float(decided[place])) > 1 - confidence:
            break
        best = int(place)
    return best


def _tested(evidence: Evidence, share: float, confidence: float) -> list[int]:
    """Which thresholds are tested, by how many labels are decided at each.

    The first is where the promise allows a few known errors; in a small unit, fewer: one that all its labels bear.
    """
    decided = evidence.decided
    room = share * float(decided[-1]) / evidence.weight if len(decided) else 0.0
    first = max(
        (least for n in range(_MOST_ERRORS + 1) if (least := least_room(n, confidence)) <= max(room / _ROOM, 0.0)),
        default=least_room(0, confidence),
    )
    places, wanted = list[int](), first * evidence.weight / share
    while (place := int(np.searchsorted(decided, wanted * (1 - 1e-12)))) < len(decided):
        places.append(place)
        wanted = max(float(decided[place]) * _STEP, float(decided[place]) + 1)
    if places and decided[places[-1]] < decided[-1]:
        places.append(len(decided) - 1)
    return places


def times_more(evidence: Evidence, precision: float, confidence: float) -> float | None:
    """How many times as many known labels, like those that there are, would bear the promise; None: no number would.

    At the threshold where the fewest would do.
    """
    decided = (1 - precision) * evidence.decided
    useful = np.flatnonzero((decided > evidence.errors) & (decided > 0))
    if not len(useful):
        return None

    def borne(times: float) -> bool:
        y, v, w = evidence.errors[useful], evidence.squares[useful] / times, evidence.weight / times
        scale = (v + w**2) / (y + w)
        return bool((gammaincc((y + w) / scale, decided[useful] / scale) <= 1 - confidence).any())

    low, high = 0.0, math.log(_MOST_TIMES)
    if borne(1.0):
        return 1.0
    if not borne(_MOST_TIMES):
        return None
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if borne(math.exp(middle)) else (middle, high)
    return math.exp(high)
