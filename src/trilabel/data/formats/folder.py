"""Folders of images with one sub-folder per class, as most programs for single labels expect them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Unlisted, fill_absent
from trilabel.data.image_paths import SPLIT_NAMES, RootedPaths, scan, split_name, walk
from trilabel.data.options import check_choice
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.printable import plural

RULE = "images have the class of their folder; every other class is unknown"
_LABEL_FILES = (".csv", ".tsv", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".trilabel")
_NO_CLASSES = {"images", "image", "img", "imgs", "photos", "pictures", "jpegimages", "data", "labels", "annotations"}


def detect(path: Path) -> bool:
    """Whether this is a folder with sub-folders that contain images, and no other file describes the labels."""
    if not path.is_dir() or files_with_labels(path):
        return False
    parts, _ = _without_splits([name.split("/") for name in walk(path)])
    inside = [part for part in parts if len(part) > 1]
    classes = {part[0].lower() for part in inside}
    return bool(inside) and not classes <= _NO_CLASSES | set(SPLIT_NAMES) and not _around_others(inside)


def _around_others(inside: list[list[str]]) -> bool:
    """Whether these folders contain class folders: they have no images, and are one or have equal sub-folders."""
    if not all(len(part) > 2 for part in inside):
        return False
    tops, below = {part[0] for part in inside}, {(part[0], part[1]) for part in inside}
    return len(tops) == 1 or len({name for _, name in below}) < len(below)


def files_with_labels(path: Path) -> list[str]:
    """Files in this folder that may contain labels, so that the names of folders are not the labels."""
    names = (file.name for file in path.iterdir() if file.suffix.lower() in _LABEL_FILES and file.is_file())
    return sorted(name for name in names if not name.startswith("."))


def read(path: Path, *, images: str | Path | None = None, unlisted: Unlisted = "unknown") -> Dataset:
    """One sub-folder per class: an image is known to have the class of its folder; `unlisted` is the value of others.

    If all top folders are called train, val, test or similar, they are the splits and contain the class folders.
    """
    check_choice(path, "unlisted", unlisted, ("unknown", "absent"))
    if images is not None:
        raise TrilabelError(f"{path}: the images are inside the class folders; leave out the option images")
    files, unread = scan(path)
    parts = [file.split("/") for file in files]
    if all(len(part) == 1 for part in parts):
        raise TrilabelError(f"{path}: this folder has no sub-folders with images, one per class")
    parts, splits = _without_splits(parts)
    notes = [f"images have the class of their folder; every other class is {unlisted}", *unread]
    dataset = _dataset(path, files, [part[0] if len(part) > 1 else "" for part in parts], splits, notes)
    if unlisted == "unknown":
        return dataset
    in_folder = np.flatnonzero(np.diff(dataset.labels.csr.indptr))
    return replace(dataset, labels=fill_absent(path, dataset.labels, in_folder))


def _without_splits(parts: list[list[str]]) -> tuple[list[list[str]], dict[str, NDArray[np.int64]]]:
    """The parts of paths without the splits, if all top folders are splits, and the rows of each split."""
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
        which = plural(loose, "image is in no class folder: its", "images are in no class folder: their")
        notes.append(f"{which} labels are unknown")
    labels = Labels.from_entries(rows, columns[rows], np.ones(len(rows), np.int8), classes, files)
    return Dataset(labels.ids, RootedPaths(root, labels.ids), labels, splits, notes=tuple(notes))
