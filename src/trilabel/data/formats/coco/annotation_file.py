"""The common part of all COCO annotation files: images, and the image of each annotation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.data.formats._shared.json_document import Json, first_repeat, unique_positions
from trilabel.data.formats.coco.files import split_of_file
from trilabel.data.formats.coco.panoptic import annotations_of
from trilabel.data.image_paths import RootedPaths, found_in, moved, root_of


@dataclass
class AnnotationFile:
    """One annotation file. Images count from 0; `image_of` has the image of each annotation."""

    document: Json
    annotations: Json
    split: str
    ids: list[str]
    paths: Sequence[str]
    split_of: list[str]
    image_of: NDArray[np.int64]
    notes: list[str]


class CocoLabels(NamedTuple):
    """The contents of all files together; see `assemble`."""

    classes: list[str]
    entries: NDArray[np.int64]  # image, class, +1 or −1
    absent_in: NDArray[np.int64]
    boxes: NDArray[np.float64]  # image, class, left, top, right, bottom
    notes: list[str]


def open_annotations(file: Path, images: str | Path | None) -> AnnotationFile:
    """Reads an annotation file and finds its images."""
    document = Json.read(file)
    records = document.item("images")
    kind: type = str if any(type(record) is dict and type(record.get("id")) is str for record in records.value) else int
    row = unique_positions(records, "id", kind)
    names = _file_names(records)
    notes = []
    if _wrote_label_studio(document) and len(set(names)) < len(names):
        notes = [f"{len(names) - len(set(names))} images are listed again for another annotator: they are joined"]
        row, names = _joined(records, row, names)
    ids = [own or name for own, name in zip(optional(records, "trilabel_id"), names, strict=True)]
    if (twice := first_repeat(ids)) is not None:
        raise records.error_at(f"is {ids[twice[1]]!r}, as of images[{twice[0]}]; remove one", twice[1], "file_name")
    split = split_of_file(file)
    own = zip(optional(records, "split"), records.value, strict=True)
    split_of = [split if record.get("split") is None else name for name, record in own]
    files = [name.replace("\\", "/") for name in names]  # as tools on Windows write them
    root = _root(document, split, images, files)
    paths, elsewhere = moved(RootedPaths(root, files), [root, root / "images"])
    notes += elsewhere
    annotations = annotations_of(document)
    image_of = lookup(annotations, "image_id", kind, row, "images")
    return AnnotationFile(document, annotations, split, ids, list(paths), split_of, image_of, notes)


def _wrote_label_studio(document: Json) -> bool:
    info = document.value.get("info")
    return isinstance(info, dict) and info.get("contributor") == "Label Studio"


def _joined(records: Json, row: Mapping[int | str, int], names: list[str]) -> tuple[dict[int | str, int], list[str]]:
    """Each image once: Label Studio lists it for every annotator. The first of its records that has a size stays."""
    place: dict[str, int] = {name: number for number, name in enumerate(dict.fromkeys(names))}
    kept: list[dict[str, object]] = [{} for _ in place]
    for name, record in zip(names, records.value, strict=True):
        if not kept[place[name]].get("width"):
            kept[place[name]] = record
    records.value[:] = kept
    return {key: place[names[number]] for key, number in row.items()}, list(place)


def lookup(records: Json, key: str, kind: type, place: Mapping[int | str, int], among: str) -> NDArray[np.int64]:
    """The position of the object that each record refers to by `key`."""
    values: list[int | str] = records.column(key, kind)
    found = [place.get(value, -1) for value in values]
    if -1 in found:
        index = found.index(-1)
        raise records.error_at(f"is {values[index]!r}, which is no id in {among}", index, key)
    return np.array(found, np.int64)


def optional(records: Json, key: str) -> list[str]:
    """A text of each record, "" if it has none; fast if no record has one."""
    return records.column(key, str, "") if any(key in record for record in records.value) else [""] * len(records.value)


def _file_names(records: Json) -> list[str]:
    names = optional(records, "file_name")
    if not all(names):
        urls = optional(records, "coco_url")  # LVIS has no file names; its images are those of COCO 2017
        names = [name or "/".join(url.split("/")[-2:]) for name, url in zip(names, urls, strict=True)]
    if not all(names):
        raise records.error_at("is missing; every image needs one", names.index(""), "file_name")
    return names


def _root(document: Json, split: str, images: str | Path | None, files: list[str]) -> Path:
    """The folder that file names are relative to: train2014, images or similar, beside the annotations."""
    file, info = document.file, document.value.get("info")
    inside = [name for name in (file.stem.rpartition("_")[2], split) if name]
    if images is not None:
        given = root_of(images, [])
        return root_of(None, [*(given / name for name in inside), given], files)
    home = file.parent.parent if file.parent.name == "annotations" else file.parent
    usual = [folder / name for folder in (home, home / "images") for name in inside]
    places = [*usual, home / "images", home / "data", home, file.parent]
    noted = info.get("trilabel_images") if isinstance(info, dict) else None
    if not isinstance(noted, str) or "\0" in noted:
        return root_of(None, places, files)
    best = root_of(None, [file.parent / noted, *places], files)
    return best if found_in(best, files) else file.parent / noted
