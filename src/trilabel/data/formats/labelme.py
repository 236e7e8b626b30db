"""LabelMe: a JSON file for each image, with shapes that were drawn and flags that were ticked."""

import math
import posixpath
import re
from itertools import islice
from pathlib import Path
from typing import get_args

from trilabel.data.dataset import Dataset
from trilabel.data.folder_search import files_below
from trilabel.data.formats._shared.assemble import Box, Entry, Unlisted, assemble
from trilabel.data.formats._shared.json_document import Json, first_key
from trilabel.data.image_paths import RootedPaths, moved, root_of, split_name
from trilabel.data.options import check_choice
from trilabel.data.text_files import peek, read_lines
from trilabel.errors import TrilabelError
from trilabel.log import track

RULE = "what was drawn or ticked is present, the rest unknown; images without either are unknown"
_SHAPES = re.compile(rb'"shapes"\s*:\s*\[')
_OTHERS = re.compile(rb'"(flags|imagePath|imageData|lineColor)"\s*:')
_NO_CLASS = ("__ignore__", "_background_")
_SPLITS = ("train", "val", "test")
_LOOKED_AT, _OPENED = 1000, 20  # files of a folder, and JSON files among them, to detect the format
_Corners = tuple[float, float, float, float]


def detect(path: Path) -> bool:
    """Whether this is such a file, or a folder with some in it or in its sub-folders."""
    if path.is_file():
        return path.suffix.lower() == ".json" and _is_labelme(path)
    if not path.is_dir():
        return False
    names = (name for name in islice(files_below(path), _LOOKED_AT) if name.lower().endswith(".json"))
    return any(_is_labelme(path / name) for name in islice(names, _OPENED))


def read(path: Path, *, images: str | Path | None = None, unlisted: Unlisted = "unknown") -> Dataset:
    """Reads shapes and flags as labels. `unlisted` is the value of what was neither drawn nor ticked in an image that
    has something drawn or ticked.

    Classes are those of labels.txt, if it is there, then others by their names. Folders called train, val and test
    are the splits.
    """
    check_choice(path, "unlisted", unlisted, get_args(Unlisted))
    root = path if path.is_dir() else path.parent
    files = (
        sorted(name for name in files_below(path) if name.lower().endswith(".json")) if path.is_dir() else [path.name]
    )
    found = _Found()
    others = 0
    for name in track(files, "reading annotations", len(files)):
        if path.is_dir() and not _is_labelme(root / name):
            others += 1
            continue
        found.add(Json.read(root / name), name)
    if not found.ids:
        raise TrilabelError(f"{path}: no file of LabelMe here: a JSON object with shapes and imagePath for each image")
    classes = list(dict.fromkeys([*_listed_classes(root), *sorted({name for _, name in found.present})]))
    column = {name: number for number, name in enumerate(classes)}
    entries: list[Entry] = [(row, column[name], 1) for row, name in found.present]
    boxes: list[Box] = [(row, column[name], *box) for row, name, box in found.boxes]
    described = sorted({row for row, _ in found.present})
    base = root_of(images, [root])
    paths, elsewhere = moved(RootedPaths(base, found.ids), [base, base / "images"])
    counts = {
        "images have nothing drawn or ticked: they are unknown": len(found.ids) - len(described),
        "shapes have no box or image size: no boxes are read for them": found.boxless,
        "other JSON files left out": others,
    }
    return assemble(
        path,
        ids=found.ids,
        paths=paths,
        classes=classes,
        entries=entries,
        absent_in=described if unlisted == "absent" else (),
        split_of=[_split_of(name) for name in found.ids],
        boxes=boxes or None,
        notes=[
            f"what was drawn or ticked is present, the rest of an annotated image is {unlisted}",
            *(f"{count} {what}" for what, count in counts.items() if count),
            *elsewhere,
        ],
    )


def _is_labelme(file: Path) -> bool:
    if first_key(file) in ("[", None):
        return False
    start = peek(file)
    return bool(_SHAPES.search(start) and _OTHERS.search(start))


def _listed_classes(root: Path) -> list[str]:
    """The classes of labels.txt, which LabelMe is started with."""
    file = root / "labels.txt"
    return [text for _, text in read_lines(file) if text not in _NO_CLASS] if file.is_file() else []


def _split_of(name: str) -> str:
    return next((split for part in name.split("/")[:-1] if (split := split_name(part)) in _SPLITS), "")


class _Found:
    """What all files say; images count from 0."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.present: dict[tuple[int, str], None] = {}  # in order
        self.boxes: list[tuple[int, str, _Corners]] = []
        self.boxless = 0

    def add(self, document: Json, name: str) -> None:
        """Adds the file `name`, a path below the folder that is read."""
        row = len(self.ids)
        self.ids.append(_image(document, name))
        for flag, ticked in document.get("flags", dict, {}).items():
            if ticked is True and flag not in _NO_CLASS and flag:
                self.present[row, flag] = None
        size = _size(document)
        for _, shape in document.item("shapes").items():
            label = shape.get("label", str)
            if not label:
                raise shape.error_at("is empty; name the class of the shape", "label")
            if label in _NO_CLASS:
                continue
            self.present[row, label] = None
            box = _box(shape, size)
            self.boxless += box is None
            self.boxes += [(row, label, box)] if box is not None else []


def _image(document: Json, name: str) -> str:
    """The path of the image, below the folder that is read; beside its file if imagePath leads out of that."""
    given = document.get("imagePath", str, "").replace("\\", "/")
    if "\0" in given:
        raise document.error_at("has a zero byte; correct the path", "imagePath")
    folder = posixpath.dirname(name)
    inside = posixpath.normpath(posixpath.join(folder, given)) if given else ""
    if inside and not inside.startswith(("..", "/")) and ":" not in inside:
        return inside
    return posixpath.join(folder, posixpath.basename(given) or posixpath.basename(name)[: -len(".json")])


def _size(document: Json) -> tuple[float, float]:
    wide, high = (document.get(key, float, 0.0) for key in ("imageWidth", "imageHeight"))
    return (float(wide), float(high)) if 0 < wide < 1e9 and 0 < high < 1e9 else (0.0, 0.0)


def _box(shape: Json, size: tuple[float, float]) -> _Corners | None:
    """The box around a rectangle, polygon or circle as shares of the image; None for lines, points and masks."""
    kind = shape.get("shape_type", str, "polygon")
    points = [
        (float(point.get(0, float)), float(point.get(1, float)))
        for _, point in shape.item("points").items(list)
        if len(point.value) == 2
    ]
    if kind not in ("rectangle", "polygon", "circle") or len(points) < 2 or not all(size):
        return None
    if not all(abs(number) < 1e9 for point in points for number in point):  # also NaN
        return None
    if kind == "circle":  # its center, and a point on it
        (x, y), (edge_x, edge_y) = points[:2]
        radius = math.hypot(edge_x - x, edge_y - y)
        points = [(x - radius, y - radius), (x + radius, y + radius)]
    xs, ys = zip(*points, strict=True)
    return min(xs) / size[0], min(ys) / size[1], max(xs) / size[0], max(ys) / size[1]
