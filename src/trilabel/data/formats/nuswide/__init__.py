"""NUS-WIDE: photographs of Flickr with 81 concepts; a file of labels for each, or the table of a later split."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Entry, assemble
from trilabel.data.formats.nuswide import table as nuswide_table
from trilabel.data.formats.nuswide.table import slashes
from trilabel.data.image_paths import RootedPaths, root_of
from trilabel.data.options import check_choice
from trilabel.data.text_files import read_lines, shown
from trilabel.errors import TrilabelError
from trilabel.input_files import read_input
from trilabel.labels.names import Names

RULE = "1 is present, 0 is absent; in the table, listed concepts are present and all others absent"
_TABLE = "nus_wid_data.csv"
_FOLDERS = re.compile(r"nuswide?.*|groundtruth|alllabels(81)?|traintestlabels|imagelist|conceptslist")
_LABELS = re.compile(r"labels_(.+?)(?:_(train|test))?\.txt", re.IGNORECASE)


def detect(path: Path) -> bool:
    """Whether this is a folder with label files and image lists, or a table with lists of concepts in its cells."""
    if path.is_file():
        return nuswide_table.detect(path)
    found = _find(path)
    return bool(found.table or (found.labels and any(name.endswith("imagelist.txt") for name in found.files)))


def read(path: Path, *, images: str | Path | None = None, split: Literal["published", "none"] = "published") -> Dataset:
    """Reads NUS-WIDE; split "none" leaves all images in one split."""
    check_choice(path, "split", split, ("published", "none"))
    found = _CopyFiles(table=path) if path.is_file() else _find(path)
    if found.table and not found.labels:
        return nuswide_table.read(found.table, images, split)
    parts = _parts(path, found, split)
    ids = [name for _, names, _ in parts for name in names]
    names = Names(ids)
    if len(names.factorize()[1]) < len(names):
        raise _repeated([file for file, _, _ in parts])
    classes, notes = _classes(path, found, parts)
    root = root_of(images, [folder / name for folder in found.homes for name in nuswide_table.IMAGES], ids)
    return assemble(
        path,
        ids=names,
        paths=RootedPaths(root, names),
        classes=classes,
        entries=_entries(parts, classes),
        absent_in=range(len(ids)),
        split_of=_split_of(parts, found, names) if split == "published" else (),
        notes=["1 is present, 0 is absent", *notes],
    )


# ---- where things are


@dataclass
class _CopyFiles:
    """The files of a copy, whatever its folders are called."""

    labels: dict[str, dict[str, Path]] = field(default_factory=dict)  # of "", "train", "test": file of each concept
    files: dict[str, Path] = field(default_factory=dict)  # by name in lower case
    homes: list[Path] = field(default_factory=list)
    table: Path | None = None


_Part = tuple[Path, list[str], dict[str, Path]]  # list of images, its contents, file of labels of each concept


def _find(path: Path) -> _CopyFiles:
    found, folders = _CopyFiles(), [(path, 0)]
    for folder, depth in folders:
        for entry in _inside(folder):
            name = entry.name.lower()
            if label := _LABELS.fullmatch(entry.name):
                found.labels.setdefault((label[2] or "").lower(), {}).setdefault(label[1], entry)
            elif name.endswith(".txt"):
                found.files.setdefault(name.replace("_", ""), entry)
            elif name == _TABLE and entry.is_file():
                found.table = found.table or entry
            elif depth < 4 and _FOLDERS.fullmatch(re.sub("[^a-z0-9]", "", name)) and entry.is_dir():
                folders.append((entry, depth + 1))
    found.homes = [folder for folder, _ in folders]
    return found


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # a file, or a folder without read permission
        return []


def _parts(path: Path, found: _CopyFiles, split: str) -> list[_Part]:
    """Lists of images and the files with their labels: of all images or, if there is none, of train and test."""
    if "" in found.labels and "imagelist.txt" in found.files:
        wanted = {"": "imagelist.txt"}
        if split == "published":
            for name in ("trainimagelist.txt", "testimagelist.txt"):
                if name not in found.files:
                    raise TrilabelError(f"{path}: no {name} among the image lists; pass split='none' to ignore splits")
    else:
        wanted = {"train": "trainimagelist.txt", "test": "testimagelist.txt"}
    if not all(kind in found.labels and name in found.files for kind, name in wanted.items()):
        raise TrilabelError(
            f"{path}: not NUS-WIDE as published; it has Groundtruth/AllLabels and ImageList/Imagelist.txt, or "
            "Groundtruth/TrainTestLabels, ImageList/TrainImagelist.txt and TestImagelist.txt"
        )
    return [(found.files[name], _image_list(found.files[name]), found.labels[kind]) for kind, name in wanted.items()]


def _image_list(file: Path) -> list[str]:
    names = [slashes(text) for _, text in read_lines(file)]
    if not names:
        raise TrilabelError(f"{file}: is empty; unpack it again")
    return names


def _repeated(files: Sequence[Path]) -> TrilabelError:
    """An error about the first image that is listed twice in these lists."""
    first: dict[str, tuple[Path, int]] = {}
    for file in files:
        for line, name in read_lines(file):
            there, before = first.setdefault(slashes(name), (file, line))
            if (there, before) != (file, line):
                return TrilabelError(
                    f"{file}, line {line}: image {name!r} is listed twice, first in {there.name}, line {before}; "
                    "remove one"
                )
    return TrilabelError(f"{files[0]}: names an image twice; unpack it again")


def _classes(path: Path, found: _CopyFiles, parts: Sequence[_Part]) -> tuple[list[str], list[str]]:
    """The concepts, which must have a file in each part, and notes on those that are not in the list of concepts."""
    there = {concept for _, _, labels in parts for concept in labels}
    listed = [text for _, text in read_lines(found.files["concepts81.txt"])] if "concepts81.txt" in found.files else []
    classes = list(dict.fromkeys(listed)) or sorted(there)
    for _, _, labels in parts:
        for concept in classes:
            if concept not in labels:
                beside = next(iter(labels.values()))
                raise TrilabelError(f"{beside.parent}: no file with the labels of {concept!r}; unpack it again")
    others = len(there - set(classes))
    return classes, [f"{others} concepts that Concepts81.txt does not list are left out"] if others else []


# ---- labels


def _entries(parts: Sequence[_Part], classes: Sequence[str]) -> Iterator[Entry]:
    """Every label that is present; the others are absent."""
    start = 0
    for file, names, labels in parts:
        for column, concept in enumerate(classes):
            rows = np.flatnonzero(_column(labels[concept], len(names), file)) + start
            yield from ((row, column, 1) for row in rows.tolist())
        start += len(names)


def _column(file: Path, count: int, images: Path) -> NDArray[np.bool_]:
    """Whether each image has the concept: a file of `count` lines of 1 or 0."""
    try:
        content = read_input(file).removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise TrilabelError(f"{file}: cannot be read ({error.strerror or error})") from None
    lines = content.translate(None, b" \t\r").split(b"\n")
    digits = b"".join(lines)
    one_each = len(digits) == count == len(lines) - lines.count(b"")
    if not one_each or digits.translate(None, b"01"):
        found = list(read_lines(file))
        for line, text in found:
            if text not in ("0", "1"):
                raise TrilabelError(f"{file}, line {line}: {shown(text, 80)} is neither 1 (present) nor 0 (absent)")
        raise TrilabelError(f"{file}: {len(found)} labels for the {count} images of {images.name}; unpack it again")
    present: NDArray[np.bool_] = np.frombuffer(digits, np.uint8) == ord("1")
    return present


def _split_of(parts: Sequence[_Part], found: _CopyFiles, ids: Names) -> list[str]:
    if len(parts) == 2:
        return ["train"] * len(parts[0][1]) + ["test"] * len(parts[1][1])
    of = np.full(len(ids), "", object)
    for split in ("train", "test"):
        file = found.files[f"{split}imagelist.txt"]
        names = _image_list(file)
        rows = ids.positions(Names(names))
        for wrong in np.flatnonzero((rows < 0) | (of[rows] != ""))[:1].tolist():
            what = "is not in the list of all images" if rows[wrong] < 0 else "is also in the other split"
            raise TrilabelError(f"{file}: image {names[wrong]!r} {what}; unpack it again")
        of[rows] = split
    return list(of)
