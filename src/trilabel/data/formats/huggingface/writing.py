"""Writing a Hugging Face image folder: metadata.csv with a column for each class, at its top or in each split."""

import os
import re
from itertools import compress
from pathlib import Path

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.label_columns import label_cells, split_column
from trilabel.data.formats._shared.records import ID_COLUMN, NO_CLASS
from trilabel.data.image_paths import relative_to, split_name
from trilabel.data.spreadsheet_cells import count_formulas, formula_note
from trilabel.errors import TrilabelError
from trilabel.files import write_csv
from trilabel.labels import Labels

# Folders that Hugging Face's loader takes for splits: a metadata.csv above them belongs to none, and is not read.
_SPLIT_FOLDER = re.compile(
    r"(.*[-._ 0-9])?(train|training|validation|valid|dev|val|test|testing|eval|evaluation)([-._ 0-9].*)?"
)
_DEEPEST = 2  # split folders that `read` finds
_SPLITS = {"dev": "val", "eval": "test", "evaluation": "test"} | {name: name for name in ("train", "val", "test")}


def write(dataset: Dataset, path: Path) -> list[str]:
    """Writes metadata.csv into the folder `path`, or where all images are in folders of splits, one into each of these.

    Images stay where they are; file names are relative to the folder of their metadata.csv. A cell is 1 (present), 0
    (absent) or empty (unknown); in a class with unknown labels it is 1.0 or 0.0, so that all files have the same types.
    Beside file_name there are columns split, where folders do not name the splits, and trilabel_id, where ids are not
    the names of files.
    """
    labels, top = dataset.labels, path / "metadata.csv"
    notes = [f"{len(dataset.boxes.cls)} boxes are not written"] if dataset.boxes is not None else []
    if empty := sum(not len(rows) for rows in dataset.splits.values()):
        notes.append(f"{empty} splits without images are left out")
    names = list(labels.ids)
    if dataset.paths is None:
        notes.append("the images are in memory: file_name contains their ids and no files")
    else:
        names = [name.replace(os.sep, "/") for name in relative_to(dataset.paths, path)]
    if outside := sum(name.startswith("../") for name in names):
        notes.append(f"{outside} images are outside this folder: Hugging Face's loader needs them in it; move them")
    _refuse_unreadable(top, labels, names)
    folders = _folders(names, notes)
    columns = {"file_name": [name.removeprefix(folder) for name, folder in zip(names, folders, strict=True)]}
    if names != list(labels.ids):
        columns[ID_COLUMN] = list(labels.ids)
    splits = split_column(dataset, top)
    if splits != list(map(split_of, names)) or ("" in folders and dataset.splits):
        columns["split"] = splits
    rows = [[*start, *row] for *start, row in zip(*columns.values(), label_cells(labels, floats=True), strict=True)]
    for folder in dict.fromkeys(folders):
        here = compress(rows, (other == folder for other in folders))
        write_csv(path / folder / "metadata.csv", [*columns, *labels.classes], here)
    if "" not in folders and top.is_file():
        top.unlink()
        notes.append(f"{top} is removed: the files in the folders of splits replace it")
    if count := count_formulas(labels.classes, dataset.splits, *(columns[name] for name in columns if name != "split")):
        notes.append(formula_note(count, offered=False))
    return notes


def _folders(names: list[str], notes: list[str]) -> list[str]:
    """The folder of the metadata of each image, with a slash at the end: that of its split, or "" for all."""
    folders = [_split_folder(name) for name in names]
    if "" not in folders:
        return folders
    if inside := sum(map(bool, folders)):
        notes.append(
            f"{inside} images are in folders of splits and others are not: Hugging Face's loader shows no labels, "
            "because one metadata.csv belongs to no split; move the others"
        )
    return [""] * len(names)


def _split_folder(name: str) -> str:
    parts = name.split("/")[:-1]
    depth = next((place for place, part in enumerate(parts, 1) if _SPLIT_FOLDER.fullmatch(part)), 0)
    return "/".join(parts[:depth]) + "/" if 0 < depth <= _DEEPEST and ".." not in parts else ""


def split_of(name: str) -> str:
    """The split that a folder in the path of an image names; "" if none does."""
    folders = map(split_name, name.lower().split("/")[:-1])
    return next((_SPLITS[folder] for folder in folders if folder in _SPLITS), "")


def _refuse_unreadable(file: Path, labels: Labels, names: list[str]) -> None:
    if not all(labels.shape):
        raise TrilabelError(f"{file}: nothing to write in {labels.shape[0]} images × {labels.shape[1]} classes")
    for what, texts in (("class", labels.classes), ("image", labels.ids), ("image", names)):
        for text in texts:
            if not text or "\r" in text or "\0" in text or (what == "class" and text in NO_CLASS):
                raise TrilabelError(f"{file}: cannot contain a {what} called {text!r}; rename it")
            if what == "class" and text.endswith("_file_name"):
                raise TrilabelError(f"{file}: cannot contain a {what} called {text!r}; rename it")
