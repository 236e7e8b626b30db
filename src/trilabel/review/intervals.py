"""How sure a share of right answers is: the exact binomial interval."""

from typing import NamedTuple


class Share(NamedTuple):
    """So many of so many, and bounds of the share that they are drawn from."""

    right: int
    asked: int
    low: float
    high: float


def exact_share(right: int, asked: int, confidence: float = 0.95) -> Share:
    """The exact (Clopper–Pearson) interval, which holds for any number of questions.

    >>> exact_share(0, 0)
    Share(right=0, asked=0, low=0.0, high=1.0)
    >>> [round(bound, 3) for bound in exact_share(96, 100)[2:]]
    [0.901, 0.989]
    """
    from scipy.special import betaincinv  # only where there are answers: it takes a moment to import

    tail = (1 - confidence) / 2
    low = float(betaincinv(right, asked - right + 1, tail)) if right else 0.0
    high = float(betaincinv(right + 1, asked - right, 1 - tail)) if right < asked else 1.0
    return Share(right, asked, low, high)
