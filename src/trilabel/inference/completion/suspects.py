"""Suspected mistakes of all known labels, the most suspicious first; of very many only so many are kept."""

import numpy as np
from numpy.typing import NDArray

from trilabel.data.answers import Answered
from trilabel.inference.completion.known import KnownLabels
from trilabel.inference.completion.mistakes import MistakeModel
from trilabel.inference.completion.result import Mistake
from trilabel.inference.score_table import ScoreTable

_LIKELY = 0.5  # how likely a listed label is a mistake at least
_MOST = 100_000


class Suspects:
    """Collects known labels, some images at a time."""

    def __init__(self, model: MistakeModel) -> None:
        self._model = model
        # n×5: how likely it is a mistake, and present by its score; row, column; whether it is known to be present.
        self._found: NDArray[np.float64] = np.zeros((0, 5))

    def add(self, known: KnownLabels) -> None:
        """Looks at the known labels of some images."""
        wrong, present = self._model(known)
        chosen = np.argsort(-wrong, kind="stable")[:_MOST]
        columns = (wrong, present, known.rows, known.columns, known.present)
        new = np.stack([column[chosen].astype(np.float64) for column in columns], axis=1)
        self._found = np.concatenate((self._found, new))
        if len(self._found) > 2 * _MOST:
            self._found = self._ranked()[:_MOST]

    def _ranked(self) -> NDArray[np.float64]:
        return self._found[np.argsort(-self._found[:, 0], kind="stable")]

    def list(self, table: ScoreTable, answered: Answered | None) -> list[Mistake]:
        """Without those that people have looked at; none where less than one mistake is to be expected."""
        rows = self._ranked()
        if answered is not None:
            seen = answered.rows * len(table.classes) + answered.columns
            rows = rows[~np.isin(rows[:, 2] * len(table.classes) + rows[:, 3], seen)]
        rows = rows[rows[:, 0] >= _LIKELY][:_MOST]
        if rows[:, 0].sum() < 1:
            return []
        expected = rows[:, 0].cumsum() / np.arange(1, len(rows) + 1)
        return [
            Mistake(table.ids[int(row)], table.classes[int(column)], 1 if known else -1, float(chance), float(share))
            for (_, chance, row, column, known), share in zip(rows.tolist(), expected.tolist(), strict=True)
        ]
