"""Writing a Hugging Face image folder: metadata.csv with a column for each class."""

import os
from pathlib import Path

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.label_columns import label_cells, split_column
from trilabel.data.image_paths import relative_to, split_name
from trilabel.data.spreadsheet_cells import count_formulas, formula_note
from trilabel.errors import TrilabelError
from trilabel.files import write_csv
from trilabel.labels import Labels

ID_COLUMN = "trilabel_id"  # ids, where they are not the names of files
NO_CLASS = {"file_name", "image", "split", ID_COLUMN, "id", "image_id", "width", "height"}
NO_CLASS |= {"labels", "label", "tags", "objects"}
_SPLITS = {"dev": "val", "eval": "test", "evaluation": "test"} | {name: name for name in ("train", "val", "test")}


def write(dataset: Dataset, path: Path) -> list[str]:
    """Writes metadata.csv into the folder `path`; images stay where they are, and file names are relative to `path`.

    A cell is 1 (present), 0 (absent) or empty (unknown). Beside file_name there are columns split, where there are
    splits, and trilabel_id, where ids are not the names of files.
    """
    labels, file = dataset.labels, path / "metadata.csv"
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
    _refuse_unreadable(file, labels, names)
    columns = {"file_name": names}
    if names != list(labels.ids):
        columns[ID_COLUMN] = list(labels.ids)
    if dataset.splits or any(map(split_of, names)):
        columns["split"] = split_column(dataset, file)
    rows = ([*start, *row] for *start, row in zip(*columns.values(), label_cells(labels), strict=True))
    write_csv(file, [*columns, *labels.classes], rows)
    if count := count_formulas(labels.classes, dataset.splits, *(columns[name] for name in columns if name != "split")):
        notes.append(formula_note(count, offered=False))
    return notes


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
