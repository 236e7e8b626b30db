"""FiftyOne's folders on disk: labels.json (classifications or detections), or samples.json (a whole data set)."""

import os
from collections.abc import Sequence
from pathlib import Path

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Unlisted, assemble
from trilabel.data.formats._shared.json_document import Json, first_key
from trilabel.data.formats.fiftyone.files import Samples, read_labels, read_samples
from trilabel.data.formats.fiftyone.writing import write
from trilabel.data.image_paths import RootedPaths, locate, root_of
from trilabel.data.options import check_choice
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names

__all__ = ["RULE", "detect", "read", "write"]

WRITES_FOLDER = True
RULE = "listed labels are present, others unknown; images without labels are unknown"

_FIRST_KEYS = {"labels.json": ("classes", "labels"), "samples.json": ("samples",)}


def detect(path: Path) -> bool:
    """Whether this is such a file or a folder with one."""
    return _find(path) is not None


def read(
    path: Path, *, images: str | Path | None = None, field: str | None = None, unlisted: Unlisted = "unknown"
) -> Dataset:
    """Reads a folder that FiftyOne exported. `field` names the labels to read, if samples have several.

    `unlisted` is the value of a label that an image with labels does not list.
    """
    check_choice(path, "unlisted", unlisted, ("unknown", "absent"))
    file = _find(path)
    if file is None:
        raise TrilabelError(f"{path}: no labels.json or samples.json of FiftyOne in this folder")
    document = Json.read(file)
    found = Samples()
    if file.name == "labels.json":
        if field is not None:
            raise TrilabelError(f"{path}: field={field!r}: labels.json has no fields; leave it out")
        read_labels(document, found)
        ids, paths = _files_of_labels(file, list(found.names), images, found)
    else:
        read_samples(document, field, found)
        ids, paths = _files_of_samples(file, list(found.names), images)
    notes = [f"listed labels are present, others {unlisted}; images without labels are unknown"]
    if len(found.labeled) < len(ids):
        notes.append(f"{len(ids) - len(found.labeled)} images have no labels: they are unknown")
    classes = found.all_classes()
    code = {name: number for number, name in enumerate(classes)}
    return assemble(
        path,
        ids=ids,
        paths=paths,
        classes=classes,
        entries=[(row, code[name], 1) for row, name in found.labels],
        absent_in=found.labeled if unlisted == "absent" else (),
        split_of=found.splits,
        boxes=[(row, code[name], *corners) for row, name, corners in found.boxes] if found.boxes else None,
        notes=notes + found.notes,
    )


def _find(path: Path) -> Path | None:
    files = [path] if os.path.isfile(path) else [path / name for name in _FIRST_KEYS]  # noqa: PTH113 (never raises)
    return next((file for file in files if first_key(file) in _FIRST_KEYS.get(file.name, ())), None)


# ---- where the images are


def _files_of_labels(
    file: Path, names: list[str], images: str | Path | None, found: Samples
) -> tuple[list[str], Sequence[str]]:
    """Ids and paths, from the list of files data.json or from the folder data; names have no extension."""
    folder, listing = Path(images or file.parent / "data"), file.parent / "data.json"
    if images is not None:
        root_of(images, [folder])
    if listing.is_file() and not (file.parent / "data").is_dir():
        files = Json.read(listing)
        for key in files.value:
            files.get(key, str)
        by_name = {os.path.splitext(key)[0]: key for key in files.value} | {key: key for key in files.value}  # noqa: PTH122
        missing = sum(name not in by_name for name in names)
        found.notes += [f"{missing} images are not in data.json"] if missing else []
        ids = [by_name.get(name, name) for name in names]
        return ids, RootedPaths(images or file.parent, [files.value.get(name, name) for name in ids])
    if not folder.is_dir():
        found.notes.append(f"there is no folder {folder.name} with the images")
        return names, RootedPaths(folder, names)
    try:
        paths, missing = locate(folder, Names(names))
    except TrilabelError as error:
        raise TrilabelError(f"{file}: {error}") from None
    found.notes += [f"{missing} images have no file in {folder}"] if missing else []
    return names, paths


def _files_of_samples(file: Path, names: list[str], images: str | Path | None) -> tuple[list[str], Sequence[str]]:
    """Ids and paths; FiftyOne puts images into the folder data unless it was set to leave them where they are."""
    names = [name.replace("\\", "/") for name in names]
    inside = names and all(name.startswith("data/") for name in names)
    ids = [name.removeprefix("data/") for name in names] if inside else names
    return ids, RootedPaths(root_of(images, [file.parent / "data" if inside else file.parent]), ids)
