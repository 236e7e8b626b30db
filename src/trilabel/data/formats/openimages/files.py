"""The files of an Open Images release: where they are, and which classes they name."""

import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trilabel.data.image_paths import split_name
from trilabel.data.text_files import read_lines
from trilabel.errors import TrilabelError

LEFT_OUT = -1  # the column of a class that is not requested
_SPLITS = ("train", "validation", "val", "test")
_MOST_FOLDERS = 50  # of a release; with more it is something else, and searching all of them is slow
_HEADERS = ("labelname", "label_name", "label", "mid", "code", "class", "id")  # the first cell of a header
_RELEASES = ("oidv7-", "oidv6-", "")


def _folders(path: Path) -> Iterator[Path]:
    """The folders that releases and download tools put files into; folders of images are not listed."""
    folders = sorted(folder for folder in path.iterdir() if folder.is_dir())
    inside = [path, *(folders if len(folders) <= _MOST_FOLDERS else ())]
    for folder, name in product(inside, ("", "metadata", "annotations", "labels", *_SPLITS)):
        if (folder / name).is_dir():
            yield folder / name


def label_files(path: Path, kind: Literal["human", "machine"], *, boxable: bool) -> dict[str, Path]:
    """The file of each split, the latest release first; the one of boxable classes if only those are requested."""
    ends = ("-boxable", "") if boxable else ("", "-boxable")
    found: dict[str, Path] = {}
    for end, release, folder, split in product(ends, _RELEASES, _folders(path), _SPLITS):
        file = folder / f"{release}{split}-annotations-{kind}-imagelabels{end}.csv"
        if file.is_file():
            found.setdefault(split_name(split), file)
    for folder in _folders(path):  # V3 has folders for the splits
        if folder.name in _SPLITS and (folder / f"annotations-{kind}.csv").is_file():
            found.setdefault(split_name(folder.name), folder / f"annotations-{kind}.csv")
    return {split: found[split] for split in ("train", "val", "test") if split in found}


def _first(path: Path, names: tuple[str, ...]) -> Path | None:
    candidates = (folder / f"{release}{name}" for name, release, folder in product(names, _RELEASES, _folders(path)))
    return next((file for file in candidates if file.is_file()), None)


# ---- classes


class ClassChoice:
    """The requested classes, their order and their names."""

    def __init__(self, path: Path, kind: str) -> None:
        descriptions = _first(path, ("class-descriptions.csv", "classes.csv"))
        boxable = _first(path, ("class-descriptions-boxable.csv",))
        self.described = _descriptions(descriptions) | _descriptions(boxable)
        self.kind = kind
        self.open = kind == "all"  # whether classes without a description are included
        codes = list(self.described)
        if kind == "boxable":
            listed = _first(path, ("classes-bbox.txt",))
            if boxable is None and listed is None:
                raise TrilabelError(f"{path}: no class-descriptions-boxable.csv (or classes-bbox.txt) to choose by")
            codes = list(_descriptions(boxable)) if boxable else _codes(listed)
        elif kind == "trainable":
            listed = _first(path, ("classes-trainable.txt",))
            if listed is None:
                raise TrilabelError(f"{path}: no classes-trainable.txt to choose the trainable classes by")
            codes = _codes(listed)
        self.column = {code: number for number, code in enumerate(dict.fromkeys(codes))}
        self.left_out: set[str] = set()

    def columns(self, codes: Any) -> NDArray[np.int32]:
        """The column of each class code, LEFT_OUT if it is not requested."""
        if self.open:
            return np.array([self.column.setdefault(code, len(self.column)) for code in codes], np.int32)
        self.left_out.update(code for code in codes if code not in self.column)
        return np.array([self.column.get(code, LEFT_OUT) for code in codes], np.int32)

    def names(self) -> list[str]:
        """The names of the classes; classes with the same name are distinguished by their codes."""
        names = [self.described.get(code, code) for code in self.column]
        times: dict[str, int] = {}
        for name in names:
            times[name] = times.get(name, 0) + 1
        return [name if times[name] == 1 else f"{name} ({code})" for name, code in zip(names, self.column, strict=True)]

    def notes(self) -> Iterator[str]:
        """Notes about the choice."""
        if self.left_out:
            yield f"labels of {len(self.left_out)} other classes are left out"
        if unnamed := sum(code not in self.described for code in self.column):
            yield f"{unnamed} classes have no description: their codes are used as names"


def _descriptions(file: Path | None) -> dict[str, str]:
    found: dict[str, str] = {}
    if file is None:
        return found
    for number, line in read_lines(file):
        cells = _cells(line)
        if not found and cells and cells[0].strip().lower() in _HEADERS:  # of releases since V6
            continue
        if len(cells) != 2 or not all(cells):
            raise TrilabelError(f"{file}, line {number}: {line[:60]!r} is not a class code and its name")
        found[cells[0]] = cells[1]
    return found


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error:
        return []


def _codes(file: Path | None) -> list[str]:
    return [] if file is None else [text for _, text in read_lines(file)]
