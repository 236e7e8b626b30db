"""Sheets: the questions that a person is looking at. A question on one person's sheet is not put on another's.

A sheet is named in the address of its page, so that reloading shows it again, and two tabs have two. Whoever calls
holds the lock of the desk.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from trilabel.review.views import Card, View

HELD_FOR = 600.0  # seconds after the last sign of life
_MOST_SHEETS = 2000


@dataclass
class Sheet:
    """Some cards for one person."""

    who: str
    view: View
    cards: list[Card]
    id: str = field(default_factory=lambda: secrets.token_urlsafe(6))
    left: bool = False  # whether its page was closed: the person gets it again

    def labels(self) -> list[int]:
        """The labels that it asks about, by their keys."""
        return [question.key for card in self.cards for question in card.questions]

    def drawn(self) -> Mapping[int, str]:
        """Which of them were drawn at random, and from what."""
        return {one.key: one.drawn for card in self.cards for one in card.questions if one.drawn}


class Held(NamedTuple):
    """Who has a question before them, and until when."""

    who: str
    until: float


class Sheets:
    """All sheets, and which questions they hold."""

    def __init__(self, votes: int, said: Callable[[int], Mapping[str, int]]) -> None:
        """said: what people have answered to a question."""
        self._votes, self._said = votes, said
        self._sheets: OrderedDict[str, Sheet] = OrderedDict()
        self._held: dict[int, list[Held]] = {}

    def is_free(self, key: int, who: str) -> bool:
        """Whether to put a question on a new sheet of this person."""
        said, now = self._said(key), time.monotonic()
        holders = {held.who for held in self._held.get(key, ()) if held.until > now}
        return who not in said and who not in holders and len(said) + len(holders - said.keys()) < self._votes

    def add(self, sheet: Sheet) -> None:
        """Hands out a new sheet."""
        self._sheets[sheet.id] = sheet
        self._hold(sheet)
        while len(self._sheets) > _MOST_SHEETS:
            self._let_go(self._sheets.popitem(last=False)[1])

    def find(self, id: str, who: str) -> Sheet | None:
        """A sheet that was handed out, without what others have been given meanwhile."""
        sheet = self._sheets.get(id)
        if sheet is None or sheet.who != who:
            return None
        self._let_go(sheet)
        free = {key for key in sheet.labels() if who in self._said(key) or self.is_free(key, who)}
        kept = (card._replace(questions=tuple(q for q in card.questions if q.key in free)) for card in sheet.cards)
        sheet.cards, sheet.left = [card for card in kept if card.questions], False
        self.touch(id, who)
        return sheet

    def left_by(self, who: str, view: View) -> Sheet | None:
        """The first sheet of a view that this person left with questions open."""
        for sheet in self._sheets.values():
            if sheet.left and sheet.who == who and sheet.view == view:
                found = self.find(sheet.id, who)
                if found is not None and any(who not in self._said(key) for key in found.labels()):
                    return found
        return None

    def touch(self, id: str, who: str) -> Sheet | None:
        """Holds the questions of a sheet for longer: its person is there."""
        sheet = self._sheets.get(id)
        if sheet is None or sheet.who != who:
            return None
        self._sheets.move_to_end(id)
        self._hold(sheet)
        return sheet

    def leave(self, ids: Iterable[str], who: str) -> None:
        """The pages of these sheets were closed."""
        for sheet in filter(None, map(self._sheets.get, ids)):
            sheet.left |= sheet.who == who

    def _hold(self, sheet: Sheet) -> None:
        now = time.monotonic()
        for key in sheet.labels():
            others = [held for held in self._held.get(key, ()) if held.who != sheet.who and held.until > now]
            if sheet.who in self._said(key):
                self._set(key, others)
            else:
                self._set(key, [*others, Held(sheet.who, now + HELD_FOR)])

    def _let_go(self, sheet: Sheet) -> None:
        for key in sheet.labels():
            self._set(key, [held for held in self._held.get(key, ()) if held.who != sheet.who])

    def _set(self, key: int, held: list[Held]) -> None:
        if held:
            self._held[key] = held
        else:
            self._held.pop(key, None)
