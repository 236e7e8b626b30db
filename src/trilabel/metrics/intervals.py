"""How sure an average precision is: an interval by drawing the images again and again (bootstrap)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.metrics.known_scores import KnownScores
from trilabel.metrics.matrices import LabelMatrix, Matrix, Truth, check_inputs, to_float32

Floats = NDArray[np.float64]

# Rows of the known labels of a class from the highest score to the lowest, their scores, whether they are present.
Ranked = tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]

_NUMBERS_AT_ONCE = 2**26  # of drawn images, 2 bytes each


def average_precision_intervals(
    scores: Matrix, labels: LabelMatrix, confidence: float = 0.95, resamples: int = 200, seed: int = 0
) -> Floats:
    """[2, C]: bounds of each class's AP, between which it lies in `confidence` of sets of images drawn again.

    nan where the class has no AP, and where fewer than two of its positives are known: nothing varies then.

    >>> labels = np.array([[1], [1], [-1], [1], [-1], [-1]])
    >>> average_precision_intervals(np.array([[0.9], [0.8], [0.7], [0.6], [0.2], [0.1]]), labels).round(2).T
    array([[0.5, 1. ]])
    """
    table, truth = check_inputs(scores, labels)
    classes = [_known_of(table, truth, column) for column in range(table.shape[1])]
    return _intervals(classes, len(table), confidence, resamples, seed)


def intervals_of_known(known: KnownScores, images: int) -> Floats:
    """`average_precision_intervals` of scores that were collected with the numbers 0 … images − 1 of their images."""
    return _intervals([_ranked(*known.of_class(column)[1:]) for column in range(known.classes)], images)


def _intervals(
    classes: Sequence[Ranked], images: int, confidence: float = 0.95, resamples: int = 200, seed: int = 0
) -> Floats:
    if not 0 < confidence < 1 or resamples < 1:
        raise TrilabelError(f"intervals need a confidence between 0 and 1 and a draw or more, not {confidence:g}")
    drawn = np.full((resamples, len(classes)), np.nan)
    at_once = max(1, _NUMBERS_AT_ONCE // max(1, images))
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, at_once):
        part = slice(start, min(start + at_once, resamples))
        weights = _weights(images, part.stop - part.start, generator)
        for column, (rows, values, present) in enumerate(classes):
            if 2 <= present.sum() < len(present):
                drawn[part, column] = _drawn_again(values, present, weights[rows])
    bounds = np.full((2, len(classes)), np.nan)
    if (varies := ~np.isnan(drawn).all(0)).any():
        bounds[:, varies] = np.nanquantile(drawn[:, varies], [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return bounds


def _known_of(scores: Tensor, truth: Truth, column: int) -> Ranked:
    signs = truth[:, [column]]
    dense = (signs.cpu().numpy() if isinstance(signs, Tensor) else signs.toarray()).ravel()
    rows = np.flatnonzero(dense)
    return _ranked(to_float32(scores[:, column]).cpu().numpy()[rows], dense[rows] > 0, rows)


def _ranked(values: NDArray[Any], present: NDArray[np.bool_], rows: NDArray[Any]) -> Ranked:
    by_row = np.argsort(rows, kind="stable")  # ties in the order of images, however they came
    order = by_row[np.argsort(-values[by_row], kind="stable")]
    return rows[order], values[order], present[order]


def _weights(images: int, resamples: int, generator: np.random.Generator) -> NDArray[np.int16]:
    """N×R: how often each image is drawn, N times in all."""
    drawn = generator.multinomial(images, np.full(images, 1 / max(images, 1)), resamples)
    return np.ascontiguousarray(drawn.T.astype(np.int16))


def _drawn_again(values: NDArray[Any], present: NDArray[np.bool_], weights: NDArray[np.int16]) -> Floats:
    """R: the AP of one class with each set of weights [N×R]; nan where no positive, or nothing but positives, is drawn.

    Images are in the order of their scores. A tie is one step of the ranking, as in `average_precision`.
    """
    steps = np.unique(values[present])[::-1]  # a score that no positive has adds nothing
    ends = np.searchsorted(-values, -steps, side="right")
    chosen = np.add.reduceat(weights, np.append(0, ends[:-1]), axis=0, dtype=np.int32)
    chosen[-1] = weights[ends[-2] if len(ends) > 1 else 0 : ends[-1]].sum(0)
    own = np.add.reduceat(weights[present], np.searchsorted(-values[present], -steps), axis=0, dtype=np.int32)
    total = own.sum(0)
    area = (own.cumsum(0) / np.maximum(chosen.cumsum(0), 1) * own).sum(0) / np.maximum(total, 1)
    found: Floats = np.where((total > 0) & (total < weights.sum(0, dtype=np.int64)), area, np.nan)
    return found
