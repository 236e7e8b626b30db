"""From the text of a cell to a label."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trilabel.data.text_files import shown
from trilabel.errors import TrilabelError

SIGNS = {"": 0, "1": 1, "1.0": 1, "true": 1, "false": -1, "0": -1, "0.0": -1, "-1": -1, "-1.0": -1}
_ZEROS, _MINUSES = {"0", "0.0"}, {"-1", "-1.0"}
NO_LABEL = 2  # marks the text of a cell that is not a label

Values = Literal["auto", "binary", "signed", "uncertain"]  # what 0 and -1 mean


Words = Mapping[int, Sequence[str]]  # what cells say for +1, −1 and 0, beside 1, 0 and nothing


def signs_of(path: Path, values: Values, words: Words) -> tuple[dict[str, int], set[str]]:
    """The label that each text means, and the texts that `words` gives."""
    unknown = {"signed": _ZEROS, "uncertain": _MINUSES}.get(values, set())
    given: dict[str, int] = {}
    for sign, texts in words.items():
        for text in (text.strip().lower() for text in texts):
            if given.setdefault(text, sign) != sign:
                raise TrilabelError(f"{path}: value {shown(text)} is given two meanings; give it one")
    return SIGNS | dict.fromkeys(unknown, 0) | given, set(given)


def rule_of(values: Values) -> str:
    """What cells mean, in words."""
    if values == "signed":
        return "empty cells and 0 are unknown; -1 is absent"
    if values == "uncertain":
        return "empty cells and -1 are unknown; 0 is absent"
    return "empty cells are unknown; 0 and -1 are absent"


@dataclass
class CellReader:
    """Reads cells as labels, and records the different texts."""

    signs: dict[str, int]
    given: set[str] = field(default_factory=set)  # texts whose meaning the user gave
    seen: set[str] = field(default_factory=set)

    def is_ambiguous(self) -> bool:
        """Whether there are both 0 and -1, of which one may mean unknown."""
        unclear = self.seen - self.given
        return bool(unclear & _ZEROS and unclear & _MINUSES)

    def sign(self, text: str) -> int:
        """+1, −1 or 0, or NO_LABEL."""
        return self.signs.get(text.strip().lower(), NO_LABEL)

    def sign_all(self, cells: NDArray[Any]) -> NDArray[np.int8]:
        """`sign` of every cell, found once for each of the few different texts."""
        codes, texts = pd.factorize(cells)
        self.seen.update(text.strip().lower() for text in texts)
        return np.array([self.sign(text) for text in texts], np.int8)[codes]
