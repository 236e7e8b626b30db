"""CreateML: a JSON list of images, each with labels and boxes around their centers; one file, or one per split."""

import re
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Box, Entry, Unlisted, assemble
from trilabel.data.formats._shared.image_size import upright_size
from trilabel.data.formats._shared.json_document import Json, first_key
from trilabel.data.formats._shared.pixel_boxes import shares
from trilabel.data.image_paths import RootedPaths, root_of, split_name
from trilabel.data.options import check_choice
from trilabel.data.text_files import peek
from trilabel.errors import TrilabelError
from trilabel.log import track

RULE = "annotated labels are present, others absent; images without annotations are unknown"
_ROBOFLOW = "_annotations.createml.json"
_SPLITS = ("train", "val", "test")
_IMAGE, _LISTS = ("image", "imagefilename", "filename"), ("annotations", "annotation")
_MARKS = (rb'"(image|imagefilename|filename)"\s*:\s*"', rb'"annotations?"\s*:\s*\[', rb'"coordinates"\s*:\s*\{')


def detect(path: Path) -> bool:
    """Whether this is such a file, or a folder with one, itself or in its folders of splits."""
    return bool(_files(path))


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    unlisted: Unlisted = "absent",
    empty: Literal["unknown", "absent"] = "unknown",
    boxes: bool = True,
) -> Dataset:
    """Reads all files. `unlisted` is the value of a label that an annotated image does not list, `empty` that of all
    labels of an image without annotations.

    Boxes are in pixels, and the size of an image is in its file alone: without `boxes` no image is opened.
    """
    check_choice(path, "unlisted", unlisted, get_args(Unlisted))
    check_choice(path, "empty", empty, ("unknown", "absent"))
    files = _files(path) or ([path] if path.is_file() else [])
    if not files:
        raise TrilabelError(f"{path}: no file of CreateML here, such as {_ROBOFLOW}; give the path of the file")
    found = _Found(path if path.is_dir() else path.parent, images)
    for file in files:
        found.add(Json.read(file, list))
    if not found.ids:
        raise TrilabelError(f"{path}: the list of images is empty, so there is nothing to read")
    classes = sorted({name for _, name, _ in found.labels})
    column = {name: number for number, name in enumerate(classes)}
    entries: list[Entry] = [(row, column[name], 1) for row, name, _ in found.labels]
    described = {row for row, _, _ in found.labels}
    bare = [row for row in range(len(found.ids)) if row not in described]
    drawn, boxless = _boxes(found, column) if boxes else (None, 0)
    counts = {
        f"images without annotations are {empty}": len(bare),
        "annotations have no box, or an image that cannot be opened: no boxes are read for them": boxless,
    }
    return assemble(
        path,
        ids=found.ids,
        paths=found.paths,
        classes=classes,
        entries=entries,
        absent_in=(sorted(described) if unlisted == "absent" else []) + (bare if empty == "absent" else []),
        split_of=found.splits,
        boxes=drawn,
        notes=[
            f"annotated labels are present, others {unlisted}",
            *(f"{count} {what}" for what, count in counts.items() if count),
        ],
    )


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if _is_createml(path) else []
    if not path.is_dir():
        return []
    inside = sorted(path.glob(f"*/{_ROBOFLOW}"))
    return [file for file in (*sorted(path.glob("*.json")), *inside) if file.is_file() and _is_createml(file)]


def _is_createml(file: Path) -> bool:
    if file.name.endswith("createml.json"):
        return True
    if file.suffix.lower() != ".json" or first_key(file) != "[":
        return False
    return all(re.search(mark, peek(file)[: 1 << 16]) for mark in _MARKS)


class _Found:
    """What all files say; images count from 0."""

    def __init__(self, root: Path, images: str | Path | None) -> None:
        self.root, self.images = root, images
        self.ids: list[str] = []
        self.paths: list[str] = []
        self.splits: list[str] = []
        self.labels: list[tuple[int, str, tuple[float, ...] | None]] = []  # image, class, box in pixels

    def add(self, document: Json) -> None:
        """Adds the images of a file. Its folder, where it is not the one that is read, is a part of their ids."""
        folder = document.file.parent
        inside = "" if folder == self.root else f"{folder.name}/"
        split = split_name(folder.name) if split_name(folder.name) in _SPLITS else ""
        records = [record for _, record in document.items()]
        names = [_name(record) for record in records]
        usual = [folder, folder / "images"]
        if self.images is not None:
            given = root_of(self.images, [])
            usual = [given / inside, given] if inside else [given]
        self.paths += list(RootedPaths(root_of(None, usual, names), names))
        for name, record in zip(names, records, strict=True):
            row = len(self.ids)
            self.ids.append(inside + name)
            self.splits.append(split)
            key = next((key for key in _LISTS if key in record.value), "")
            for _, one in record.item(key).items() if key else ():
                self.labels.append((row, _label(one), _pixels(one)))
            if not key and "label" in record.value:  # of images as a whole
                self.labels.append((row, _label(record), None))


def _name(record: Json) -> str:
    key = next((key for key in _IMAGE if key in record.value), _IMAGE[0])
    name = record.get(key, str)
    if not name or "\0" in name:
        raise record.error_at("is not the name of an image file", key)
    return name.replace("\\", "/")


def _label(record: Json) -> str:
    label = record.get("label", str)
    if not label:
        raise record.error_at("is empty; name the class", "label")
    return label


def _pixels(one: Json) -> tuple[float, ...] | None:
    """Left, top, width and height: a file has the center of the box."""
    if one.value.get("coordinates") is None:
        return None
    given = one.item("coordinates", dict)
    numbers: list[Any] = [given.get(key, float) for key in ("x", "y", "width", "height")]
    if not all(abs(number) < 1e9 for number in numbers):
        return None
    x, y, width, height = map(float, numbers)
    return x - width / 2, y - height / 2, width, height


def _boxes(found: _Found, column: dict[str, int]) -> tuple[list[Box], int]:
    """The boxes as shares of the images, and how many annotations have none."""
    drawn = [(row, column[name], box) for row, name, box in found.labels if box is not None]
    rows = sorted({row for row, _, _ in drawn})
    sizes = {row: upright_size(found.paths[row]) or (0, 0) for row in track(rows, "sizes of images", len(rows))}
    pixels = np.array([box for _, _, box in drawn], np.float64).reshape(-1, 4)
    corners, good = shares(pixels, np.array([sizes[row] for row, _, _ in drawn], np.float64).reshape(-1, 2))
    found_at = zip(drawn, corners.tolist(), good.tolist(), strict=True)
    boxes: list[Box] = [(row, cls, x0, y0, x1, y1) for (row, cls, _), (x0, y0, x1, y1), usable in found_at if usable]
    return boxes, len(found.labels) - len(boxes)
