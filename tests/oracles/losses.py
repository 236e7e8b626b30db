"""The losses written out label by label in plain Python: slow, and plain enough to be checked by eye.

Logits and labels are lists of rows. `frozen` are the logits at which focusing weights and choices of labels are taken:
they are constants of the loss, so a numerical gradient moves the logits and leaves `frozen` where it is.
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


def pairwise_ranking(logits: Matrix, labels: Matrix) -> float:
    total = 0.0
    for row, signs in zip(logits, labels, strict=True):
        for x_i, z_i in zip(row, signs, strict=True):
            for x_j, z_j in zip(row, signs, strict=True):
                if z_i > 0 and z_j == 0:
                    total += max(0.0, 1 - sigmoid(x_i) + sigmoid(x_j))
    return total / (len(logits) * len(logits[0]))


def lsep(logits: Matrix, labels: Matrix) -> float:
    total = 0.0
    for row, signs in zip(logits, labels, strict=True):
        inside = 1.0
        for x_i, z_i in zip(row, signs, strict=True):
            for x_j, z_j in zip(row, signs, strict=True):
                if z_i > 0 and z_j < 0:
                    inside += math.exp(x_j - x_i)
        total += math.log(inside)
    return total / len(logits)


def warp(logits: Matrix, labels: Matrix, frozen: Matrix | None = None) -> float:
    total = 0.0
    for row, signs, constants in zip(logits, labels, frozen or logits, strict=True):
        for i, z_i in enumerate(signs):
            if z_i > 0:
                violators = [j for j, z_j in enumerate(signs) if z_j < 0 and 1 - constants[i] + constants[j] > 0]
                weight = sum(1 / k for k in range(1, len(violators) + 1))
                total += weight * sum(1 - row[i] + row[j] for j in violators)
    return total / (len(logits) * len(logits[0]))


def ranknet(logits: Matrix, labels: Matrix) -> float:
    total = 0.0
    for row, signs in zip(logits, labels, strict=True):
        costs = []
        for x_i, z_i in zip(row, signs, strict=True):
            for x_j, z_j in zip(row, signs, strict=True):
                if z_i > 0 and z_j < 0:
                    costs.append(softplus(x_j - x_i))
        total += sum(costs) / len(costs) if costs else 0.0
    return total / len(logits)


def ignore_unobserved_negatives(logits: Matrix, labels: Matrix, truth: Matrix) -> float:
    total = 0.0
    for row, signs, true_signs in zip(logits, labels, truth, strict=True):
        for x, z, true in zip(row, signs, true_signs, strict=True):
            if z > 0:
                total += softplus(-x)
            elif true < 0:
                total += softplus(x)
    return total / (len(logits) * len(logits[0]))


def expected_positive(logits: Matrix, labels: Matrix, expected: float, strength: float = 1) -> float:
    images, classes = len(logits), len(logits[0])
    observed = 0.0
    for row, signs in zip(logits, labels, strict=True):
        for x, z in zip(row, signs, strict=True):
            observed += softplus(-x) if z > 0 else 0.0
    predicted = sum(sigmoid(x) for row in logits for x in row) / images
    return observed / (images * classes) + strength * ((predicted - expected) / classes) ** 2


def role(
    logits: Matrix,
    labels: Matrix,
    estimates: Matrix,
    expected: float,
    frozen: Matrix | None = None,
    frozen_estimates: Matrix | None = None,
) -> float:
    """Each learns from the other as it was: the frozen ones are the targets."""
    agreement = 0.0
    for moving, target in ((logits, frozen_estimates or estimates), (estimates, frozen or logits)):
        for row, constants in zip(moving, target, strict=True):
            for x, y in zip(row, constants, strict=True):
                agreement += sigmoid(y) * softplus(-x) + sigmoid(-y) * softplus(x)
    agreement /= len(logits) * len(logits[0])
    alone = expected_positive(logits, labels, expected) + expected_positive(estimates, labels, expected)
    return (alone + agreement) / 2


def largest_unknown(logits: Matrix, labels: Matrix, count: int) -> list[list[bool]]:
    """The `count` unknown labels that are costliest as absent, and those that tie with the last of them."""
    costs = [x for row, signs in zip(logits, labels, strict=True) for x, z in zip(row, signs, strict=True) if z == 0]
    costs = sorted(costs, reverse=True)[:count]
    return [
        [z == 0 and bool(costs) and x >= costs[-1] for x, z in zip(row, signs, strict=True)]
        for row, signs in zip(logits, labels, strict=True)
    ]


def unknown_above(logits: Matrix, labels: Matrix, threshold: float) -> list[list[bool]]:
    return [
        [z == 0 and softplus(x) > threshold for x, z in zip(row, signs, strict=True)]
        for row, signs in zip(logits, labels, strict=True)
    ]


def large_loss(logits: Matrix, labels: Matrix, picked: list[list[bool]], mode: str) -> float:
    total = 0.0
    for row, signs, picks in zip(logits, labels, picked, strict=True):
        for x, z, pick in zip(row, signs, picks, strict=True):
            if pick:
                total += softplus(-x) if mode == "correct" else 0.0
            else:
                total += softplus(-x) if z > 0 else softplus(x)
    return total / (len(logits) * len(logits[0]))


def hill(logits: Matrix, labels: Matrix, weight: float, margin: float, gamma: float) -> float:
    """The sum, not the mean."""
    total = 0.0
    for row, signs in zip(logits, labels, strict=True):
        for x, z in zip(row, signs, strict=True):
            if z > 0:
                total += sigmoid(margin - x) ** gamma * softplus(margin - x)
            else:
                total += (weight - sigmoid(x)) * sigmoid(x) ** 2
    return total


def splc(
    logits: Matrix, labels: Matrix, correct: bool, tau: float, margin: float, gamma: float, frozen: Matrix | None = None
) -> float:
    """The sum, not the mean."""
    total = 0.0
    for row, signs, constants in zip(logits, labels, frozen or logits, strict=True):
        for x, z, x_frozen in zip(row, signs, constants, strict=True):
            if z > 0:
                score = x - margin
            elif z == 0 and correct and sigmoid(x_frozen) > tau:
                score = x
            else:
                score = -x
            total += sigmoid(-score) ** gamma * softplus(-score)
    return total


def partial_asymmetric(
    logits: Matrix,
    labels: Matrix,
    selected: list[list[bool]],
    gammas: tuple[float, float, float],
    clip: float,
    frozen: Matrix | None = None,
) -> float:
    """The sum, not the mean: known labels, and the selected unknown ones as absent."""
    gamma_pos, gamma_neg, gamma_unknown = gammas
    as_absent = [[-1 if chosen else 0 for chosen in row] for row in selected]
    known = asymmetric(logits, labels, gamma_pos, gamma_neg, clip, frozen)
    return known + asymmetric(logits, as_absent, gamma_pos, gamma_unknown, clip, frozen)


def gradient(loss: Callable[[Matrix], float], logits: Matrix, step: float = 1e-5) -> Matrix:
    """Central differences, one logit at a time."""
    result = [[0.0] * len(row) for row in logits]
    for i, row in enumerate(logits):
        for j, x in enumerate(row):
            above, below = [list(r) for r in logits], [list(r) for r in logits]
            above[i][j], below[i][j] = x + step, x - step
            result[i][j] = (loss(above) - loss(below)) / (2 * step)
    return result


def posterior(
    logits: Matrix, labels: Matrix, log_factors: Matrix, smoothing: float = 0, frozen: Matrix | None = None
) -> float:
    """The targets of unknown labels by Bayes' rule in odds."""
    total = 0.0
    for row, signs, factors, constants in zip(logits, labels, log_factors, frozen or logits, strict=True):
        for x, z, log_factor, constant in zip(row, signs, factors, constants, strict=True):
            factor, p = math.exp(log_factor), sigmoid(constant)
            if z == 0:
                target = p * factor / (p * factor + sigmoid(-constant))
                moved = smoothing * (1 - min(factor, 1 / factor if factor else math.inf))
            else:
                target, moved = float(z > 0), smoothing
            target = (1 - moved) * target + moved * (1 - target)
            total += target * softplus(-x) + (1 - target) * softplus(x)
    return total / (len(logits) * len(logits[0]))


def one_of_k_log_factors(logits: Matrix, labels: Matrix) -> Matrix:
    """For every label: what else may be present in its image, and how likely it would not have been drawn."""
    found = []
    for row, signs in zip(logits, labels, strict=True):
        named, factors = sum(z > 0 for z in signs), []
        for place in range(len(row)):
            others = sum(sigmoid(x) for at, (x, z) in enumerate(zip(row, signs, strict=True)) if z == 0 and at != place)
            factors.append(math.log((1 + others) / (named + 1 + others)))
        found.append(factors)
    return found
