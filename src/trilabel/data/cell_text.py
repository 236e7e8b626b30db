"""The text of many cells at once: a few different texts, each many times, without a Python string for each cell."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from trilabel.labels.names import Names


def quoted(text: str, delimiter: str = ",") -> str:
    """A cell as CSV writes it.

    >>> quoted("cat"), quoted("a,b"), quoted('6" nail')
    ('cat', '"a,b"', '"6"" nail"')
    """
    special = any(mark in text for mark in (delimiter, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if special else text


class CellText:
    """Texts that are looked up by number; each ends with the delimiter, or where a row ends, with that."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = Names(texts)

    def join(self, numbers: NDArray[np.integer]) -> bytes:
        """The texts of these numbers, one after the other (rows × cells: row by row)."""
        return self.texts.take(numbers.ravel()).buffer.tobytes()
