"""Which unknown labels count as present and which as absent: thresholds by class, and what is promised of each."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trilabel.inference.completion.counts import BINS, EVEN, Counts, bins_of, centers
from trilabel.inference.completion.deciding import Rules, Side, decide
from trilabel.inference.completion.hidden import Hidden
from trilabel.inference.completion.promise import Evidence, laxest, most_errors

Numbers = NDArray[np.float64]

UP, DOWN = slice(BINS - 1, EVEN - 1, -1), slice(0, EVEN)  # from the strictest threshold to the laxest: even odds
_LOWER = (0.9, 0.8, 0.7, 0.6)  # precisions that are tried where the one that was asked for bears nothing
_SPENT = 0.5  # of the error that the confidence leaves, on the estimate of how many unknown labels are present


@dataclass(frozen=True)
class Wanted:
    """What is asked for: shares of the decided labels that are right, and how sure that must be for each threshold."""

    present: float = 0.95
    absent: float = 0.95
    confidence: float = 0.9

    @property
    def of_bounds(self) -> float:
        """The confidence of each bound of an estimate on which a test rests."""
        return 1 - _SPENT * (1 - self.confidence)

    @property
    def of_tests(self) -> float:
        """The confidence of such a test."""
        return 1 - (1 - _SPENT) * (1 - self.confidence)


@dataclass(frozen=True)
class Decided:
    """Both sides. A label is present from bin `from_bin` of its class on, absent up to `to_bin`."""

    present: Rules
    absent: Rules

    @property
    def from_bin(self) -> NDArray[np.int64]:
        """C; beyond the last bin where nothing is decided."""
        return np.where(self.present.place >= 0, BINS - 1 - self.present.place, BINS)

    @property
    def to_bin(self) -> NDArray[np.int64]:
        """C; −1 where nothing is decided."""
        return self.absent.place

    def __call__(self, odds: NDArray[np.float32]) -> NDArray[np.int8]:
        """n×C: +1, −1, or 0 where it stays unknown."""
        place = bins_of(odds)
        found = (place >= self.from_bin).astype(np.int8)
        found -= place <= self.to_bin
        return found


def threshold(bins: NDArray[np.int64]) -> Numbers:
    """The probability at the lower end of bins."""
    edge: Numbers = 1 / (1 + np.exp(-(centers()[bins.clip(0, BINS - 1)] - (centers()[1] - centers()[0]) / 2)))
    return edge


def decide_by_known(counts: Counts, hidden: Hidden, wanted: Wanted) -> Decided:
    """By exact tests on known labels; counts are of log-odds given that a label is unknown."""
    unknown, known = counts.unknown.sum(1).astype(np.float64), (counts.positives + counts.negatives).sum(1)
    estimated = wanted.confidence if hidden.certain else wanted.of_tests
    # That all unknown labels are absent needs no estimate, and where few are present it is nearly so.
    with np.errstate(divide="ignore", invalid="ignore"):
        at_most = unknown / counts.negatives.sum(1)
    sure = _room(wanted.confidence) * at_most <= _room(estimated) * hidden.negative_weight
    present_side = Side(
        counts.unknown[:, UP],
        counts.negatives[:, UP],
        np.where(sure, at_most, hidden.negative_weight),
        hidden.most_absent,
        known,
        np.where(sure, wanted.confidence, estimated),
    )
    absent_side = Side(
        counts.unknown[:, DOWN],
        counts.positives[:, DOWN],
        hidden.positive_weight,
        hidden.most_present,
        known,
        np.full(len(unknown), estimated),
    )
    return Decided(decide(present_side, wanted.present), decide(absent_side, wanted.absent))


def decide_laxer(counts: Counts, hidden: Hidden, wanted: Wanted, decided: Decided) -> dict[str, tuple[float, int]]:
    """By side on which nothing was decided: the highest lower precision that decides labels, and how many."""
    found, asked = dict[str, tuple[float, int]](), {"present": wanted.present, "absent": wanted.absent}
    empty = {side for side, count in _decided(counts, decided).items() if not count}
    for lower in _LOWER:
        if not empty:
            break
        at_lower = _decided(counts, decide_by_known(counts, hidden, replace(wanted, present=lower, absent=lower)))
        found |= {side: (lower, at_lower[side]) for side in empty if lower < asked[side] and at_lower[side]}
        empty -= found.keys()
    return found


def _decided(counts: Counts, decided: Decided) -> dict[str, int]:
    bins = np.arange(BINS)
    chosen = {"present": bins >= decided.from_bin[:, None], "absent": bins <= decided.to_bin[:, None]}
    return {side: int(counts.unknown[where].sum()) for side, where in chosen.items()}


def _room(confidence: float) -> float:
    return most_errors(0, 0, 1, confidence)


def propose(counts: Counts, wanted: Wanted) -> Decided:
    """All classes together, from the thresholds at which as many are right as asked for if probabilities are."""
    unknown, p = counts.unknown.sum(0), 1 / (1 + np.exp(-centers()))
    classes = len(counts.unknown)
    present = _proposed(unknown[UP], p[UP], wanted.present, classes)
    return Decided(present, _proposed(unknown[DOWN], 1 - p[DOWN], wanted.absent, classes))


def _proposed(unknown: NDArray[np.int64], right: Numbers, precision: float, classes: int) -> Rules:
    decided = unknown.cumsum()
    with np.errstate(invalid="ignore"):
        share = (unknown * right).cumsum() / decided
    good = np.flatnonzero(share >= precision)
    place = int(good[-1]) if len(good) else -1
    bound = float(share[place]) if len(good) else np.nan
    return _common(classes, place, bound)


@dataclass(frozen=True)
class Audit:
    """Answers to questions drawn at random among the labels that were proposed for one side."""

    bins: NDArray[np.int64]  # n: of their log-odds
    right: NDArray[np.bool_]  # n: whether the proposal was

    def share(self) -> tuple[int, int]:
        """(right ones, all)."""
        return int(self.right.sum()), len(self.right)


def decide_by_audit(counts: Counts, proposed: Decided, present: Audit, absent: Audit, wanted: Wanted) -> Decided:
    """What the answers bear of the proposals; all classes together."""
    unknown, classes = counts.unknown.sum(0), len(counts.unknown)
    order = np.arange(BINS)
    return Decided(
        _audited(unknown, order[UP], proposed.present, present, wanted.present, wanted.confidence, classes),
        _audited(unknown, order[DOWN], proposed.absent, absent, wanted.absent, wanted.confidence, classes),
    )


def _audited(
    unknown: NDArray[np.int64],
    order: NDArray[np.int64],
    proposed: Rules,
    audit: Audit,
    precision: float,
    confidence: float,
    classes: int,
) -> Rules:
    """order: the bins, from the strictest threshold to the laxest."""
    asked = np.bincount(audit.bins, minlength=BINS)[order]
    # What is laxer than any question was perhaps not proposed when they were drawn.
    last = min(int(np.flatnonzero(asked).max(initial=-1)), int(proposed.place.max(initial=-1)))
    if last < 0:
        return _common(classes, -1, np.nan)
    decided = unknown[order][: last + 1].cumsum().astype(np.float64)
    answered = int(asked[: last + 1].sum())
    weight = float(decided[-1]) / answered
    wrong = np.bincount(audit.bins[~audit.right], minlength=BINS)[order][: last + 1].cumsum() * weight
    evidence = Evidence(decided, wrong, wrong * weight, weight)
    place = laxest(evidence, precision, confidence)
    if place is None:
        return _common(classes, -1, np.nan)
    worst = most_errors(float(wrong[place]), float(wrong[place]) * weight, weight, confidence)
    return _common(classes, place, 1 - worst / float(decided[place]))


def _common(classes: int, place: int, bound: float) -> Rules:
    return Rules(np.full(classes, place), np.full(classes, bound), np.full(classes, classes), np.full(classes, np.nan))
