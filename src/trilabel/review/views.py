"""Views: which questions to ask and in which order, as cards, an image with one or more questions about it."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple, get_args
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.review import orders
from trilabel.review.proposals import Proposals, Recent
from trilabel.review.question_tables import QuestionTable
from trilabel.review.survey import LEAST, Survey

Kind = Literal["grid", "images", "mistakes", "questions"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ORDERS: tuple[orders.Order, ...] = ("valuable", "uncertain", "positives", "random")  # of a grid and of images
_COLUMNS_KEPT, _FILTERS_KEPT = 64, 16
_MOST_QUESTIONS = 6  # about one image
_LONGEST_TEXT = 100


class Question(NamedTuple):
    """One label to be confirmed."""

    row: int
    column: int
    key: int  # row · C + column
    drawn: str = ""  # at random from: all, class; empty: not at random


class Card(NamedTuple):
    """An image and what is asked about it."""

    row: int
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class View:
    """What a page asks; the fields are those of its address."""

    kind: Kind
    column: int = -1  # the class of a grid
    order: orders.Order = orders.DEFAULT
    text: str = ""  # in the id of an image
    split: str = ""
    low: float = 0.0  # probabilities
    high: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.order not in ORDERS or len(self.text) > _LONGEST_TEXT:
            raise TrilabelError("there is no such page")
        if not 0 <= self.low <= 1 or not 0 <= self.high <= 1:
            raise TrilabelError("probabilities are from 0 to 1")

    @property
    def is_filtered(self) -> bool:
        """Whether it leaves questions out."""
        return bool(self.text or self.split or self.low > 0 or self.high < 1)

    def query(self, **more: str) -> str:
        """The part of its address after the question mark."""
        named = [one for one in fields(self) if one.name not in ("kind", "column", "order")]
        changed = {one.name: getattr(self, one.name) for one in named if getattr(self, one.name) != one.default}
        order = {"order": self.order} if self.kind in ("grid", "images") else {}
        return urlencode({**order, **changed, **more})


class Views:
    """The cards of each view, the first to be asked first, whether answered or not."""

    def __init__(self, dataset: Dataset, proposals: Proposals, survey: Survey, table: QuestionTable | None) -> None:
        self._dataset, self._proposals, self._survey, self.table = dataset, proposals, survey, table
        self.mistakes = survey.mistakes
        self._orders: Recent[NDArray[np.int64]] = Recent(_COLUMNS_KEPT)
        self._masks: Recent[NDArray[np.bool_]] = Recent(_FILTERS_KEPT)

    def cards(self, view: View) -> "Cards":
        """What a view asks; the slow part is done here, and kept for the next time."""
        match view.kind:
            case "grid":
                rows = self._orders.get(("grid", view.column, view.order), lambda: self._ordered_column(view))
                found = rows * self._proposals.shape[1] + view.column
            case "images":
                found = self._orders.get(("images", view.order), lambda: self._ordered_images(view))
            case "mistakes":
                found = self.mistakes
            case "questions":
                found = np.zeros(0, np.int64) if self.table is None else self.table.keys
        mask = self._masks.get((view.text, view.split), lambda: self._mask(view)) if view.is_filtered else None
        return Cards(self._proposals, view, found, mask)

    def keys(self, view: View) -> NDArray[np.int64]:
        """The questions of a view that is a list of them."""
        return self.cards(view).positions

    def _ordered_column(self, view: View) -> NDArray[np.int64]:
        values, known = self._proposals.column(view.column)
        positives = self._proposals.positives[view.column]
        return orders.best_first(orders.worth(view.order, values, known, positives, view.column))

    def _ordered_images(self, view: View) -> NDArray[np.int64]:
        if view.order == "random":
            return np.random.default_rng(0).permutation(len(self._dataset))
        return orders.best_first(self._survey.image_worth[view.order])

    def _mask(self, view: View) -> NDArray[np.bool_]:
        """N: whether an image passes the filter."""
        passes = np.ones(len(self._dataset), bool)
        if view.split:
            passes[:] = False
            passes[self._dataset.rows_of(view.split)] = True
        if view.text:
            text = view.text.casefold()
            passes &= np.fromiter((text in id.casefold() for id in self._proposals.ids), bool, len(passes))
        return passes


class Cards:
    """The cards of a view by position: labels (row · C + column), or images in the view of images."""

    def __init__(
        self, proposals: Proposals, view: View, positions: NDArray[np.int64], mask: NDArray[np.bool_] | None
    ) -> None:
        self._proposals, self._view, self.positions, self._mask = proposals, view, positions, mask

    def after(self, start: int) -> Iterator[tuple[int, Card]]:
        """(position, card) from a position on, without those that the filter leaves out."""
        classes = self._proposals.shape[1]
        for place in range(start, len(self.positions)):
            number = int(self.positions[place])
            row, column = (number, -1) if self._view.kind == "images" else divmod(number, classes)
            if self._mask is not None and not self._mask[row]:
                continue
            columns = self._doubtful(row) if column < 0 else [column] if self._in_range(row, column) else []
            if columns:
                yield place, Card(row, tuple(Question(row, one, row * classes + one) for one in columns))

    def _in_range(self, row: int, column: int) -> bool:
        view = self._view
        if view.low <= 0 and view.high >= 1:
            return True
        value = self._proposals.probability(row, column)
        return value is not None and view.low <= value <= view.high

    def _doubtful(self, row: int) -> list[int]:
        """The classes to ask about in an image."""
        values, known = self._proposals.row(row)
        order: orders.Order = "uncertain" if self._view.order == "random" else self._view.order
        worth = orders.worth(order, values, known, self._proposals.positives)
        worth[~((values >= max(LEAST, self._view.low)) & (values <= self._view.high))] = -np.inf
        return [int(column) for column in orders.best_first(worth, _MOST_QUESTIONS)]
