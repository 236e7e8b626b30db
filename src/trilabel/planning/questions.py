"""The questions to ask next under a budget, and their table."""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.files import replacing
from trilabel.review import orders
from trilabel.review.proposals import Proposals

HEADER = ("image", "class", "probability", "answer")
_LABELS_AT_ONCE = 1 << 21


class Questions(NamedTuple):
    """Labels to ask people for, the most valuable first."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    probabilities: NDArray[np.float32]  # that they are present

    def __len__(self) -> int:  # of questions, not of fields
        return len(self.rows)


def choose_questions(proposals: Proposals, rows: NDArray[np.int64], order: orders.Order, budget: int) -> Questions:
    """The unknown labels of these images that are worth most; blocks of images at a time."""
    images, classes = proposals.shape
    wanted = np.zeros(images, bool)
    wanted[rows] = True
    keys, values, chances = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.float32)
    step = max(1, _LABELS_AT_ONCE // max(1, classes))
    for start in range(0, images, step):
        found, known = proposals.rows(start, min(start + step, images))
        worth = orders.worth(order, found, known, proposals.positives, seed=start)
        worth[~wanted[start : start + step]] = -np.inf
        best = orders.best_first(worth, budget)
        keys = np.concatenate((keys, best + start * classes))
        values = np.concatenate((values, worth.ravel()[best]))
        chances = np.concatenate((chances, found.ravel()[best]))
        kept = np.argsort(-values, kind="stable")[:budget]
        keys, values, chances = keys[kept], values[kept], chances[kept]
        proposals.let_go()
    return Questions(keys // classes, keys % classes, chances)


def write_questions(path: Path, proposals: Proposals, questions: Questions) -> None:
    """A table that `review --questions` opens, with a column for answers that are given by hand."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for row, column, chance in zip(*(part.tolist() for part in questions), strict=True):
            writer.writerow((proposals.ids[row], proposals.classes[column], f"{chance:.4f}", ""))
