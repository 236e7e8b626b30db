"""What has been answered so far, in memory: who said what of which label, and how far everything is.

A label is named by its key, row · C + column. Whoever calls holds the lock of the desk.
"""

import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.labels.names import Names
from trilabel.review.intervals import Share, exact_share
from trilabel.review.proposals import Proposals, sigmoid
from trilabel.review.store import Record
from trilabel.review.survey import LEAST

_LONGEST_PAUSE = 60.0  # seconds; who takes longer for an answer is doing something else
_RECENT = 500


class RecentAnswer(NamedTuple):
    """An answer for the list of the last ones."""

    key: int
    record: Record


class Answered:
    """The answers to questions about one data set; records about other images or classes are left out."""

    def __init__(self, proposals: Proposals, population: str, votes: int) -> None:
        self._proposals, self._population, self._votes = proposals, population, votes
        self._classes = proposals.shape[1]
        self._column = {name: column for column, name in enumerate(proposals.classes)}
        self.said: dict[int, dict[str, int]] = {}
        self.drawn: dict[str, dict[int, int]] = {"all": {}, "class": {}}  # key -> how it is proposed
        self.done = np.zeros(self._classes, np.int64)  # questions of each class that are worth asking and closed
        self.by_person: Counter[str] = Counter()
        self.several: set[int] = set()  # answered by more than one person
        self.recent: deque[RecentAnswer] = deque(maxlen=_RECENT)
        self._times: dict[str, deque[tuple[float, int]]] = {}

    def load(self, records: Sequence[Record]) -> int:
        """Answers that were given before; returns how many are about other images or classes."""
        rows = self._proposals.ids.positions(Names([record.image for record in records]))
        columns = np.array([self._column.get(record.cls, -1) for record in records], np.int64)
        good = np.flatnonzero((rows >= 0) & (columns >= 0))
        keys = rows[good] * self._classes + columns[good]
        for place, key, chance in zip(good.tolist(), keys.tolist(), self._chances(keys).tolist(), strict=True):
            self.note(key, records[place], chance)
        return len(records) - len(good)

    def _chances(self, keys: NDArray[np.int64]) -> NDArray[np.float32]:
        rows, columns = np.divmod(keys, self._classes)
        logits = np.asarray(self._proposals.logits[rows, columns], np.float32)
        return sigmoid(logits * self._proposals.slope + self._proposals.shifts[columns])

    def note(self, key: int, record: Record, chance: float | None) -> None:
        """Takes one answer into account; chance: the probability that the label is present."""
        said = self.said.setdefault(key, {})
        was_closed = len(said) >= self._votes
        self.by_person[record.who] += (not record.undone) - (record.who in said)
        if record.undone:
            said.pop(record.who, None)
        else:
            said[record.who] = record.value
            if record.drawn in self.drawn and record.population == self._population:
                self.drawn[record.drawn][key] = record.proposed
        if not said:
            del self.said[key]
        (self.several.add if len(said) > 1 else self.several.discard)(key)
        if chance is not None and chance >= LEAST:
            self.done[key % self._classes] += (len(said) >= self._votes) - was_closed
        self.recent.append(RecentAnswer(key, record))

    def is_closed(self, key: int) -> bool:
        """Whether enough people have answered."""
        return len(self.said.get(key, ())) >= self._votes

    def value(self, key: int) -> int:
        """What most said who could tell: +1, −1, or 0 for neither."""
        total = sum(self.said.get(key, {}).values())
        return (total > 0) - (total < 0)

    def right(self, sign: int, column: int | None = None) -> Share:
        """Of what is proposed so, in all or in a class, the share that is right, by the questions drawn at random."""
        keys: Iterable[tuple[int, int]] = self.drawn["all"].items()
        if column is not None:  # what was drawn from all is, within a class, drawn from that class
            both = {**self.drawn["all"], **self.drawn["class"]}
            keys = ((key, proposed) for key, proposed in both.items() if key % self._classes == column)
        values = [self.value(key) for key, proposed in keys if proposed == sign]
        return exact_share(values.count(sign), len(values) - values.count(0))

    def agreement(self) -> tuple[int, int]:
        """(pairs of people's answers to one question that agree, all such pairs); without those who could not tell."""
        agreeing = pairs = 0
        for key in self.several:
            told = [value for value in self.said[key].values() if value]
            for one, other in combinations(told, 2):
                agreeing, pairs = agreeing + (one == other), pairs + 1
        return agreeing, pairs

    def disagreements(self) -> list[int]:
        """Questions to which people gave different answers."""
        return sorted(key for key in self.several if len({value for value in self.said[key].values() if value}) > 1)

    def clock(self, who: str, answers: int) -> None:
        """Notes that a person has sent so many answers just now."""
        self._times.setdefault(who, deque(maxlen=50)).append((time.monotonic(), answers))

    def seconds_per_answer(self, who: str) -> float | None:
        """How long a person takes for an answer, lately; None where that is not known yet."""
        times = list(self._times.get(who, ()))
        spent = [
            (min(end - start, _LONGEST_PAUSE * count), count) for (start, _), (end, count) in pairwise(times) if count
        ]
        answers = sum(count for _, count in spent)
        return sum(seconds for seconds, _ in spent) / answers if answers else None
