"""Merging data sets: each has labels for some classes of some images; labels that no set has are unknown."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.data.inspect import similar_names
from trilabel.data.merge.boxes import merge_boxes
from trilabel.data.merge.class_map import ClassMap, check_class_map, joined_of_some, renamed
from trilabel.data.merge.images import RowsByName, match_images
from trilabel.data.merge.labels import Conflict, merge_labels
from trilabel.data.options import check_choice
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names

# Images that one set keeps for scoring must not become training images through another.
_RANKS = {"": 0, "train": 1, "test": 3}
_OTHER_RANK = 2


def merge(
    sets: Mapping[str, Dataset],
    *,
    classes: ClassMap | None = None,
    same: Literal["path", "id", "name", "content"] = "path",
    conflict: Conflict = "error",
) -> tuple[Dataset, dict[str, Any]]:
    """(the merged data set, a report that prints as JSON).

    Images are equal if they have the `same` path, id, file name or content. Classes are equal if they have the same
    name after `classes` renamed them. If sets contradict each other, `conflict` decides: an error, unknown, or the
    label of the first or last of them.
    """
    here = Path("merge")
    check_choice(here, "same", same, ("path", "id", "name", "content"))
    check_choice(here, "conflict", conflict, ("error", "unknown", "first", "last"))
    if len(sets) < 2:
        raise TrilabelError("merging needs at least two data sets")
    check_class_map(sets, classes or {})
    parts = {name: renamed(name, dataset, classes or {}) for name, dataset in sets.items()}
    row_of, ids, paths = match_images(parts, same)
    names = Names.join([part.labels.classes for part in parts.values()]).distinct()[1]
    if not len(names):
        raise TrilabelError("no class is left: the class map drops all of them")
    labels, contradictions = merge_labels(parts, row_of, ids, names, conflict)
    splits, differing = _splits(parts, row_of, len(ids))
    boxes, repeated = merge_boxes(parts, row_of, names)
    notes = tuple(f"{name}: {note}" for name, part in parts.items() for note in part.notes)
    report = {
        "same": same,
        "images": len(ids),
        "classes": len(names),
        "known": labels.known,
        "sets": [
            {"set": name, "images": len(part), "classes": len(part.classes), "known": part.labels.known}
            for name, part in parts.items()
        ],
        **_overlap(parts, row_of, len(ids)),
        "classes_joined_of_some": joined_of_some(sets, classes or {}),
        **contradictions,
        "images_in_different_splits": differing,
        "boxes_given_twice": repeated,
    }
    return Dataset(labels.ids, paths, labels, splits, boxes, notes=notes), report


def _splits(parts: Mapping[str, Dataset], row_of: RowsByName, images: int) -> tuple[RowsByName, int]:
    """(rows of each split, how many images are in different splits); those are kept out of training."""
    names = ["", *dict.fromkeys(name for part in parts.values() for name in part.splits)]
    rank = np.array([_RANKS.get(name, _OTHER_RANK) for name in names])
    split, differing = np.zeros(images, np.int64), np.zeros(images, bool)
    for key, part in parts.items():
        for name, rows in part.splits.items():
            number, place = names.index(name), row_of[key][rows]
            differing[place] |= (split[place] != number) & (split[place] > 0)
            split[place] = np.where(rank[number] > rank[split[place]], number, split[place])
    found = {name: np.flatnonzero(split == number) for number, name in enumerate(names) if name}
    return found, int(differing.sum())


def _overlap(parts: Mapping[str, Dataset], row_of: RowsByName, images: int) -> dict[str, Any]:
    in_sets = np.zeros(images, np.int64)
    for rows in row_of.values():
        in_sets[np.unique(rows)] += 1
    sets_of: dict[str, int] = {}
    for name in chain.from_iterable(part.classes for part in parts.values()):
        sets_of[name] = sets_of.get(name, 0) + 1
    return {
        "images_in_several_sets": int((in_sets > 1).sum()),
        "classes_in_several_sets": [name for name, count in sets_of.items() if count > 1],
        "classes_with_similar_names": similar_names(sets_of),
    }
