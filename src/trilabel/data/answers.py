"""Answers of people to questions about single labels: an audit table with its column filled in, or a review's store."""

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.data.tables import read_rows
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.input_files import open_input
from trilabel.labels import Labels
from trilabel.labels.names import Names

AUDIT_HEADER = ("image", "class", "probability", "proposed", "answer")
_MEANINGS = {"1": 1, "yes": 1, "true": 1, "present": 1, "0": -1, "no": -1, "false": -1, "absent": -1, "?": 0, "": 0}
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True)
class Answer:
    """What somebody said about one label."""

    image: str
    cls: str
    value: int  # +1 present, −1 absent, 0 cannot tell
    who: str = ""
    when: str = ""  # ISO date and time
    proposed: int = 0  # +1 or −1 where a program proposed a value
    random: bool = False  # drawn at random among what was proposed alike, so that answers say how right proposals are


class Answered(NamedTuple):
    """Answers found in labels: +1 or −1 for a row and a column each, and how many contradicted a known label."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.int8]
    proposed: NDArray[np.int8]  # +1 or −1 where it was drawn at random among what was proposed so; else 0
    contradictions: int


def read_answers(path: str | Path) -> list[Answer]:
    """All answers in a file, later ones after earlier ones; questions that nobody answered are left out."""
    path = Path(path)
    try:
        with open_input(path) as file:
            store = file.read(len(_SQLITE)) == _SQLITE
    except FileNotFoundError:
        raise TrilabelError(f"{path}: no such file of answers") from None
    if store:
        # By name: the review stands above this room, and a table of answers must be read without it.
        return [_own(answer) for answer in import_module("trilabel.review.store").read_answers(path)]
    return _read_table(path)


def _own(answer: object) -> Answer:
    names = ("image", "cls", "value", "who", "when", "proposed", "random")
    return Answer(**{name: getattr(answer, name) for name in names if hasattr(answer, name)})


def _read_table(path: Path) -> list[Answer]:
    rows = read_rows(path, ",")
    _, header = next(rows, (1, []))
    names = [cell.strip().lower() for cell in header]
    if missing := [name for name in ("image", "class", "answer") if name not in names]:
        raise TrilabelError(
            f"{path}, row 1: no column {missing[0]!r}; answers are a table that --audit wrote, with its column answer "
            "filled in, or the store of a review"
        )
    image, cls, answer = (names.index(name) for name in ("image", "class", "answer"))
    proposed, found = names.index("proposed") if "proposed" in names else -1, []
    for line, cells in rows:
        if len(cells) != len(header):
            raise TrilabelError(f"{path}, row {line}: {len(cells)} cells, but the header has {len(header)}; correct it")
        value = _MEANINGS.get(cells[answer].strip().lower())
        if value is None:
            raise TrilabelError(
                f"{path}, row {line}: answer {cells[answer]!r}; write 1 (present), 0 (absent) or leave it"
            )
        if value:
            sign = 0 if proposed < 0 else _MEANINGS.get(cells[proposed].strip().lower(), 0)
            found.append(Answer(cells[image], cells[cls], value, proposed=sign, random=bool(sign)))
    return found


def find_answers(answers: Sequence[Answer], labels: Labels, where: str | Path) -> Answered:
    """The answers by row and column of the labels.

    The last answer of a person to a question counts, and of several people the majority; without one, nothing does.
    Answers about other images or classes are refused. where: the file of the answers, for messages.
    """
    last = {(answer.image, answer.cls, answer.who): answer for answer in answers}
    sums, drawn = Counter[tuple[str, str]](), dict[tuple[str, str], int]()
    for (image, cls, _), answer in last.items():
        sums[image, cls] += answer.value
        if answer.random:
            drawn[image, cls] = answer.proposed
    told = [label for label, total in sums.items() if total]
    rows = labels.ids.positions(Names(image for image, _ in told))
    columns = labels.classes.positions(Names(cls for _, cls in told))
    for what, places, part in (("image", rows, 0), ("class", columns, 1)):
        for place in np.flatnonzero(places < 0)[:1]:
            name = told[int(place)][part]
            raise TrilabelError(f"{where}: an answer about {what} {name!r}, which these labels do not have")
    values = np.array([np.sign(sums[label]) for label in told], np.int8)
    proposed = np.array([drawn.get(label, 0) for label in told], np.int8)
    own = Labels.from_entries(rows, columns, values, labels.classes, labels.ids)
    return Answered(rows, columns, values, proposed, int((labels.csr.multiply(own.csr).data < 0).sum()))


def with_answers(labels: Labels, found: Answered) -> Labels:
    """Labels in which the answers are known; where one contradicts a known label, the answer counts."""
    if not len(found.rows):
        return labels
    own = Labels.from_entries(found.rows, found.columns, found.values, labels.classes, labels.ids)
    return labels.merge(own, conflict="second")


def write_questions(path: str | Path, questions: Iterable[tuple[str, str, float, int]]) -> None:
    """Writes a table of (image, class, probability, proposed +1 or −1), with a column for answers."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(AUDIT_HEADER)
        for image, cls, probability, proposed in questions:
            writer.writerow((image, cls, f"{probability:.4f}", int(proposed > 0), ""))
