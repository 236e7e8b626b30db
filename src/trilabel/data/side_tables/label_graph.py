"""Which labels occur together: for each label a few others, with weights to start learning from.

The weight of neighbor j' of label j is how strongly the presence of j' indicates that of j.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.data.side_tables.side_information import rows_of
from trilabel.data.spreadsheet_cells import refuse_equal, safe_cell
from trilabel.errors import TrilabelError
from trilabel.files import write_csv
from trilabel.labels import Labels
from trilabel.labels.names import Names

_COLUMNS = ("label,neighbor", "label,neighbor,weight")


@dataclass(frozen=True)
class LabelGraph:
    """At most k neighbors of each of C labels. Slots that are not used have weight 0, and any index."""

    index: Tensor  # C×k int64
    weight: Tensor  # C×k float32
    used: Tensor  # C×k bool


def identity(classes: int) -> LabelGraph:
    """Each label is related only to itself."""
    return _of_rows([{label: 1.0} for label in range(classes)])


def co_occurrence(labels: Labels, k: int) -> LabelGraph:
    """The label itself and the k − 1 labels that are most often known to be present together with it.

    The weight of j' is the share of images with j' that have j too, among those in which j is known: with missing
    labels, a share of all images with j' would be too small. One image is added to them, so that a pair seen once
    does not count as certain. The label itself has 1; then each row is divided by its sum.
    """
    together, seen = labels.co_occurrence(), seen_with(labels)
    rows: list[dict[int, float]] = []
    for label in range(labels.shape[1]):
        place = slice(together.indptr[label], together.indptr[label + 1])
        others, counts = together.indices[place], together.data[place]
        others, counts = others[others != label], counts[others != label]
        order = np.lexsort((others, -counts))[: k - 1]
        known = np.asarray(seen[[label], others[order]]).ravel() if len(order) else counts[:0]
        shares = counts[order] / (known + 1)
        whole = 1 + shares.sum()
        rows.append({label: 1 / whole} | dict(zip(others[order].tolist(), (shares / whole).tolist(), strict=True)))
    return _of_rows(rows)


def nearest(vectors: NDArray[np.float32], k: int) -> LabelGraph:
    """The label itself and the k − 1 labels with the nearest of the vectors (C×D), such as word vectors.

    Weights are cosines, only those above 0; each row is divided by its sum.
    """
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    rows: list[dict[int, float]] = []
    for label, vector in enumerate(unit):
        cosines = unit @ vector
        cosines[label] = 1 + k  # first, whatever its vector
        order = np.argsort(-cosines, kind="stable")[:k]
        weights = {int(other): float(cosines[other]) for other in order if cosines[other] > 0} | {label: 1.0}
        rows.append({other: weight / sum(weights.values()) for other, weight in weights.items()})
    return _of_rows(rows)


def seen_with(labels: Labels) -> sp.csr_array:
    """C×C: in how many images label j (row) is known, present or not, and j' (column) present."""
    known = labels.csr.astype(np.int32)
    present = known.copy()
    known.data[:] = 1
    present.data = (present.data > 0).astype(np.int32)
    present.eliminate_zeros()
    return sp.csr_array(known.T @ present)


def from_file(path: str | Path, classes: Sequence[str]) -> LabelGraph:
    """A table of label, neighbor and, optionally, weight; labels that it does not list are not connected.

    Weights are used as they are; a label has the weight 1 for itself unless a row gives another. Without weights, a
    label has half the weight for itself and its neighbors divide the rest evenly.
    """
    path = Path(path)
    cells = rows_of(path, _COLUMNS)
    places, weighted = {name: place for place, name in enumerate(classes)}, len(next(cells)[1]) == 3
    rows: list[dict[int, float]] = [{} for _ in classes]
    for line, (label, neighbor, *weight) in cells:
        row, other = rows[_place(label, places, path, line)], _place(neighbor, places, path, line)
        if other in row:
            raise TrilabelError(
                f"{path}, row {line}: {neighbor!r} is listed twice as a neighbor of {label!r}; remove one"
            )
        row[other] = _number(weight[0], path, line) if weighted else 0.0
    for place, row in enumerate(rows):
        others = [other for other in row if other != place]
        if not row or (not weighted and not others):
            rows[place] = {place: 1.0}
        elif weighted and place not in row:
            rows[place] = {place: 1.0, **row}
        elif not weighted:
            rows[place] = {place: 0.5} | dict.fromkeys(others, 0.5 / len(others))
    return _of_rows(rows)


def edges(graph: LabelGraph, classes: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """(label, neighbor, weight) of every slot in use: the rows of a table that `from_file` reads."""
    for label, *row in zip(classes, graph.index.tolist(), graph.weight.tolist(), graph.used.tolist(), strict=True):
        yield from ((label, classes[other], weight) for other, weight, used in zip(*row, strict=True) if used)


def write(graph: LabelGraph, classes: Sequence[str], path: str | Path, safe_cells: bool = False) -> None:
    """Writes a table that `from_file` reads, unless `safe_cells` puts an apostrophe in front of formulas."""
    if safe_cells:
        refuse_equal(Names(classes), path)
        classes = list(map(safe_cell, classes))
    rows = ((label, neighbor, f"{weight:.6g}") for label, neighbor, weight in edges(graph, classes))
    write_csv(path, ("label", "neighbor", "weight"), rows)


def _of_rows(rows: Sequence[dict[int, float]]) -> LabelGraph:
    """From the neighbors of each label and their weights."""
    width = max((len(row) for row in rows), default=0)
    index, weight = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), np.float32)
    used = np.arange(width) < np.array([len(row) for row in rows], np.int64)[:, None]
    index[used] = [other for row in rows for other in row]
    weight[used] = [value for row in rows for value in row.values()]
    return LabelGraph(torch.from_numpy(index), torch.from_numpy(weight), torch.from_numpy(used))


def _place(name: str, places: Mapping[str, int], path: Path, line: int) -> int:
    if name in places:
        return places[name]
    near = get_close_matches(name, places, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise TrilabelError(f"{path}, row {line}: no class is called {name!r}{meant}")


def _number(text: str, path: Path, line: int) -> float:
    try:
        number = float(text)
        if math.isfinite(number):
            return number
    except ValueError:
        pass
    raise TrilabelError(f"{path}, row {line}: a weight is a finite number, not {text!r}")
