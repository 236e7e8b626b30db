"""Labels of records, collected table by table: each may be forgotten when the next one is read."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.data.formats._shared.assemble import Unlisted, numbers_first
from trilabel.data.formats._shared.record_labels import (
    choose_separator,
    class_columns,
    listed,
    object_boxes,
    objects,
    unpack,
)
from trilabel.data.formats._shared.records import Records
from trilabel.errors import TrilabelError

LISTS = ("labels", "label", "tags")


class RecordLabels(NamedTuple):
    """The labels of all tables; see `assemble`."""

    classes: list[str]
    entries: NDArray[np.int64]  # image, class, +1 or −1
    absent_in: NDArray[np.int64]
    boxes: NDArray[np.float64] | None  # image, class, left, top, right, bottom
    notes: list[str]


class RecordCollector:
    """Takes tables one after another; the first decides in which columns the labels are.

    They are in `column`, or in the first of the columns `lists` and objects that is there, or else in all columns of
    0 and 1. See `trilabel.data.formats.huggingface.read` for the rest.
    """

    def __init__(
        self,
        path: Path,
        column: str | None,
        unlisted: Unlisted,
        separator: str | None,
        lists: Sequence[str] = LISTS,
    ) -> None:
        self.path, self.column, self.unlisted, self.separator = path, column, unlisted, separator
        self.lists = lists
        self.kind: Literal["", "columns", "lists", "objects"] = ""
        self.count = 0
        self.seen: dict[str, None] = {}  # all columns, in order
        self.parts: dict[str, list[tuple[int, NDArray[np.int8]]]] = {}  # of columns of 0 and 1: first row, signs
        self.others: set[str] = set()  # columns that turned out to be none of 0 and 1
        self.code: defaultdict[str, int] = defaultdict(count().__next__)  # of each name, as they come
        self.declared = 0  # so many of them are in a known order
        self.entries: list[NDArray[np.int64]] = []
        self.known: list[NDArray[np.int64]] = []
        self.boxes: list[NDArray[np.float64]] = []
        self.boxless, self.note = 0, ""

    def declare(self, classes: Sequence[str]) -> None:
        """Gives the classes and their order, before the first table is added; later calls have no effect."""
        if not self.count:
            for name in classes:
                self.code[name]
            self.declared = len(self.code)

    def chosen(self, table: Records) -> str | None:
        """The column that the labels are in; None if they may be in several of 0 and 1."""
        return self.column or next((name for name in (*self.lists, "objects") if name in table.columns), None)

    def add(self, table: Records) -> None:
        """Adds the rows of a table."""
        self.seen |= dict.fromkeys(table.columns)
        if not self.kind:
            self._choose(table)
        if self.kind == "columns":
            self._add_columns(table)
        else:
            self._add_lists(table, self.column or "")
        self.count += len(table)

    def labels(self) -> RecordLabels:
        """The labels of all rows so far."""
        return self._from_columns() if self.kind == "columns" else self._from_lists()

    def left_out(self, used: Iterable[str]) -> list[str]:
        """A note on the columns that are neither labels nor used otherwise."""
        mine = set(self.parts) - self.others if self.kind == "columns" else {self.column}
        mine |= {"width", "height"} if self.kind == "objects" else set()
        found = [name for name in self.seen if name not in mine and name not in set(used)]
        return [f"columns left out: {', '.join(found)}"] if found else []

    def _choose(self, table: Records) -> None:
        if self.column is not None and self.column not in table.columns:
            raise TrilabelError(f"{self.path}: no column {self.column!r} here, only {', '.join(table.columns)}")
        chosen = self.chosen(table)
        if chosen is None or any(map(any, class_columns(table, [chosen]).values())):
            self.kind = "columns"
            return
        self.column = chosen
        cells = (unpack(table, row, chosen) for row in range(len(table)))
        first = next((cell for cell in cells if cell not in (None, [])), None)
        self.kind = "objects" if isinstance(first[0] if isinstance(first, list) else first, dict) else "lists"

    # ---- columns of 0 and 1

    def _add_columns(self, table: Records) -> None:
        names = [name for name in ([self.column] if self.column else table.columns) if name in table.columns]
        found = class_columns(table, names)
        self.others.update(name for name in names if name not in found)
        for name, signs in found.items():
            self.parts.setdefault(name, []).append((self.count, np.array(signs, np.int8)))

    def _from_columns(self) -> RecordLabels:
        classes = [name for name in self.parts if name not in self.others]
        if not classes:
            raise TrilabelError(
                f"{self.path}: no column of 0 and 1 and none called {', '.join(self.lists)} or objects, only "
                f"{', '.join(self.seen)}; pass column=NAME, the one that contains labels"
            )
        found = []
        for column, name in enumerate(classes):
            for start, signs in self.parts[name]:
                rows = np.flatnonzero(signs)
                found.append(np.stack([rows + start, np.full_like(rows, column), signs[rows]], 1))
        none = np.zeros(0, np.int64)
        return RecordLabels(classes, np.concatenate(found), none, None, ["empty cells are unknown; 0 is absent"])

    # ---- lists of labels

    def _add_lists(self, table: Records, column: str) -> None:
        every = range(len(table))
        table.columns[column] = [unpack(table, row, column) for row in every] if column in table.columns else []
        table.columns[column] += [None] * (len(table) - len(table.columns[column]))
        if self.separator is None and self.kind == "lists":
            self.separator, self.note = choose_separator(self.path, table, column)
        if self.kind == "objects":
            names = [objects(table, row, column) for row in every]
            boxes, boxless = object_boxes(table, column, names, self.code)
            drawn = np.array(boxes, np.float64).reshape(-1, 6)
            drawn[:, 0] += self.count
            self.boxes.append(drawn)
            self.boxless += boxless
        else:
            names = [listed(table, row, column, self.separator or "") for row in every]
        pairs = [(row, self.code[name]) for row, found in enumerate(names) for name in found or ()]
        rows, codes = np.array(pairs, np.int64).reshape(-1, 2).T
        self.entries.append(np.stack([rows + self.count, codes, np.ones_like(rows)], 1))
        self.known.append(self.count + np.array([row for row in every if names[row] is not None], np.int64))

    def _from_lists(self) -> RecordLabels:
        names = list(self.code)
        classes = [*names[: self.declared], *sorted(names[self.declared :], key=numbers_first)]
        place = {name: number for number, name in enumerate(classes)}
        column = np.array([place[name] for name in self.code], np.int64)
        entries, known = np.concatenate(self.entries), np.concatenate(self.known)
        entries[:, 1] = column[entries[:, 1]] if len(entries) else 0
        boxes = np.concatenate(self.boxes) if self.kind == "objects" else None
        if boxes is not None and len(boxes):
            boxes[:, 1] = column[boxes[:, 1].astype(np.int64)]
        notes = [f"listed labels are present, others {self.unlisted}; images without a list are unknown"]
        notes += [self.note] if self.note else []
        if len(known) < self.count:
            notes.append(f"{self.count - len(known)} images have no {self.column}: their labels are unknown")
        if classes and all(map(str.isdigit, classes)):
            notes.append("classes are numbers: the metadata has no names for them")
        if self.boxless:
            notes.append(f"{self.boxless} objects have no box or image size: no boxes are read for them")
        return RecordLabels(classes, entries, known if self.unlisted == "absent" else known[:0], boxes, notes)
