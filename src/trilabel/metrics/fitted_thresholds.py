"""Scores from which classes count as present: those with the best F1 on known labels, not fitted to their noise."""

import numpy as np
from numpy.typing import NDArray

from trilabel.errors import TrilabelError
from trilabel.metrics.matrices import Known, LabelMatrix, Matrix, check_inputs, check_weights, known_labels

Floats = NDArray[np.float64]

_FOLDS = 5
_STEPS = 400  # thresholds that are tried, at equal shares of the known positives
_LARGEST_SCORE = 1e6
_NOTHING = 1e-12  # a sum of weights below it is one of no label
_SHRINKING = (0.0, 3.0, 10.0, 30.0, 100.0, np.inf)  # positives at which a class's own threshold counts half


def fit_thresholds(scores: Matrix, labels: LabelMatrix, seed: int = 0, weights: Floats | None = None) -> Floats:
    """A threshold for each class [C]; present is a score >= it. Scores (logits, for choice) and labels are N×C.

    Each class has the threshold of its best F1, drawn to a common one (the best CF1) the more, the fewer positives of
    it are known. How much is chosen by cross-validation over images. Needs known positives and negatives. weights: of
    the known labels, image by image [n]; without, all 1.

    >>> scores = np.array([[2.0], [1.0], [0.5], [-1.0], [-2.0], [-3.0]] * 10)
    >>> fit_thresholds(scores, np.array([[1], [1], [1], [-1], [-1], [-1]] * 10)).round(1)
    array([-0.2])
    """
    table, truth = check_inputs(scores, labels)
    known, classes = known_labels(table, truth, _LARGEST_SCORE), table.shape[1]
    if not 0 < known.present.sum() < len(known.present):
        raise TrilabelError("thresholds need labels that are known to be present and to be absent")
    weights = check_weights(weights, len(known.present))
    steps = _tried(known.scores, known.present)
    part = np.random.default_rng(seed).permutation(table.shape[0]) % _FOLDS
    folds = [_counted(known, weights, part[known.images] == fold, steps, classes) for fold in range(_FOLDS)]
    held_out = np.zeros((len(_SHRINKING), 3, classes))
    for number, fold in enumerate(folds):
        # Added up, not taken away from all: of weights that would leave rounding errors where nothing is.
        candidates = _shrunk(sum(folds[:number] + folds[number + 1 :], start=np.zeros_like(fold)), steps)
        held_out += np.stack([_at(fold, steps, thresholds) for thresholds in candidates])
    quality = _cf1(held_out[:, 0].T, held_out[:, 1].T, held_out[0, 2])
    best = max(range(len(_SHRINKING)), key=lambda number: (quality[number], number))
    return _shrunk(sum(folds, start=np.zeros_like(folds[0])), steps)[best]


def _counted(known: Known, weights: Floats, chosen: NDArray[np.bool_], steps: Floats, classes: int) -> Floats:
    """[2, C, S + 1]: present, and all, of the chosen labels of each class that reach at least so many of the steps."""
    place = np.searchsorted(steps, known.scores[chosen], side="right")
    cell = known.columns[chosen] * (len(steps) + 1) + place
    size, present = classes * (len(steps) + 1), known.present[chosen]
    counts = np.stack([np.bincount(cell[each], weights[chosen][each], size) for each in (present, ~present)])
    reached: Floats = counts.reshape(2, classes, -1)[:, :, ::-1].cumsum(2)[:, :, ::-1]
    reached[1] += reached[0]
    return reached


def _tried(scores: Floats, present: NDArray[np.bool_]) -> Floats:
    """Thresholds to try, in rising order: between neighboring scores, at equal shares of the positives."""
    different = np.unique(scores)
    between = np.append(different[0] - 1, (different[1:] + different[:-1]) / 2)
    wanted = np.unique(np.quantile(scores[present], np.linspace(0, 1, _STEPS)))
    steps: Floats = between[np.unique(np.searchsorted(between, wanted, side="right") - 1)]
    return steps


def _shrunk(counts: Floats, steps: Floats) -> list[Floats]:
    """For each degree of shrinking the thresholds [C] by these counts."""
    hits, chosen = counts[0, :, 1:], counts[1, :, 1:]  # at each of the steps
    present, known = counts[:, :, 0]
    f1 = 2 * hits / np.maximum(chosen + present[:, None], _NOTHING)
    own = _middle_of_best(f1, steps)
    judged = np.where((present > 0) & (known > present), present, 0)
    common = _middle_of_best(_cf1(hits, chosen, judged)[None], steps)[0]
    found = []
    for amount in _SHRINKING:
        weight = judged / (judged + amount) if amount else (judged > 0).astype(float)
        found.append(weight * own + (1 - weight) * common)
    return found


def _middle_of_best(quality: Floats, steps: Floats) -> Floats:
    """The step with the highest value in each row; of several in a row the middle."""
    first = quality.argmax(1)
    rows = np.arange(len(quality))
    best = quality >= quality[rows, first][:, None]
    beyond = ~best & (np.arange(len(steps)) > first[:, None])
    last = np.where(beyond.any(1), beyond.argmax(1) - 1, len(steps) - 1)
    return np.asarray((steps[first] + steps[last]) / 2)


def _at(counts: Floats, steps: Floats, thresholds: Floats) -> Floats:
    """[3, C]: present and chosen, chosen, present, of the counted labels at thresholds between the steps."""
    place = np.searchsorted(steps, thresholds, side="left").clip(0, len(steps) - 1) + 1
    rows = np.arange(len(thresholds))
    return np.stack([counts[0, rows, place], counts[1, rows, place], counts[0, :, 0]])


def _cf1(hits: Floats, chosen: Floats, present: Floats) -> Floats:
    """[S]: the harmonic mean of precision and recall, each a mean over classes, of hits and chosen [C, S].

    Classes without a positive (present: [C]) do not count; 0 where there is nothing.
    """
    judged = present > 0
    if not judged.any():
        return np.zeros(hits.shape[1])
    precision, recall = ((hits / np.maximum(whole, _NOTHING))[judged].mean(0) for whole in (chosen, present[:, None]))
    both = precision + recall
    found: Floats = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return found
