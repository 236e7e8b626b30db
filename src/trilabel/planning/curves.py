"""Learning curves: a power law through scores at several numbers of labels, and how sure it is of more of them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating[Any]]
_RATES = np.geomspace(0.05, 2.0, 400)  # exponents tried: learning curves of classifiers lie between
_DRAWS = 500
_OUTSIDE = 0.05  # on either side of an interval


@dataclass(frozen=True)
class PowerLaw:
    """ceiling − drop · n^−rate: what is reached with n labels; it never falls with more of them."""

    ceiling: float
    drop: float
    rate: float

    def __call__(self, labels: ArrayLike) -> Floats:
        """The score at these numbers of labels.

        >>> PowerLaw(0.9, 4.0, 0.5)([100, 400]).round(3)
        array([0.5, 0.7])
        """
        values: Floats = self.ceiling - self.drop * np.asarray(labels, float) ** -self.rate
        return values


class Interval(NamedTuple):
    """A value, and the range in which 90 % of resampled ones lie."""

    value: float
    low: float
    high: float

    def percent(self) -> str:
        """In points, with a sign.

        >>> Interval(0.012, -0.003, 0.02).percent()
        '+1.2 (−0.3 to +2.0)'
        """
        value, low, high = (f"{100 * part:+.1f}".replace("-", "−") for part in self)
        return f"{value} ({low} to {high})"


def fit_power_law(labels: ArrayLike, scores: ArrayLike) -> PowerLaw:
    """The law with the least squares, among those that end at 1 or below; labels, scores: L each, L ≥ 2.

    For each exponent ceiling and drop follow by linear regression, so that no start has to be guessed.
    """
    counts, values = np.asarray(labels, float), np.asarray(scores, float)
    first = counts.min()
    terms = (counts / first) ** -_RATES[:, None]  # R×L; counted in units of the fewest labels: 1 and below
    middle, mean = terms.mean(1, keepdims=True), values.mean()
    spread = ((terms - middle) ** 2).sum(1)
    drops = -((terms - middle) * (values - mean)).sum(1) / np.maximum(spread, 1e-12)
    drops = np.maximum(drops, 0.0)
    ceilings = mean + drops * middle[:, 0]
    above = ceilings > 1  # then the best law that ends at 1
    to_one = np.maximum(((1 - values) * terms).sum(1) / (terms**2).sum(1), 0.0)
    ceilings, drops = np.where(above, 1.0, ceilings), np.where(above, to_one, drops)
    errors = ((ceilings[:, None] - drops[:, None] * terms - values) ** 2).sum(1)
    best = int(np.argmin(errors))
    rate = float(_RATES[best])
    return PowerLaw(float(ceilings[best]), float(drops[best] * first**rate), rate)


def expected_gains(
    labels: ArrayLike, scores: Floats, now: float, after: ArrayLike, seed: int = 0
) -> tuple[PowerLaw, list[Interval]]:
    """The law through the mean of R curves, and what it gains from `now` labels to each number in `after`.

    labels: L; scores: R×L, a row for each split of the images. The intervals come from drawing splits anew.
    """
    draw, ends = np.random.default_rng(seed), np.asarray(after, float)
    law = fit_power_law(labels, scores.mean(0))
    gains = []
    for _ in range(_DRAWS):
        drawn = fit_power_law(labels, scores[draw.integers(0, len(scores), len(scores))].mean(0))
        gains.append(drawn(ends) - drawn(now))
    low, high = np.quantile(gains, (_OUTSIDE, 1 - _OUTSIDE), axis=0)
    return law, [Interval(*map(float, one)) for one in zip(law(ends) - law(now), low, high, strict=True)]


def mean_interval(values: Floats, seed: int = 0) -> Interval:
    """The mean of R values, with an interval from drawing them anew."""
    drawn = np.random.default_rng(seed).integers(0, len(values), (_DRAWS, len(values)))
    low, high = np.quantile(values[drawn].mean(1), (_OUTSIDE, 1 - _OUTSIDE))
    return Interval(float(values.mean()), float(low), float(high))
