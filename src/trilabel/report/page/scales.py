"""From values to places along an axis, and the values that are written there."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Scale:
    """Values from low to high, in proportion or (log) by their ratio."""

    low: float
    high: float
    log: bool = False
    zero: bool = False  # of a logarithmic scale: 0 stands one step below `low`
    whole: bool = False  # values are whole numbers

    def __call__(self, value: float) -> float:
        """The place of a value, from 0 to 1; what is outside stands at the end."""
        return min(1.0, max(0.0, (self._height(value) - self._bottom()) / (self._height(self.high) - self._bottom())))

    def _bottom(self) -> float:
        return self._height(0.0) if self.log and self.zero else self._height(self.low)

    def _height(self, value: float) -> float:
        if not self.log:
            return value
        return math.log10(value) if value >= self.low else math.log10(self.low) - (0.4 if self.zero else 0.0)

    def ticks(self, most: int = 5) -> list[float]:
        """Round values to write along the axis.

        >>> Scale(0, 83).ticks(), Scale(1, 2000, log=True).ticks()
        ([0.0, 20.0, 40.0, 60.0, 80.0], [1.0, 10.0, 100.0, 1000.0])
        """
        if self.log:
            return ([0.0] if self.zero else []) + self._powers(most)
        step = _round_up((self.high - self.low) / most)
        step = max(1.0, math.ceil(step)) if self.whole else step
        first = math.ceil(self.low / step - 1e-9)
        return [round(step * place, 10) + 0.0 for place in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _powers(self, most: int) -> list[float]:
        """Powers of ten or, where these are fewer than three, also twice and five times as many."""
        first, last = math.floor(math.log10(self.low) + 1e-9), math.floor(math.log10(self.high) + 1e-9)
        steps = (1, 2, 5) if last - first < 2 else (1,)
        found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        inside = [value for value in found if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]
        return inside[:: max(1, math.ceil(len(inside) / (most + 2)))]


def from_zero(highest: float, least: float = 0.0) -> Scale:
    """From 0 to the highest value or `least`, with a little room above."""
    top = max(highest, least)
    return Scale(0.0, 1.05 * top if top > 0 else 1.0)


def counts(highest: float) -> Scale:
    """A logarithmic scale of counts, from 0 on."""
    return Scale(1.0, 1.25 * max(highest, 8.0), log=True, zero=True)


def ratios(values: Iterable[float]) -> Scale:
    """A logarithmic scale for these counts, with a place for 0 where one of them is."""
    there = list(values)
    above = [value for value in there if value > 0] or [1.0]
    return Scale(max(1.0, min(above) / 1.5), max(10.0, 1.5 * max(above)), log=True, zero=min(there, default=0) <= 0)


def text(value: float) -> str:
    """A number as it is written along an axis.

    >>> text(0.25), text(20.0), text(1500), text(2_000_000.0)
    ('0.25', '20', '1,500', '2 M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if letter == "k" else size
            return f"{value / unit:,.4g} {letter}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"


def _round_up(step: float) -> float:
    """The next larger number that begins with 1, 2, 2.5 or 5."""
    if not step > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * one for one in _STEPS if power * one >= step * (1 - 1e-9))
