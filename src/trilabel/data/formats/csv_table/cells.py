"""From the text of a cell to a label."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SIGNS = {"": 0, "1": 1, "1.0": 1, "true": 1, "false": -1, "0": -1, "0.0": -1, "-1": -1, "-1.0": -1}
NO_LABEL = 2  # marks the text of a cell that is not a label


@dataclass
class CellReader:
    """Reads cells as labels, and records the different texts."""

    signs: dict[str, int]
    seen: set[str] = field(default_factory=set)

    def sign(self, text: str) -> int:
        """+1, −1 or 0, or NO_LABEL."""
        return self.signs.get(text.strip().lower(), NO_LABEL)

    def sign_all(self, cells: NDArray[Any]) -> NDArray[np.int8]:
        """`sign` of every cell, found once for each of the few different texts."""
        codes, texts = pd.factorize(cells)
        self.seen.update(text.strip().lower() for text in texts)
        return np.array([self.sign(text) for text in texts], np.int8)[codes]
