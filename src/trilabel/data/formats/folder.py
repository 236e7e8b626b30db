"""Folders of images with one sub-folder per class, as most programs for single labels want them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Unlisted, fill_absent
from trilabel.data.image_paths import SPLIT_NAMES, RootedPaths, split_name, walk
from trilabel.data.options import check_choice
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

RULE = "images have the class of their folder; every other class is unknown"
_LABEL_FILES = (".csv", ".tsv", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".trilabel")
_NO_CLASSES = {"images", "image", "img", "imgs", "photos", "pictures", "jpegimages", "data", "labels", "annotations"}


def detect(path: Path) -> bool:
    """Whether this is a folder with sub-folders that hold images, and nothing says that these are not classes."""
    if not path.is_dir() or files_with_labels(path):
        return False
    parts, _ = _without_splits([name.split("/") for name in walk(path)])
    inside = [part for part in parts if len(part) > 1]
    classes = {part[0].lower() for part in inside}
    return bool(inside) and not classes <= _NO_CLASSES | set(SPLIT_NAMES) and not _around_others(inside)


def _around_others(inside: list[list[str]]) -> bool:
    """Whether these are folders around class folders: no image lies in them, and they are one or have the same ones."""
    if not all(len(part) > 2 for part in inside):
        return False
    tops, below = {part[0] for part in inside}, {(part[0], part[1]) for part in inside}
    return len(tops) == 1 or len({name for _, name in below}) < len(below)


def files_with_labels(path: Path) -> list[str]:
    """Files in this folder that may say more about images than the names of folders do."""
    names = (file.name for file in path.iterdir() if file.suffix.lower() in _LABEL_FILES and file.is_file())
    return sorted(name for name in names if not name.startswith("."))


def read(path: Path, *, images: str | Path | None = None, unlisted: Unlisted = "unknown") -> Dataset:
    """One sub-folder a class: an image is known to have the class of its folder; `unlisted` is what every other is.

    Where all top folders are called train, val, test or the like, they are the splits and the classes lie below.
    """
    check_choice(path, "unlisted", unlisted, ("unknown", "absent"))
    if images is not None:
        raise TrilabelError(
            f"{path}: in a folder with one sub-folder per class the images lie inside; leave out images"
        )
    files = sorted(walk(path))
    parts = [file.split("/") for file in files]
    if all(len(part) == 1 for part in parts):
        raise TrilabelError(f"{path}: no sub-folder with images, one a class, is in this folder")
    parts, splits = _without_splits(parts)
    notes = [f"images have the class of their folder; every other class is {unlisted}"]
    dataset = _dataset(path, files, [part[0] if len(part) > 1 else "" for part in parts], splits, notes)
    if unlisted == "unknown":
        return dataset
    in_folder = np.flatnonzero(np.diff(dataset.labels.csr.indptr))
    return replace(dataset, labels=fill_absent(dataset.labels, in_folder))


def _without_splits(parts: list[list[str]]) -> tuple[list[list[str]], dict[str, NDArray[np.int64]]]:
    """The parts of paths without the names of splits, where all top folders are such, and the rows of these."""
    tops = {part[0] for part in parts if len(part) > 1}
    if not all(top.lower() in SPLIT_NAMES for top in tops) or not any(len(part) > 2 for part in parts):
        return parts, {}
    of = np.array([split_name(part[0]) if len(part) > 1 else "" for part in parts])
    splits = {str(name): np.flatnonzero(of == name) for name in dict.fromkeys(of) if name}
    return [part[1:] if len(part) > 1 else part for part in parts], splits


def _dataset(
    root: Path, files: list[str], folders: list[str], splits: dict[str, NDArray[np.int64]], notes: list[str]
) -> Dataset:
    classes = sorted(set(folders) - {""})
    column = {name: number for number, name in enumerate(classes)}
    columns = np.array([column.get(name, -1) for name in folders], np.int64)
    rows = np.flatnonzero(columns >= 0)
    loose = len(files) - len(rows)
    if loose:
        notes.append(f"{loose} images lie in no class folder: nothing is known of them")
    labels = Labels.from_entries(rows, columns[rows], np.ones(len(rows), np.int8), classes, files)
    return Dataset(labels.ids, RootedPaths(root, labels.ids), labels, splits, notes=tuple(notes))
