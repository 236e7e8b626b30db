"""The scores of a table, a few images at a time: images × classes are never in memory."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.inference.score_table import ScoreTable
from trilabel.labels import Labels
from trilabel.log import progress

_LABELS_AT_ONCE = 1 << 21
_AT_LEAST = 200  # blocks, where there are as many images: `hidden` leaves out a part of them at a time


class Block(NamedTuple):
    """Some images after each other."""

    number: int
    rows: NDArray[np.int64]  # n
    logits: NDArray[np.float32]  # n×C
    signs: NDArray[np.int8]  # n×C: +1, −1, 0
    usable: NDArray[np.bool_]  # n: scored, by a model that did not learn from it


def blocks(table: ScoreTable, labels: Labels, what: str) -> Iterator[Block]:
    """All images, in order; shows how far it is."""
    images, classes = labels.shape
    size = max(1, min(_LABELS_AT_ONCE // max(classes, 1), -(-images // _AT_LEAST)))
    with progress(what, images) as advance:
        for number, start in enumerate(range(0, images, size)):
            yield block_of(table, labels, np.arange(start, min(start + size, images)), number)
            table.let_go()
            advance(min(size, images - start))


def block_of(table: ScoreTable, labels: Labels, rows: NDArray[np.int64], number: int = 0) -> Block:
    """These images."""
    together = bool(len(rows)) and rows[-1] - rows[0] + 1 == len(rows) and bool((np.diff(rows) == 1).all())
    at = slice(int(rows[0]), int(rows[-1]) + 1) if together else rows
    logits = np.asarray(table.logits[at], np.float32)
    usable = table.held_out[at] & ~np.isnan(logits[:, 0] if logits.shape[1] else np.zeros(len(rows)))
    if not usable.all():
        logits = np.where(usable[:, None], logits, np.float32(0))  # what is not known is no number
    return Block(number, rows, logits, labels.csr[at].toarray(), usable)
