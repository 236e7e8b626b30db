"""Answers of people to questions about single labels: what counts where they contradict each other, or the data.

They come from the store of a review (`trilabel.review.store`), or from an audit table with its column filled in.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.tables import read_rows
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.labels import Labels
from trilabel.labels.names import Names
from trilabel.printable import plural

AUDIT_HEADER = ("image", "class", "probability", "proposed", "answer")
_MEANINGS = {"1": 1, "yes": 1, "true": 1, "present": 1, "0": -1, "no": -1, "false": -1, "absent": -1, "?": 0, "": 0}


class Answer(NamedTuple):
    """What a person last said of a label."""

    image: str
    cls: str
    value: int  # +1 present, −1 absent, 0 cannot tell
    who: str = ""
    when: str = ""  # UTC, as 2026-01-31T12:00:00.000Z
    view: str = ""  # where it was asked: grid, images, mistakes, questions, audit
    random: bool = False  # whether it was drawn at random from all labels that were proposed alike (present, or absent)
    proposed: int = 0  # +1, −1, or 0 where nothing was
    probability: float | None = None  # that it is present, as the model believed


class Applied(NamedTuple):
    """How many labels became what."""

    confirmed: int  # labels that people confirmed as present or absent
    changed: int  # of them, those of which the data said the contrary
    undecided: int  # labels that they could not tell, or were of two minds about: as the data has them
    elsewhere: int  # labels of other images or classes

    def describe(self) -> str:
        """A line for people.

        >>> Applied(120, 1, 2, 0).describe()
        '120 labels confirmed by people, 1 of them against the data; 2 undecided'
        """
        parts = [f"{plural(self.confirmed, 'label')} confirmed by people, {self.changed:,} of them against the data"]
        parts += [f"{self.undecided:,} undecided"] if self.undecided else []
        return "; ".join(parts + ([f"{self.elsewhere:,} of other images or classes"] if self.elsewhere else []))


class Answered(NamedTuple):
    """Labels that people confirmed, by row and column of some labels."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.int8]  # +1 or −1
    proposed: NDArray[np.int8]  # +1 or −1 where it was drawn at random among what was proposed so; else 0
    applied: Applied


def confirmed(answers: Sequence[Answer]) -> dict[tuple[str, str], int]:
    """(image, class) -> +1 or −1 as most people said who could tell; 0 where they are of two minds, or none could.

    >>> answer = Answer("a.jpg", "cat", 1, "anna")
    >>> confirmed([answer, answer._replace(who="ben", value=0)]), confirmed([answer, answer._replace(value=-1)])
    ({('a.jpg', 'cat'): 1}, {('a.jpg', 'cat'): 0})
    """
    sums = dict[tuple[str, str], int]()
    for answer in answers:
        key = (answer.image, answer.cls)
        sums[key] = sums.get(key, 0) + answer.value
    return {key: (total > 0) - (total < 0) for key, total in sums.items()}


def find_answers(answers: Sequence[Answer], labels: Labels) -> Answered:
    """What people confirmed of these labels (`confirmed`)."""
    values = confirmed(answers)
    drawn = {(answer.image, answer.cls): answer.proposed for answer in answers if answer.random}
    rows = labels.ids.positions(Names([image for image, _ in values]))
    columns = labels.classes.positions(Names([cls for _, cls in values]))
    signs = np.fromiter(values.values(), np.int8, len(values))
    proposed = np.array([drawn.get(key, 0) for key in values], np.int8)
    here = (rows >= 0) & (columns >= 0)
    told = here & (signs != 0)
    found = Labels.from_entries(rows[told], columns[told], signs[told], labels.classes, labels.ids)
    changed = int((labels.csr.multiply(found.csr).data < 0).sum())
    applied = Applied(found.known, changed, int((here & (signs == 0)).sum()), int((~here).sum()))
    return Answered(rows[told], columns[told], signs[told], proposed[told], applied)


def labels_with(labels: Labels, found: Answered) -> Labels:
    """Labels in which what people confirmed is known; they are right where the data says the contrary."""
    if not len(found.rows):
        return labels
    own = Labels.from_entries(found.rows, found.columns, found.values, labels.classes, labels.ids)
    return labels.merge(own, conflict="second")


def with_answers(dataset: Dataset, answers: Sequence[Answer]) -> tuple[Dataset, Applied]:
    """The data set with what people confirmed as known labels; they are right where the data says the contrary.

    Where several answered, the majority counts; without one, the label stays as it is.
    """
    found = find_answers(answers, dataset.labels)
    return replace(dataset, labels=labels_with(dataset.labels, found)), found.applied


def read_answer_table(path: str | Path) -> list[Answer]:
    """The answers in a table of questions (image, class, answer, perhaps proposed); open questions are left out."""
    path = Path(path)
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


def write_questions(path: str | Path, questions: Iterable[tuple[str, str, float, int]]) -> None:
    """Writes a table of (image, class, probability, proposed +1 or −1), with a column for answers."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(AUDIT_HEADER)
        for image, cls, probability, proposed in questions:
            writer.writerow((image, cls, f"{probability:.4f}", int(proposed > 0), ""))
