"""Lists without a header, an image per line: its file, and the numbers of its classes (from 0) or a 0 or 1 for each."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Unlisted, assemble
from trilabel.data.formats._shared.join import join_parts
from trilabel.data.formats._shared.present_labels import present_columns
from trilabel.data.formats._shared.split_files import split_files
from trilabel.data.formats.index_list.lines import MOST_CLASSES, cells_of, number_of, read_listed
from trilabel.data.image_paths import RootedPaths, is_image, moved, relative_to, root_of
from trilabel.data.options import check_choice
from trilabel.data.tables import first_unpacked, table_suffix
from trilabel.data.text_files import peek, read_lines
from trilabel.errors import TrilabelError
from trilabel.files import replacing, write_text
from trilabel.labels import Labels
from trilabel.labels.names import Names

_ENDS = (".txt", ".csv", ".tsv", ".lst")
RULE = "listed classes are present, others unknown (or absent, with unlisted='absent'); 0 for a class is absent"
_CLASS_FILES = ("classes.txt", "class_names.txt", "names.txt")
_START = 1 << 16  # bytes to read for detecting a list


def detect(path: Path) -> bool:
    """Whether the first lines are image files with whole numbers: one that only a class has, or repeated 0 and 1.

    A file of class names beside it also marks a list: `write` creates one. A folder has one for each split.
    """
    if path.is_dir():
        return bool(_split_lists(path))
    if table_suffix(path) not in _ENDS or not path.is_file():
        return False
    start = first_unpacked(path, peek(path))[:_START]
    lines = start.decode("utf-8-sig", errors="replace").split("\n")[: -1 if len(start) == _START else None]
    rows = [cells_of(line.strip()) for line in lines if line.strip()][:50]
    numbers = [number_of(cell) for row in rows for cell in row[1:]]
    if not numbers or None in numbers or not all(is_image(row[0]) for row in rows):
        return False
    if max(number or 0 for number in numbers) > 1 or len(set(map(len, rows))) > 1 or _class_file(path) is not None:
        return True
    return -1 not in numbers and any(len(set(row[1:])) < len(row[1:]) for row in rows)


def read(
    path: Path, *, images: str | Path | None = None, classes: str | Path | None = None, unlisted: Unlisted = "unknown"
) -> Dataset:
    """Reads a list of images and numbers of classes; `classes` is a text file with the name of a class in each line.

    Without it names come from classes.txt, class_names.txt or names.txt beside the list, or are the numbers.
    `unlisted` is the value of a class that an image's line does not list; without numbers in the line all are unknown.
    Where every line has as many cells of 0 and 1, and one repeats in a line, each is a class: present or absent.
    """
    check_choice(path, "unlisted", unlisted, ("unknown", "absent"))
    if path.is_dir():
        return _read_splits(path, images, classes, unlisted)
    source = Path(classes) if classes is not None else _class_file(path)
    names = Names(_class_names(source)) if source else None
    ids, numbers, counts = read_listed(path, MOST_CLASSES if names is None else len(names), source)
    width = _width(numbers, counts)
    if width and names is not None and len(names) != width:
        raise TrilabelError(
            f"{path}: every line has {width} cells of 0 and 1, but {source} names {len(names)} classes; pass the right "
            "file as classes=FILE"
        )
    if names is None:
        names = Names.numbered(width or int(numbers.max(initial=0)) + 1)
    root = root_of(images, [path.parent, path.parent / "images"], ids)
    paths, elsewhere = moved(RootedPaths(root, ids), [root, root / "images"])
    if width:
        labels = Labels.from_signed(2 * numbers.reshape(-1, width) - 1, names, ids)
        return Dataset(ids, paths, labels, notes=("1 is present, 0 is absent", _names_note(source), *elsewhere))
    rows = np.repeat(np.arange(len(ids)), counts)
    labels = Labels.from_entries(rows, numbers, np.ones(len(rows), np.int8), names, ids)
    repeated = len(numbers) - labels.known
    notes = (*_notes(unlisted, source, int((counts == 0).sum()), repeated), *elsewhere)
    if unlisted == "unknown":  # millions of labels are too many to pass on one by one
        return Dataset(ids, paths, labels, notes=notes)
    entries = ((row, column, 1) for row, column in zip(rows.tolist(), numbers.tolist(), strict=True))
    absent_in = np.flatnonzero(counts).tolist()
    return assemble(path, ids=ids, paths=paths, classes=names, entries=entries, absent_in=absent_in, notes=notes)


# ---- a list for each split


def _split_lists(path: Path) -> dict[str, Path]:
    """The lists train.txt, test.txt and the like of a folder, at least two; with the images to search, database.txt."""
    found = {one.split: one.file for one in split_files(path, "", _ENDS)}
    searched = [path / f"database{end}" for end in _ENDS if (path / f"database{end}").is_file()]
    found |= {"database": searched[0]} if searched and found else {}
    return found if len(found) > 1 and all(map(detect, found.values())) else {}


def _read_splits(path: Path, images: str | Path | None, classes: str | Path | None, unlisted: Unlisted) -> Dataset:
    """All lists of a folder. The database of HashNet has the images of train again: it is read without these."""
    files = _split_lists(path)
    if not files:
        raise TrilabelError(f"{path}: no lists such as train.txt and test.txt in this folder; give the path of a list")
    parts = {split: read(file, images=images, classes=classes, unlisted=unlisted) for split, file in files.items()}
    notes = []
    if "database" in parts and "train" in parts:
        searched, train = parts["database"], parts["train"]
        place = train.labels.ids.positions(searched.labels.ids)
        again = np.flatnonzero(place >= 0)
        _refuse_other_labels(files["database"], searched.labels[again], train.labels[place[again]])
        parts["database"] = searched.take(np.flatnonzero(place < 0))
        notes = [f"{len(again)} images of the database are in train, and not in split database as well"]
    joined = join_parts(path, [(split, "", part) for split, part in parts.items()])
    return replace(joined, notes=(*joined.notes, *notes))


def _refuse_other_labels(file: Path, searched: Labels, train: Labels) -> None:
    """Refuses images of the database that have other labels in train."""
    if searched.shape != train.shape or (searched.csr != train.csr).nnz:
        raise TrilabelError(f"{file}: images that are also in train have other labels there; correct one of them")


def _width(numbers: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
    """The number of classes, if the cells of each line are their 0 and 1; 0 if they are numbers of classes.

    Nobody lists a class twice in a line, so a line with two equal cells decides.
    """
    width = int(counts[0])
    if width < 2 or counts.min() < counts.max() or numbers.max() > 1:
        return 0
    sums = numbers.reshape(-1, width).sum(1)
    return width if width > 2 or (sums != 1).any() else 0


def _names_note(source: Path | None) -> str:
    return f"names of the classes are those in {source.name}" if source else "names of the classes are their numbers"


def _notes(unlisted: str, source: Path | None, empty: int, repeated: int) -> Iterator[str]:
    yield f"listed classes are present, all others {unlisted}"
    yield _names_note(source)
    if empty:
        yield f"{empty:,} images have no class listed: their labels are unknown"
    if repeated:
        yield f"{repeated:,} numbers are listed twice in a line: they count once"


def _class_file(path: Path) -> Path | None:
    beside = (path.with_name(name) for name in _CLASS_FILES if name != path.name)
    return next((file for file in beside if file.is_file()), None)


def _class_names(file: Path) -> list[str]:
    lines: dict[str, int] = {}
    for line, name in read_lines(file):
        if line != len(lines) + 1:
            raise TrilabelError(f"{file}, line {len(lines) + 1}: is empty; every line names a class, the first class 0")
        if lines.setdefault(name, line) != line:
            raise TrilabelError(
                f"{file}, line {line}: class {name!r} is listed twice, first in line {lines[name]}; rename one"
            )
    if not lines:
        raise TrilabelError(f"{file}: is empty; every line names a class, the first class 0")
    return list(lines)


# ---- writing


def write(dataset: Dataset, path: Path) -> list[str]:
    """Writes a list with commas, and classes.txt beside it; returns notes on what a list cannot contain."""
    files = list(dataset.ids if dataset.paths is None else relative_to(dataset.paths, path.parent))
    classes, beside = list(dataset.classes), path.with_name(_CLASS_FILES[0])
    _refuse_unreadable(path, "image", files, ",\t\n\r\0\ufeff")
    _refuse_unreadable(path, "class", classes, "\n\r\0\ufeff")
    if not files or not classes:
        raise TrilabelError(f"{path}: nothing to write in {len(files)} images × {len(classes)} classes")
    if path.name in _CLASS_FILES:
        raise TrilabelError(f"{path}: this name is reserved for the file of class names; choose another name")
    if beside.exists() and _class_names(beside) != classes:
        raise TrilabelError(f"{beside}: names other classes; write the list into another folder")
    write_text(beside, "".join(f"{name}\n" for name in classes))
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
        for file, numbers in zip(files, present_columns(dataset.labels), strict=True):
            out.write(f"{file},{','.join(map(str, numbers))}\n")
    return list(_not_written(dataset, files))


def _refuse_unreadable(path: Path, what: str, names: list[str], forbidden: str) -> None:
    for name in names:
        # A file that ends in something else and has blanks would be read as a file and a number.
        unclear = what == "image" and " " in name and not is_image(name)
        if not name or name != name.strip() or unclear or any(letter in name for letter in forbidden):
            raise TrilabelError(f"{path}: a list cannot contain the {what} name {name!r}; rename it or write a table")


def _not_written(dataset: Dataset, files: list[str]) -> Iterator[str]:
    absent = int((dataset.labels.csr.data < 0).sum())
    if absent:
        yield f"{absent:,} absent labels are not written; unlisted='absent' reads labels that are not listed as absent"
    if any(len(rows) < len(files) for rows in dataset.splits.values()):
        yield f"splits are not written ({', '.join(dataset.splits)}); write a list for each"
    if dataset.boxes is not None and len(dataset.boxes.cls):
        yield f"{len(dataset.boxes.cls):,} boxes are not written"
    renamed = sum(file != name for file, name in zip(files, dataset.ids, strict=True))
    if renamed:
        yield f"{renamed:,} ids are not written: the list names files, relative to its folder"
