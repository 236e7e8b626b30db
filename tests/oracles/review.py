"""The order of questions and the labels that are proposed, one at a time."""

from typing import Any

import numpy as np


def order_of_questions(order: str, chances: Any, known: Any, positives: int) -> list[int]:
    """Positions, the first to be asked first."""
    worth = {}
    for place, (chance, label) in enumerate(zip(chances, known, strict=True)):
        if np.isnan(chance) or (label == 0) == (order == "mistakes"):
            continue
        doubt = 4 * chance * (1 - chance)
        worth[place] = {
            "uncertain": doubt,
            "valuable": chance * doubt / np.sqrt(np.float32(1 + positives)),
            "positives": chance,
            "mistakes": 1 - chance if label > 0 else chance,
        }[order]
    return sorted(worth, key=lambda place: (-worth[place], place))


def proposed_labels(chances: Any, known: Any, present_from: Any, absent_to: Any) -> dict[int, list[tuple[int, int]]]:
    """(row, column) of the unknown labels that are proposed as present (+1) and as absent (−1)."""
    found: dict[int, list[tuple[int, int]]] = {1: [], -1: []}
    for row in range(len(chances)):
        for column in range(len(chances[row])):
            if known[row][column] == 0 and chances[row][column] >= present_from[column]:
                found[1].append((row, column))
            if known[row][column] == 0 and chances[row][column] <= absent_to[column]:
                found[-1].append((row, column))
    return found
