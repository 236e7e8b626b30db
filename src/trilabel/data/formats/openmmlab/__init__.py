"""OpenMMLab's JSON: {"metainfo": …, "data_list": […]} with classes (MMPretrain) or boxes (MMDetection) of images."""

from pathlib import Path
from typing import Literal, get_args

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Unlisted, assemble
from trilabel.data.formats._shared.join import join_parts
from trilabel.data.formats._shared.json_document import Json, first_key
from trilabel.data.formats.openmmlab.labels import ListedLabels
from trilabel.data.formats.openmmlab.writing import write
from trilabel.data.image_paths import RootedPaths, moved, root_of, split_name
from trilabel.data.options import check_choice
from trilabel.data.text_files import peek
from trilabel.errors import TrilabelError

__all__ = ["RULE", "detect", "read", "write"]

WRITES_FOLDER = True
RULE = "listed classes are present, others absent; images without labels are unknown"
_SPLITS = ("train", "val", "test")


def detect(path: Path) -> bool:
    """Whether this is such a file, or a folder with some, itself or in annotations/."""
    return bool(_files(path))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if path.suffix.lower() == ".json" and _looks_right(path) else []
    found = [file for folder in (path, path / "annotations") for file in sorted(folder.glob("*.json"))]
    return [file for file in found if _split(file) and file.is_file() and _looks_right(file)]


def _looks_right(file: Path) -> bool:
    return first_key(file) in ("metainfo", "data_list") and (
        b'"data_list"' in peek(file) or b'"metainfo"' in peek(file)
    )


def _split(file: Path) -> str:
    words = (split_name(word) for word in file.stem.lower().replace("-", "_").split("_"))
    return next((word for word in words if word in _SPLITS), "")


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    unlisted: Unlisted = "absent",
    empty: Literal["unknown", "absent"] = "unknown",
) -> Dataset:
    """Reads a file, or those of the splits of a folder.

    `unlisted` is the value of a class that an image with labels does not list, `empty` that of all classes of an image
    whose list is empty.
    """
    check_choice(path, "unlisted", unlisted, get_args(Unlisted))
    check_choice(path, "empty", empty, ("unknown", "absent"))
    files = [path] if path.is_file() else _files(path)
    if not files:
        raise TrilabelError(f"{path}: no file of OpenMMLab here whose name says its split, such as train.json")
    parts = [(_split(file), "", _read_file(file, images, unlisted, empty)) for file in files]
    if len(parts) > 1 or parts[0][0]:
        return join_parts(path, parts)
    return parts[0][2]


def _read_file(file: Path, images: str | Path | None, unlisted: str, empty: str) -> Dataset:
    document = Json.read(file)
    classes = _classes(document.item("metainfo", dict, {}))
    records = document.item("data_list")
    found = ListedLabels(classes)
    ids = []
    for row, record in records.items():
        ids.append(record.get("img_path", str))
        found.add(row, record)
    home = file.parent.parent if file.parent.name == "annotations" else file.parent
    split = _split(file)
    usual = [home, home / "images", *([home / split, home / "images" / split] if split else [])]
    names = [name.replace("\\", "/") for name in ids]
    paths, elsewhere = moved(RootedPaths(root_of(images, usual, names), names), usual)
    notes = [f"listed classes are present, others {unlisted}; images without labels are unknown"]
    described = sorted({row for row, _ in found.pairs})
    bare = sorted(set(found.labeled) - set(described))
    counts = {
        "images have no labels: they are unknown": len(ids) - len(found.labeled),
        f"images have an empty list of labels: they are {empty}": len(bare),
        "boxes are left out: the size of their image is not known": found.boxless,
        "objects to be ignored are left out": found.ignored,
    }
    if not classes:
        notes.append("classes are numbers: metainfo has no names for them")
    notes += [f"{count} {what}" for what, count in counts.items() if count]
    names_of = found.names()
    return assemble(
        file,
        ids=ids,
        paths=paths,
        classes=names_of,
        entries=found.entries(names_of),
        absent_in=[*(described if unlisted == "absent" else ()), *(bare if empty == "absent" else ())],
        boxes=found.boxes or None,
        notes=[*notes, *elsewhere],
    )


def _classes(about: Json) -> list[str]:
    """The names of the classes: a list, also under its older names."""
    for key in ("classes", "CLASSES"):
        if about.value.get(key) is not None:
            names = about.item(key)
            return [names.get(number, str) for number in range(len(names.value))]
    return []
