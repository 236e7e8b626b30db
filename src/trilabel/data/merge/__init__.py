"""Several data sets in one: each knows some classes of some images, and what none of them knows is unknown."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.duplicates import content_codes
from trilabel.data.image_paths import UPLOAD_PREFIX, RootedPaths, is_image, relative_to
from trilabel.data.inspect import similar_names
from trilabel.data.merge.class_map import ClassMap, check_class_map, joined_of_some, renamed
from trilabel.data.merge.labels import Conflict, merge_labels
from trilabel.data.options import check_choice
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names

_Rows = dict[str, NDArray[np.int64]]
_RANKS = {"": 0, "train": 1, "test": 3}  # what one set keeps for scoring must not be trained on because of another
_OTHER_RANK = 2
_EXPORTED = re.compile(r"_(jpe?g|png|webp|bmp|gif|tiff?)\.rf\.\w+$", re.IGNORECASE)  # of Roboflow


def merge(
    sets: Mapping[str, Dataset],
    *,
    classes: ClassMap | None = None,
    same: Literal["path", "id", "name", "content"] = "path",
    conflict: Conflict = "error",
) -> tuple[Dataset, dict[str, Any]]:
    """(all of them in one, a report that prints as JSON).

    Images are one where they have the `same` path, id, file name or content. Classes are one where they have one name,
    after `classes` renamed them. Where sets contradict each other, `conflict` decides: an error, unknown, or the word
    of the first or last of them.
    """
    here = Path("merge")
    check_choice(here, "same", same, ("path", "id", "name", "content"))
    check_choice(here, "conflict", conflict, ("error", "unknown", "first", "last"))
    if len(sets) < 2:
        raise TrilabelError("merging takes two data sets or more")
    check_class_map(sets, classes or {})
    parts = {name: renamed(name, dataset, classes or {}) for name, dataset in sets.items()}
    row_of, ids, paths = _images(parts, same)
    names = Names.join([part.labels.classes for part in parts.values()]).distinct()[1]
    if not len(names):
        raise TrilabelError("no class is left: the map of classes drops all of them")
    labels, contradictions = merge_labels(parts, row_of, ids, names, conflict)
    splits, differing = _splits(parts, row_of, len(ids))
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
    }
    return Dataset(labels.ids, paths, labels, splits, _boxes(parts, row_of, names), notes=notes), report


def _images(parts: Mapping[str, Dataset], same: str) -> tuple[_Rows, Names, RootedPaths]:
    """(row in the merged set of each part's images, ids, paths)."""
    for name, part in parts.items():
        if part.paths is None:
            raise TrilabelError(f"{name}: its images were drawn in memory; without files they cannot be merged")
    every = [path for part in parts.values() for path in _real(part.paths or ())]
    all_ids = Names.join([part.labels.ids for part in parts.values()])
    ends = np.cumsum([len(part) for part in parts.values()])
    keys = all_ids if same == "id" else Names(every)
    if same == "name":
        keys = Names(map(bare_name, every))
        for name, own in zip(parts, np.split(np.arange(len(every)), ends[:-1]), strict=True):
            _refuse_equal_names(name, keys.take(own))
    codes, first = keys.factorise()
    first_of = first[codes]
    if same == "content":
        contents = content_codes(every)
        if (contents < 0).all():
            raise TrilabelError("none of the images has a file, so contents cannot be compared; use same id or path")
        first_of = np.where(contents < 0, first_of, contents)  # what has no file goes by its path
    is_first = first_of == np.arange(len(every))
    row = (np.cumsum(is_first) - 1)[first_of]
    first = np.flatnonzero(is_first)
    owner = np.searchsorted(ends, first, side="right")
    ids = _told_apart(all_ids.take(first), [list(parts)[number] for number in owner.tolist()])
    common = _common_folder(every)
    paths = RootedPaths(common, Names(relative_to([every[place] for place in first.tolist()], common)))
    return dict(zip(parts, np.split(row, ends[:-1]), strict=True)), ids, paths


def bare_name(path: str) -> str:
    """The name of an image's file without folder and ending, and without what Roboflow and Label Studio put to it."""
    name = os.path.basename(path)  # noqa: PTH119
    stem = name.rpartition(".")[0] if is_image(name) else name
    return UPLOAD_PREFIX.sub("", _EXPORTED.sub("", stem), count=1)


def _refuse_equal_names(part: str, names: Names) -> None:
    codes, first = names.factorise()
    for again in np.flatnonzero(first[codes] != np.arange(len(names)))[:1].tolist():
        raise TrilabelError(f"{part}: two of its images are called {names[again]!r}; use same path, id or content")


def _real(paths: Sequence[str]) -> Iterator[str]:
    """Absolute paths, through links to folders."""

    @lru_cache(maxsize=1024)
    def real(folder: str) -> str:
        return os.path.realpath(folder)

    for folder, name in map(os.path.split, paths):
        yield os.path.join(real(folder), name)  # noqa: PTH118


def _told_apart(ids: Names, owners: list[str]) -> Names:
    """Different images of one id get the name of their set before it."""
    codes, first = ids.factorise()
    if len(first) < len(ids):
        double = np.bincount(codes)[codes] > 1
        ids = Names(f"{owner}/{one}" if twice else one for one, owner, twice in zip(ids, owners, double, strict=True))
        ids.require_unique("image")
    return ids


def _common_folder(paths: list[str]) -> Path:
    try:
        return Path(os.path.commonpath({os.path.dirname(path) for path in paths}))  # noqa: PTH120
    except ValueError:  # no image at all, or two drives of Windows
        return Path.cwd()


def _splits(parts: Mapping[str, Dataset], row_of: _Rows, images: int) -> tuple[_Rows, int]:
    """(rows of each split, how many images are in different splits): such an image goes where it is not trained on."""
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


def _boxes(parts: Mapping[str, Dataset], row_of: _Rows, names: Names) -> Boxes | None:
    drawn = [(key, part, part.boxes) for key, part in parts.items() if part.boxes is not None]
    if not drawn:
        return None
    return Boxes(
        np.concatenate([row_of[key][boxes.image] for key, _, boxes in drawn]),
        np.concatenate([names.positions(part.labels.classes)[boxes.cls] for _, part, boxes in drawn]),
        np.concatenate([boxes.xyxy for _, _, boxes in drawn]),
    )


def _overlap(parts: Mapping[str, Dataset], row_of: _Rows, images: int) -> dict[str, Any]:
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
