"""A Hugging Face image folder: metadata.csv or metadata.jsonl beside the images, with a column file_name."""

from collections.abc import Iterable
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Box, Entry, Unlisted, assemble, numbers_first
from trilabel.data.formats._shared.json_document import short
from trilabel.data.formats.huggingface.labels import (
    choose_separator,
    class_columns,
    listed,
    object_boxes,
    objects,
    unpack,
    wide_entries,
)
from trilabel.data.formats.huggingface.metadata import Metadata, find, names_images, read_metadata
from trilabel.data.formats.huggingface.writing import ID_COLUMN, split_of, write
from trilabel.data.image_paths import RootedPaths, root_of
from trilabel.data.options import check_choice
from trilabel.errors import TrilabelError

__all__ = ["RULE", "detect", "read", "write"]

WRITES_FOLDER = True
RULE = "columns of 0 and 1: 0 is absent, empty unknown; lists of labels: listed are present, others unknown"

_LISTS = ("labels", "label", "tags")


def detect(path: Path) -> bool:
    """Whether this is such a metadata file, or a folder with one, itself or in its sub-folders."""
    files = find(path)
    return bool(files) and names_images(files[0])


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    column: str | None = None,
    unlisted: Unlisted = "unknown",
    separator: str | None = None,
) -> Dataset:
    """Reads an image folder with metadata.

    Labels are those of `column`, or of the first existing column of labels, label, tags and objects, or else of all
    columns of 0 and 1. A `column` of 0 and 1 is one class. `unlisted` is the value of a label that is not in an
    image's list, `separator` what separates the labels of a text ("": a text is one label).
    """
    check_choice(path, "unlisted", unlisted, ("unknown", "absent"))
    table = read_metadata(path)
    if column is not None and column not in table.columns:
        raise TrilabelError(f"{path}: no column {column!r} here, only {', '.join(table.columns)}")
    names = _names(table)
    ids = [text or name for text, name in zip(table.columns.get(ID_COLUMN, repeat(None)), names, strict=False)]
    _refuse_repeats(table, ids)
    chosen = column or next((name for name in (*_LISTS, "objects") if name in table.columns), None)
    classes = class_columns(table, table.columns if chosen is None else [chosen])
    if chosen is None or any(map(any, classes.values())):
        labels = _from_columns(path, table, classes)
    else:
        labels = _from_lists(path, table, chosen, unlisted, separator)
    notes = labels.notes
    used = labels.used | {_name_column(table), ID_COLUMN, "split"}
    left_out = [name for name in table.columns if name not in used]
    notes += [f"columns left out: {', '.join(left_out)}"] if left_out else []
    return assemble(
        path,
        ids=ids,
        paths=RootedPaths(root_of(images, [table.root]), names),
        classes=labels.classes,
        entries=labels.entries,
        absent_in=labels.absent_in,
        split_of=_splits(table, names),
        boxes=labels.boxes,
        notes=notes,
    )


class _Labels(NamedTuple):
    classes: list[str]
    entries: Iterable[Entry]
    absent_in: list[int]
    boxes: list[Box] | None
    used: set[str]  # columns
    notes: list[str]


def _from_columns(path: Path, table: Metadata, columns: dict[str, list[int]]) -> _Labels:
    if not columns:
        raise TrilabelError(
            f"{path}: no column of 0 and 1 and none called {', '.join(_LISTS)} or objects, only "
            f"{', '.join(table.columns)}; pass column, the one that contains labels"
        )
    notes = ["empty cells are unknown; 0 is absent"]
    return _Labels(list(columns), wide_entries(columns), [], None, set(columns), notes)


def _from_lists(path: Path, table: Metadata, column: str, unlisted: str, separator: str | None) -> _Labels:
    table.columns[column] = [unpack(table, row, column) for row in range(len(table))]
    first = next((cell for cell in table.columns[column] if cell not in (None, [])), None)
    has_objects = isinstance(first[0] if isinstance(first, list) else first, dict)
    note = ""
    if separator is None and not has_objects:
        separator, note = choose_separator(path, table, column)
    every = range(len(table))
    lists = [
        objects(table, row, column) if has_objects else listed(table, row, column, separator or "") for row in every
    ]
    classes = sorted({name for names in lists for name in names or ()}, key=numbers_first)
    code = {name: number for number, name in enumerate(classes)}
    entries = [(row, code[name], 1) for row, names in enumerate(lists) for name in names or ()]
    known = [row for row, names in enumerate(lists) if names is not None]
    notes = [f"listed labels are present, others {unlisted}; images without a list are unknown"]
    notes += [note] if note else []
    if len(known) < len(lists):
        notes.append(f"{len(lists) - len(known)} images have no {column}: their labels are unknown")
    if classes and all(map(str.isdigit, classes)):
        notes.append("classes are numbers: the metadata has no names for them")
    boxes, without = object_boxes(table, column, lists, code) if has_objects else (None, 0)
    if without:
        notes.append(f"{without} objects have no box or image size: no boxes are read for them")
    used = {column, "width", "height"} if has_objects else {column}
    return _Labels(classes, entries, known if unlisted == "absent" else [], boxes, used, notes)


# ---- images and splits


def _name_column(table: Metadata) -> str:
    others = [name for name in table.columns if name.endswith("_file_name")]
    for name in ("file_name", *others, "image"):
        if name in table.columns and (name not in others or len(others) == 1):
            return name
    if others:
        raise table.error_at(0, f"columns {', '.join(others)} all name files; call the images' column file_name")
    raise table.error_at(0, "no column file_name; add one with the path of each image")


def _names(table: Metadata) -> list[str]:
    column = _name_column(table)
    names = table.columns[column]
    for row, name in enumerate(names):
        if not isinstance(name, str):
            raise table.error_at(row, f"{column} is {short(name)}, not the path of an image")
        if "\0" in name:
            raise table.error_at(row, f"{column} {short(name)} has a zero byte; correct the path")
    return [folder + name.removeprefix("./") for folder, name in zip(table.folders, names, strict=True)]


def _refuse_repeats(table: Metadata, ids: list[str]) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if not isinstance(name, str):
            raise table.error_at(row, f"{ID_COLUMN} is {short(name)}, not a text")
        if first.setdefault(name, row) != row:
            file, line = table.places[first[name]]
            where = f"line {line}" if file == table.places[row][0] else f"{file}, line {line}"
            raise table.error_at(row, f"image {name!r} is listed twice, first in {where}; remove one")


def _splits(table: Metadata, names: list[str]) -> list[str]:
    if "split" not in table.columns:
        return [split_of(name) for name in names]
    for row, split in enumerate(table.columns["split"]):
        if not isinstance(split, str | None):
            raise table.error_at(row, f"split is {short(split)}, not a text such as train")
    return [split or "" for split in table.columns["split"]]
