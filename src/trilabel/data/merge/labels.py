"""Labels of several data sets in one matrix, and where the sets contradict each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names

Conflict = Literal["error", "unknown", "first", "last"]
_MOST_LISTED = 1000


@dataclass(frozen=True)
class _Statements:
    """The statements of the sets: one entry per known label of a set, set by set."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    sign: NDArray[np.int8]
    owner: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Mapping[str, Dataset], row_of: Mapping[str, NDArray[np.int64]], names: Names) -> "_Statements":
        """What all parts say, by row and class of the merged data set."""
        known = [part.labels.csr.tocoo() for part in parts.values()]
        places = [names.positions(part.labels.classes) for part in parts.values()]
        return cls(
            np.concatenate([rows[coo.row] for rows, coo in zip(row_of.values(), known, strict=True)]),
            np.concatenate([place[coo.col] for place, coo in zip(places, known, strict=True)]),
            np.concatenate([coo.data for coo in known]),
            np.repeat(np.arange(len(parts)), [coo.nnz for coo in known]),
        )


def merge_labels(
    parts: Mapping[str, Dataset],
    row_of: Mapping[str, NDArray[np.int64]],
    ids: Names,
    names: Names,
    conflict: Conflict,
) -> tuple[Labels, dict[str, Any]]:
    """(labels of the images `ids`, a report on labels stated twice); row_of[part] has the new rows of images."""
    said = _Statements.of(parts, row_of, names)
    # Only images that are in several sets can have a label twice: most labels need no sorting.
    shared = (np.bincount(np.concatenate(list(row_of.values())), minlength=len(ids)) > 1)[said.row]
    alone, order = np.flatnonzero(~shared), np.flatnonzero(shared)
    order = order[np.argsort(said.row[order] * len(names) + said.column[order], kind="stable")]
    key = said.row[order] * len(names) + said.column[order]
    start = np.flatnonzero(np.diff(key, prepend=-1))  # where the statements about each label begin, and end
    end = np.append(start[1:], len(key))[: len(start)]
    positives = np.concatenate(([0], np.cumsum(said.sign[order] > 0)))
    present = positives[end] - positives[start]
    both = (present > 0) & (present < end - start)
    shown = np.flatnonzero(both)[:_MOST_LISTED]
    listed = [_contradiction(said, order[start[i] : end[i]], list(parts), ids, names) for i in shown]
    if listed and conflict == "error":
        raise TrilabelError(_complaint(listed[0], int(both.sum())))
    settled = said.sign[order[end - 1 if conflict == "last" else start]]
    if conflict == "unknown":
        settled = np.where(both, np.int8(0), settled)
    entries = np.concatenate([alone, order[start[settled != 0]]])
    signs = np.concatenate([said.sign[alone], settled[settled != 0]])
    per_class = np.bincount(said.column[order[start[both]]], minlength=len(names))
    most_first = [int(place) for place in np.argsort(-per_class, kind="stable") if per_class[place]]
    return Labels.from_entries(said.row[entries], said.column[entries], signs, names, ids), {
        "labels_stated_twice": int((end - start > 1).sum()),
        "contradicting": int(both.sum()),
        "contradicting_per_class": {names[place]: int(per_class[place]) for place in most_first},
        "contradictions": listed,
    }


def _contradiction(
    said: _Statements, about: NDArray[np.int64], sets: list[str], ids: Names, names: Names
) -> dict[str, Any]:
    present, absent = about[said.sign[about] > 0], about[said.sign[about] < 0]
    return {
        "image": ids[int(said.row[about[0]])],
        "class": names[int(said.column[about[0]])],
        "present": [sets[number] for number in said.owner[present]],
        "absent": [sets[number] for number in said.owner[absent]],
    }


def _complaint(one: Mapping[str, Any], count: int) -> str:
    return (
        f"image {one['image']!r}, class {one['class']!r} is present in {', '.join(one['present'])} and absent in "
        f"{', '.join(one['absent'])} ({count} such labels); correct them, or choose conflict unknown, first or last"
    )
