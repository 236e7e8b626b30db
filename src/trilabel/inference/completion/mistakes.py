"""Known labels that are probably wrong: those that the scores of models that did not learn from them contradict.

A calibration with room for mistakes: P(named present | score) = a + (1 − a − b) · σ(slope · score + shift of the
class), where a is how often an absent label was named present and b the reverse. Both are fitted with the rest, so that
mistakes do not pass for a weak model. Bayes' rule then says how likely each known label is a mistake. (The idea is that
of confident learning, Northcutt 2021: what the confident scores contradict says how many labels are wrong.)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import rankdata

from trilabel.inference.completion.known import KnownLabels
from trilabel.inference.completion.odds import FOLDS

Floats = NDArray[np.float64]

_FEW_LABELS = 1.0  # as in `metrics.fit_calibration`
_RARE = 4.0  # a priori mistakes are rare: as if so many labels had been looked at and were right
_LEAST = 1e-4  # of the share of mistakes
_MOST_FITTED = 300_000  # known labels
_WEAK = 0.2  # a share of mistakes from which it is likelier that the scores are weak than that labels are so bad
_TOLD_APART = 0.85  # pairs of a present and an absent label that scores must order rightly to accuse a label


@dataclass(frozen=True)
class MistakeModel:
    """Of each part of the images: what was fitted on the others."""

    slopes: Floats  # F
    shifts: Floats  # F×C
    wrongly_present: Floats  # F: a
    wrongly_absent: Floats  # F: b
    fold: NDArray[np.uint8]  # N

    def is_weak(self, known: KnownLabels) -> bool:
        """Whether scores are too weak to tell mistakes from errors of the model. known: what it was fitted on.

        A weak model errs as often as labels may be wrong, and a fit can take the one for the other. How many pairs
        scores order rightly says which: supposed mistakes, whose pairs are ordered by chance, are allowed for.
        """
        if max(self.wrongly_present.mean(), self.wrongly_absent.mean()) > _WEAK:
            return True
        wrong, _ = self(known)
        right = 1 - wrong[known.present].mean() - wrong[~known.present].mean()
        return bool(right <= 0 or 0.5 + (ordered_rightly(known) - 0.5) / right < _TOLD_APART)

    def __call__(self, known: KnownLabels) -> tuple[Floats, Floats]:
        """n each: how likely it is a mistake, and how likely the class is present by its score alone."""
        fold = self.fold[known.rows]
        a, b = self.wrongly_present[fold], self.wrongly_absent[fold]
        truth = expit(self.slopes[fold] * known.logits + self.shifts[fold, known.columns])
        named = a + (1 - a - b) * truth
        present = np.where(known.present, (1 - b) * truth / named, b * truth / (1 - named))
        return np.where(known.present, 1 - present, present), truth


def ordered_rightly(known: KnownLabels) -> float:
    """Of the pairs of a present and an absent label of a class, the share in which the present one has more."""
    right = pairs = 0.0
    order = np.argsort(known.columns, kind="stable")
    for place in np.split(order, np.flatnonzero(np.diff(known.columns[order])) + 1):
        present = known.present[place]
        positives, negatives = int(present.sum()), int((~present).sum())
        right += float(rankdata(known.logits[place])[present].sum()) - positives * (positives + 1) / 2
        pairs += positives * negatives
    return right / pairs if pairs else 0.5


def fit_mistakes(known: KnownLabels, fold: NDArray[np.uint8], classes: int) -> MistakeModel:
    """From known labels, of which some are present and some absent."""
    if len(known.rows) > _MOST_FITTED:
        some = np.random.default_rng(0).permutation(len(known.rows))[:_MOST_FITTED]
        known = KnownLabels(known.rows[some], known.columns[some], known.logits[some], known.present[some])
    found = []
    for number in range(FOLDS):
        others = fold[known.rows] != number
        if not 0 < known.present[others].sum() < others.sum():
            others[:] = True
        found.append(_fit(known.columns[others], known.logits[others], known.present[others], classes))
    slopes, shifts, a, b = (np.stack(column) for column in zip(*found, strict=True))
    return MistakeModel(slopes, shifts, a, b, fold)


def _fit(
    columns: NDArray[np.int64], values: Floats, present: NDArray[np.bool_], classes: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """(slope, shifts [C], a, b) that explain the labels best."""
    sign = np.where(present, 1.0, -1.0)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        """The penalized negative log-likelihood of (log slope, common shift, logits of 2a and 2b, own shifts)."""
        slope, common, own = np.exp(parameters[0]), parameters[1], parameters[4:]
        halves = expit(parameters[2:4])
        a, b = _LEAST + (0.5 - _LEAST) * halves
        truth = expit(slope * values + common + own[columns])
        named = a + (1 - a - b) * truth
        likelihood = np.where(present, named, 1 - named).clip(1e-12)
        by_named = -sign / likelihood
        by_z = by_named * (1 - a - b) * truth * (1 - truth)
        by_rates = np.array([by_named @ (1 - truth), -(by_named @ truth)]) * (0.5 - _LEAST) * halves * (1 - halves)
        gradient = np.concatenate(
            ([slope * (by_z @ values), by_z.sum()], by_rates, np.bincount(columns, by_z, classes))
        )
        gradient[0] += _FEW_LABELS * parameters[0]
        gradient[2:4] += _RARE * halves
        gradient[4:] += _FEW_LABELS * own
        penalty = (
            0.5 * _FEW_LABELS * (own @ own + parameters[0] ** 2) - _RARE * np.log1p(-halves.clip(max=1 - 1e-12)).sum()
        )
        return float(-np.log(likelihood).sum() + penalty), gradient

    start = np.concatenate(([0.0, 0.0, -3.0, -3.0], np.zeros(classes)))
    bounds = [(-4.0, 4.0), (None, None), (-12.0, 4.0), (-12.0, 4.0), *[(None, None)] * classes]
    x = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    a, b = _LEAST + (0.5 - _LEAST) * expit(x[2:4])
    return np.exp(x[0]), x[1] + x[4:], a, b
