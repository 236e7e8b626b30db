"""Data sets in several large files (shards) with the images inside: which there are, their splits, ids of images."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from trilabel.data.image_paths import split_name
from trilabel.labels.names import Names

_SPLIT = re.compile(r"(?<![a-z])(train|training|validation|valid|val|dev|test|testing|eval|evaluation)(?![a-z])")
_OTHER_NAMES = {"dev": "val", "eval": "test", "evaluation": "test"}
_MOST_FOLDERS = 20  # with more, they are classes or something else, and searching all of them is slow


def files_called(path: Path, ends: tuple[str, ...]) -> list[str]:
    """Files with one of these endings, in a folder or two levels below it, relative to it, those of train first.

    Files whose names begin with a dot or with cache- (what `datasets` keeps of computations) are left out.
    """
    found: list[str] = []
    for folder in (path, *(inside := _folders(path)), *(deeper for one in inside for deeper in _folders(one))):
        names = sorted(entry.name for entry in _entries(folder) if entry.name.lower().endswith(ends))
        files = [folder / name for name in names if not name.startswith((".", "cache-"))]
        found += [file.relative_to(path).as_posix() for file in files if file.is_file()]
    order = {"train": 0, "val": 1, "test": 2}
    return sorted(found, key=lambda name: order.get(split_of_shard(name), 3))


def split_of_shard(name: str) -> str:
    """The split that the name of a file says, or else one of the folders around it: train-00000-of-00002.parquet."""
    parts = reversed(name.lower().split("/"))
    found = next((match[1] for part in parts if (match := _SPLIT.search(part))), "")
    return split_name(_OTHER_NAMES.get(found, found))


def unique_ids(names: Names, split_of: Sequence[str], otherwise: Callable[[], Names]) -> Names:
    """The names if all are there and differ, or else if they do with their splits in front, or else other ones."""
    if not all(names):
        return otherwise()
    if len(names.distinct()[1]) == len(names):
        return names
    inside = _inside(split_of, names)
    return inside if len(inside.distinct()[1]) == len(inside) else otherwise()


def numbered(split_of: Sequence[str]) -> Names:
    """The number of each image in its split, from 0, with the split in front."""
    next_number: Counter[str] = Counter()
    found = []
    for split in split_of:
        found.append(str(next_number[split]))
        next_number[split] += 1
    return _inside(split_of, found)


def _inside(folders: Sequence[str], names: Sequence[str]) -> Names:
    return Names(f"{folder}/{name}" if folder else name for folder, name in zip(folders, names, strict=True))


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _folders(path: Path) -> list[Path]:
    found = sorted(entry for entry in _entries(path) if not entry.name.startswith(".") and entry.is_dir())
    return found if len(found) <= _MOST_FOLDERS else []
