"""Which images of several data sets are the same, and their ids and paths in the merged set."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.duplicates import content_codes
from trilabel.data.image_paths import UPLOAD_PREFIX, RootedPaths, is_image, relative_to
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names

RowsByName = dict[str, NDArray[np.int64]]  # rows of the merged set, by the name of a set or of a split
_EXPORTED = re.compile(r"_(jpe?g|png|webp|bmp|gif|tiff?)\.rf\.\w+$", re.IGNORECASE)  # the suffix that Roboflow adds


def match_images(parts: Mapping[str, Dataset], same: str) -> tuple[RowsByName, Names, RootedPaths]:
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
    codes, first = keys.factorize()
    first_of = first[codes]
    if same == "content":
        contents = content_codes(every)
        if (contents < 0).all():
            raise TrilabelError("none of the images has a file, so contents cannot be compared; use same id or path")
        first_of = np.where(contents < 0, first_of, contents)  # images without a file are compared by path
    is_first = first_of == np.arange(len(every))
    row = (np.cumsum(is_first) - 1)[first_of]
    first = np.flatnonzero(is_first)
    owner = np.searchsorted(ends, first, side="right")
    ids = _told_apart(all_ids.take(first), [list(parts)[number] for number in owner.tolist()])
    common = _common_folder(every)
    paths = RootedPaths(common, Names(relative_to([every[place] for place in first.tolist()], common)))
    return dict(zip(parts, np.split(row, ends[:-1]), strict=True)), ids, paths


def bare_name(path: str) -> str:
    """The name of an image file without folder and extension, and without what Roboflow and Label Studio add to it."""
    name = os.path.basename(path)  # noqa: PTH119
    stem = name.rpartition(".")[0] if is_image(name) else name
    return UPLOAD_PREFIX.sub("", _EXPORTED.sub("", stem), count=1)


def _refuse_equal_names(part: str, names: Names) -> None:
    codes, first = names.factorize()
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
    """Different images with the same id get the name of their set as a prefix."""
    codes, first = ids.factorize()
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
