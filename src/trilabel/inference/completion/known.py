"""The known labels of images that the scoring model did not learn from: what everything is fitted on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.inference.score_table import ScoreTable
from trilabel.labels import Labels

_MOST = 2_000_000  # more say nothing new about a few numbers by class
_ROWS_AT_ONCE = 4096
_SEED = 0


class KnownLabels(NamedTuple):
    """n known labels, one after the other."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    logits: NDArray[np.float64]
    present: NDArray[np.bool_]


def known_labels(table: ScoreTable, labels: Labels, most: int = _MOST) -> KnownLabels:
    """Of the images that the model did not learn from; of so many that they would be too many, of a part of these."""
    counts = np.diff(labels.csr.indptr) * table.held_out
    rows = np.flatnonzero(counts)
    if (known := int(counts.sum())) > most:
        share = most / known
        rows = rows[np.random.default_rng(_SEED).random(len(rows)) < share]
    parts = [known_of(table, labels, rows[at : at + _ROWS_AT_ONCE]) for at in range(0, len(rows), _ROWS_AT_ONCE)]
    if not parts:
        return known_of(table, labels, rows)
    return KnownLabels(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def known_of(table: ScoreTable, labels: Labels, rows: NDArray[np.int64]) -> KnownLabels:
    """Of these images; without those that could not be scored."""
    part = labels.csr[rows].tocoo()
    place, columns = part.coords
    logits = np.asarray(table.logits[rows])[place, columns].astype(np.float64)
    table.let_go()
    good = ~np.isnan(logits)
    return KnownLabels(
        rows[place[good]], columns[good].astype(np.int64), logits[good].clip(-50, 50), (part.data > 0)[good]
    )
