"""In which order to ask people about labels: what a question is worth, by its probability and what is known already.

Pure functions over arrays, for the review page, for plans and for measurements. A probability is that of the label
being present, calibrated, and from a model that did not learn from the image where there is one.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating[Any]]
Order = Literal["uncertain", "valuable", "positives", "mistakes", "random"]
T = TypeVar("T")

DEFAULT: Order = "valuable"  # needs the fewest questions for an mAP: docs/results/review.md

ORDERS: dict[Order, str] = {
    "uncertain": "most uncertain first",
    "valuable": "most valuable for its class first",
    "positives": "most likely hidden positives first",
    "mistakes": "known labels that are most likely wrong first",
    "random": "at random",
}


def uncertainty(probabilities: Floats) -> Floats:
    """1 where a label may be either, 0 where its value is certain.

    >>> uncertainty(np.array([0.0, 0.5, 0.9])).round(2)
    array([0.  , 1.  , 0.36])
    """
    found: Floats = 4 * probabilities * (1 - probabilities)
    return found


def value_for_class(probabilities: Floats, positives: ArrayLike) -> Floats:
    """p · uncertainty / √(1 + known positives of the class): what is probable, not certain, and of a scarce class.

    A positive tells more of a class than a negative does, and the more, the fewer are known; what the model is sure of
    tells nothing new. positives: known ones of the class, a number or one for each probability.

    >>> p = np.array([0.2, 0.6, 0.95])
    >>> value_for_class(p, 0).argmax(), value_for_class(p, [0, 99, 99]).argmax()
    (np.int64(1), np.int64(0))
    """
    found: Floats = probabilities * uncertainty(probabilities) / np.sqrt(1 + np.asarray(positives, np.float32))
    return found


def chance_of_mistake(probabilities: Floats, known: NDArray[np.int8]) -> Floats:
    """The probability that a known label (+1 or −1) is wrong."""
    found: Floats = np.where(known > 0, 1 - probabilities, probabilities)
    return found


def worth(
    order: Order,
    probabilities: Floats,
    known: NDArray[np.int8],
    positives: ArrayLike = 0,
    seed: int = 0,
) -> Floats:
    """What each question is worth: the higher, the sooner it is asked; −inf where there is nothing to ask.

    Arrays have any one shape, such as images × classes. Nothing is asked about an image that has no score (NaN), nor
    about known labels (+1, −1), except for mistakes, which are asked about known ones alone. positives, known ones of
    each class, are for the order "valuable", and the seed is for "random".

    >>> worth("positives", np.array([0.2, 0.9, 0.6]), np.array([0, 1, 0]))
    array([ 0.2, -inf,  0.6])
    """
    match order:
        case "uncertain":
            found = uncertainty(probabilities)
        case "valuable":
            found = value_for_class(probabilities, positives)
        case "positives":
            found = probabilities
        case "mistakes":
            found = chance_of_mistake(probabilities, known)
        case "random":
            found = np.random.default_rng(seed).random(probabilities.shape, np.float32)
    to_ask = ((known != 0) if order == "mistakes" else (known == 0)) & ~np.isnan(probabilities)
    return np.where(to_ask, found, -np.inf)


def best_first(worth: Floats, count: int | None = None) -> NDArray[np.int64]:
    """Positions in the flattened array that are worth most, in this order; none of those that are −inf.

    Of equal ones the first comes first; where only `count` are asked for, some of the last equals may be left out.

    >>> best_first(np.array([[0.1, 0.7], [-np.inf, 0.7]]))
    array([1, 3, 0])
    """
    flat = worth.ravel()
    if count is None or count >= flat.size:
        chosen = np.flatnonzero(flat > -np.inf)
    else:
        chosen = np.sort(np.argpartition(-flat, count - 1)[:count]) if count else np.zeros(0, np.int64)
        chosen = chosen[flat[chosen] > -np.inf]
    ordered: NDArray[np.int64] = chosen[np.argsort(-flat[chosen], kind="stable")]
    return ordered


def mixed(
    ordered: Iterable[T],
    drawn: Iterator[T],
    share: float,
    size: Callable[[T], int] = lambda _: 1,
    asked: int = 0,
    given: int = 0,
) -> Iterator[T]:
    """What is asked in order, with drawn questions spread among it, so that these are a share of all; ends with it.

    size: how many questions an item of `ordered` is. asked, given: how many were asked before, and how many of them
    were drawn, where this goes on.

    >>> list(mixed("abcdef", iter("123"), 0.5))
    ['a', '1', 'b', '2', 'c', '3', 'd', 'e', 'f']
    """
    for item in ordered:
        while given + 1 <= share * (asked + 1) + 1e-9:
            found = list(islice(drawn, 1))
            given, asked, share = given + 1, asked + 1, share if found else 0.0  # 0: there are no more
            yield from found
        yield item
        asked += size(item)
