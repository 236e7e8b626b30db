"""What becomes of unknown labels, label by label in plain Python.

A step is (epoch, rows, logits, targets): rows are numbers of images, logits and targets (or None) lists of rows.
"""

import math
from typing import Any

from tests.oracles.losses import Matrix, softplus

Step = tuple[int, list[int], Matrix, Matrix | None]
NAMES = {-1: "as_absent", 0: "left_out", 1: "as_present"}


def kind(label: int, truth: int) -> str:
    if label > 0:
        return "known_positives"
    return {-1: "true_negatives", 0: "nobody knows", 1: "hidden_positives"}[truth]


def summary(steps: list[Step], epoch: int, labels: Matrix, truth: Matrix | None) -> dict[str, Any]:
    """The numbers of one epoch, of all steps so far in this stage."""
    found: dict[str, Any] = {"probabilities": {}}
    kinds_of_labels: dict[str, tuple[int, int | None]] = {  # known as, in truth (None: whatever it is)
        "known_positives": (1, None), "known_negatives": (-1, None), "unknown": (0, None),
        "hidden_positives": (0, 1), "hidden_negatives": (0, -1),
    }  # fmt: skip
    for name, (value, true) in kinds_of_labels.items():
        bins = [0] * 20
        for at, rows, logits, _ in steps:
            for i, row in enumerate(rows):
                for j, x in enumerate(logits[i]):
                    fits = labels[row][j] == value and (true is None or (truth is not None and truth[row][j] == true))
                    if at == epoch and fits:
                        bins[min(19, int(20 / (1 + math.exp(-x))))] += 1
        found["probabilities"][name] = bins
    hidden = [found["probabilities"][name] for name in ("hidden_positives", "hidden_negatives")]
    if not any(map(any, hidden)):
        del found["probabilities"]["hidden_positives"], found["probabilities"]["hidden_negatives"]
    pairs = [
        (int(targets[i][j]), 0 if truth is None else int(truth[row][j]))
        for at, rows, _, targets in steps
        if at == epoch and targets is not None
        for i, row in enumerate(rows)
        for j in range(len(labels[0]))
        if labels[row][j] == 0
    ]
    if pairs:
        found["unknown"] = {}
        for value, name in NAMES.items():
            found["unknown"][name] = sum(targets == value for targets, _ in pairs)
            sure = [true for targets, true in pairs if targets == value and true != 0]
            if sure:
                right = -1 if name == "as_absent" else 1
                found["unknown"][f"{name}_right"] = sum(true == right for true in sure) / len(sure)
    if truth is None:
        return found
    losses: dict[tuple[int, int], dict[int, float]] = {}  # (row, class) -> epoch -> loss
    for at, rows, logits, _ in steps:
        for i, row in enumerate(rows):
            for j, x in enumerate(logits[i]):
                losses.setdefault((row, j), {})[at] = softplus(-x) if labels[row][j] > 0 else softplus(x)
    kinds = {place: kind(int(labels[place[0]][place[1]]), int(truth[place[0]][place[1]])) for place in losses}
    found["mean_loss"], first = {}, {}
    for name in ("known_positives", "true_negatives", "hidden_positives"):
        own = [of for place, of in losses.items() if kinds[place] == name]
        now = [of[epoch] for of in own if epoch in of]
        if now:
            found["mean_loss"][name] = sum(now) / len(now)
        both = [of for of in own if 1 in of and len(of) > 1]
        if both:
            first[name] = sum(of[1] == max(of.values()) for of in both) / len(both)
    if not found["mean_loss"]:
        del found["mean_loss"]
    if first and epoch > 1:
        found["highest_loss_in_first_epoch"] = first
    return found
