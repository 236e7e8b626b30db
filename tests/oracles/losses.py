"""The losses written out label by label in plain Python: slow, and plain enough to be checked by eye.

Logits and labels are lists of rows. `frozen` are the logits at which focusing weights are taken: they are constants
of the loss, so a numerical gradient moves the logits and leaves `frozen` where it is.
"""

import math
from collections.abc import Callable

Matrix = list[list[float]]


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def sigmoid(x: float) -> float:
    return math.exp(-softplus(-x))


def part(x: float, z: float, smoothing: tuple[float, float] = (0, 0)) -> float:
    """Cross-entropy of one label; 0 where it is unknown."""
    if z == 0:
        return 0.0
    target = 1 - smoothing[0] if z > 0 else smoothing[1]
    return target * softplus(-x) + (1 - target) * softplus(x)


def bce(logits: Matrix, labels: Matrix, smoothing: tuple[float, float] = (0, 0)) -> float:
    total = 0.0
    for row, signs in zip(logits, labels, strict=True):
        for x, z in zip(row, signs, strict=True):
            total += part(x, z, smoothing)
    return total / (len(logits) * len(logits[0]))


def known_mean_bce(logits: Matrix, labels: Matrix) -> float:
    known = sum(z != 0 for signs in labels for z in signs)
    return bce(logits, labels) * len(logits) * len(logits[0]) / known if known else 0.0


def per_image_bce(logits: Matrix, labels: Matrix) -> float:
    return sum(known_mean_bce([row], [signs]) for row, signs in zip(logits, labels, strict=True)) / len(logits)


def partial_bce(logits: Matrix, labels: Matrix, alpha: float, beta: float, gamma: float) -> float:
    total = 0.0
    for row, signs in zip(logits, labels, strict=True):
        share = sum(z != 0 for z in signs) / len(signs)
        if share > 0:
            total += (alpha * share**gamma + beta) * bce([row], [signs])
    return total / len(logits)


def asymmetric(
    logits: Matrix, labels: Matrix, gamma_pos: float, gamma_neg: float, clip: float, frozen: Matrix | None = None
) -> float:
    """The sum, not the mean."""
    total = 0.0
    for row, signs, constants in zip(logits, labels, frozen or logits, strict=True):
        for x, z, x_frozen in zip(row, signs, constants, strict=True):
            if z > 0:
                total += (1 - sigmoid(x_frozen)) ** gamma_pos * softplus(-x)
            elif z < 0 and clip == 0:
                total += sigmoid(x_frozen) ** gamma_neg * softplus(x)
            elif z < 0:
                weight = max(sigmoid(x_frozen) - clip, 0.0) ** gamma_neg
                total -= weight * math.log(1 - max(sigmoid(x) - clip, 0.0))
    return total


def assume_negative(
    logits: Matrix, labels: Matrix, smoothing: tuple[float, float] = (0, 0), weight: float = 1
) -> float:
    total = 0.0
    for row, signs in zip(logits, labels, strict=True):
        for x, z in zip(row, signs, strict=True):
            total += part(x, 1, smoothing) if z > 0 else weight * part(x, -1, smoothing)
    return total / (len(logits) * len(logits[0]))


def gradient(loss: Callable[[Matrix], float], logits: Matrix, step: float = 1e-5) -> Matrix:
    """Central differences, one logit at a time."""
    result = [[0.0] * len(row) for row in logits]
    for i, row in enumerate(logits):
        for j, x in enumerate(row):
            above, below = [list(r) for r in logits], [list(r) for r in logits]
            above[i][j], below[i][j] = x + step, x - step
            result[i][j] = (loss(above) - loss(below)) / (2 * step)
    return result
