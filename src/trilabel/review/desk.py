"""The desk: hands out sheets of questions, takes answers, and knows how far everything is. It knows nothing of the web.

One lock guards what changes. Reading scores and sorting happens before it is taken, writing answers after it was
released, so that nobody waits for somebody else's disk or sorting.
"""

import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from itertools import chain, count, islice
from typing import NamedTuple

from trilabel.review import orders
from trilabel.review.answered import Answered
from trilabel.review.draws import Draws
from trilabel.review.intervals import Share
from trilabel.review.proposals import Proposals
from trilabel.review.sheets import Sheet, Sheets
from trilabel.review.store import AnswerStore, Record
from trilabel.review.survey import Survey
from trilabel.review.views import Card, Cards, Question, View, Views
from trilabel.review.writer import AnswerWriter

CARDS = {"grid": 24, "images": 8, "mistakes": 12, "questions": 12}  # of a sheet
EARLIER = "earlier"  # the view of an answer that was there before its question came up at random


class Given(NamedTuple):
    """An answer that a person sends."""

    row: int
    column: int
    value: int
    undone: bool


class Progress(NamedTuple):
    """How far a view is, and a person."""

    done: int
    total: int
    seconds_left: float | None
    of_person: int  # answers


class Desk:
    """Everything that people share: questions, answers, who has which sheet."""

    def __init__(
        self, proposals: Proposals, survey: Survey, views: Views, store: AnswerStore, votes: int, random_share: float
    ) -> None:
        self.proposals, self.survey, self.views = proposals, survey, views
        self.votes, self._random_share = votes, random_share
        self.answered = Answered(proposals, survey.population, votes)
        self.of_others = self.answered.load(list(store.records()))
        self._sheets = Sheets(votes, lambda key: self.answered.said.get(key, {}))
        self._draws, self._writer = Draws(proposals, survey), AnswerWriter(store)
        self._starts: dict[View | tuple[int, int], int] = {}  # before these positions everything is answered
        self._asked: dict[View, tuple[int, int]] = {}  # questions handed out, and how many of them at random
        self.lock = threading.Lock()

    def close(self) -> None:
        """Writes what waits."""
        self._writer.close()

    def sheet(self, who: str, view: View, id: str = "", new: bool = False) -> Sheet:
        """The sheet of this name, or the one that the person left, or a new one; `new`: not the one that they left."""
        cards = self.views.cards(view)
        with self.lock:
            found = self._sheets.find(id, who) if id else None
            if found is None and not new:
                found = self._sheets.left_by(who, view)
            if found is None:
                found = Sheet(who, view, self._next_cards(who, view, cards))
                self._sheets.add(found)
        self.proposals.let_go()
        return found

    def leave(self, who: str, ids: Sequence[str]) -> None:
        """The pages of these sheets were closed."""
        with self.lock:
            self._sheets.leave(ids, who)

    def answer(self, who: str, sheet: str, view: str, batch: str, given: Sequence[Given]) -> Future[None]:
        """Starts to write answers; they count once they are safe on the disk, and then the future is done."""
        classes = self.proposals.shape[1]
        with self.lock:
            found = self._sheets.touch(sheet, who)
            drawn = {} if found is None else found.drawn()
            self.answered.clock(who, sum(not one.undone for one in given))
        entries = []
        for one in given:
            key = one.row * classes + one.column
            entries.append((key, self._record(who, view, batch, one, drawn.get(key, ""))))
        return self._write(entries, sheet, who)

    def _record(self, who: str, view: str, batch: str, one: Given, drawn: str) -> Record:
        image, cls = self.proposals.ids[one.row], self.proposals.classes[one.column]
        if view == "questions" and self.views.table is not None and self.views.table.random:
            view, drawn = "audit", "table"
        return Record(
            batch=batch,
            image=image,
            cls=cls,
            value=0 if one.undone else one.value,
            undone=one.undone,
            who=who,
            at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            view=view,
            drawn=drawn,
            proposed=self.proposals.proposed(one.row, one.column),
            probability=self.proposals.probability(one.row, one.column),
            run=self.proposals.run,
            population=self.survey.population,
        )

    def _write(self, entries: Sequence[tuple[int, Record]], sheet: str = "", who: str = "") -> Future[None]:
        def note() -> None:
            """Counts the answers; questions that were undone are before the person again."""
            with self.lock:
                for key, record in entries:
                    self.answered.note(key, record, record.probability)
                if any(record.undone for _, record in entries):
                    self._starts.clear()
                    self._sheets.touch(sheet, who)

        return self._writer.add([record for _, record in entries], note)

    def _next_cards(self, who: str, view: View, cards: Cards) -> list[Card]:
        asked, given = self._asked.get(view, (0, 0))
        mixes = view.kind in ("grid", "images") and not view.is_filtered
        share = self._random_share if mixes else 0.0
        drawn = self._drawn_cards(who, view.column if view.kind == "grid" else None, given)
        chosen = list[Card]()
        for card in orders.mixed(self._open_cards(who, view, cards), drawn, share, _size, asked, given):
            _put(card, chosen)
            if len(chosen) == CARDS[view.kind]:
                break
        questions = [question for card in chosen for question in card.questions]
        at_random = sum(bool(question.drawn) for question in questions)
        self._asked[view] = (asked + len(questions), given + at_random)
        if view.kind == "grid":
            random.shuffle(chosen)  # nobody should see which were drawn
        return chosen

    def _open_cards(self, who: str, view: View, cards: Cards) -> Iterator[Card]:
        """Cards with the questions that may be put to a person."""
        start = self._starts.get(view, 0)
        so_far = True
        for place, card in cards.after(start):
            if so_far and all(self.answered.is_closed(question.key) for question in card.questions):
                self._starts[view] = place + 1
                continue
            so_far = False
            free = tuple(question for question in card.questions if self._sheets.is_free(question.key, who))
            if free:
                yield card._replace(questions=free)

    def _drawn_cards(self, who: str, column: int | None, given: int) -> Iterator[Card]:
        """Questions drawn at random, by turns of what is proposed as present and as absent."""
        scope = "all" if column is None else "class"
        both = [self._drawn(who, scope, sign, column) for sign in (1, -1)]
        for turn in count(given):
            found = list(islice(chain(both[turn % 2], both[(turn + 1) % 2]), 1))
            if not found:
                return
            row, own_column, key = found[0]
            yield Card(row, (Question(row, own_column, key, scope),))

    def _drawn(self, who: str, scope: str, sign: int, column: int | None) -> Iterator[tuple[int, int, int]]:
        """What is drawn and open to a person; what was answered before it was drawn is counted as it was answered."""
        pointer = (sign, -1 if column is None else column)
        place = self._starts.get(pointer, 0)
        so_far = True
        for row, own_column in self._draws.sequence(sign, column, place):
            key = row * self.proposals.shape[1] + own_column
            place += 1
            if key in self.answered.drawn[scope]:
                if so_far:
                    self._starts[pointer] = place
                continue
            so_far = False
            if self.answered.is_closed(key):
                self._count_as_drawn(key, row, own_column, scope)
            elif self._sheets.is_free(key, who):
                yield row, own_column, key

    def _count_as_drawn(self, key: int, row: int, column: int, scope: str) -> None:
        who, value = next(iter(self.answered.said[key].items()))
        batch = f"{EARLIER}-{scope}-{self.survey.population}"  # stored once, however often it comes up
        self._write([(key, self._record(who, EARLIER, batch, Given(row, column, value, False), scope))])

    def progress(self, who: str, view: View) -> Progress:
        """How far a view is; the lock need not be held."""
        keys = self.views.keys(view) if view.kind in ("mistakes", "questions") else None
        with self.lock:
            if keys is not None:
                done, total = sum(map(self.answered.is_closed, keys.tolist())), len(keys)
            elif view.kind == "grid":
                done, total = int(self.answered.done[view.column]), int(self.survey.worth_asking[view.column])
            else:
                done, total = int(self.answered.done.sum()), int(self.survey.worth_asking.sum())
            pace = self.answered.seconds_per_answer(who)
            left = None if pace is None else pace * max(0, total - done) * self.votes
            return Progress(done, total, left, self.answered.by_person[who])

    def right(self, column: int | None = None) -> dict[int, Share]:
        """Of what is proposed as present (+1) and as absent (−1), the share that is right."""
        with self.lock:
            return {sign: self.answered.right(sign, column) for sign in (1, -1)}


def _size(card: Card) -> int:
    return len(card.questions)


def _put(card: Card, chosen: list[Card]) -> None:
    """Adds a card; what is asked already is not asked twice, but if it was drawn now, it counts as drawn."""
    again = {question.key: question for question in card.questions}
    for place, other in enumerate(chosen):
        same = [again.pop(question.key) for question in other.questions if question.key in again]
        drawn = {question.key: question for question in same if question.drawn}
        if drawn:
            chosen[place] = other._replace(questions=tuple(drawn.get(one.key, one) for one in other.questions))
    if again:
        chosen.append(card._replace(questions=tuple(again.values())))
