"""CVAT: a task, job or project exported as "CVAT for images 1.1" (annotations.xml), with tags or shapes."""

import re
from collections import Counter
from collections.abc import Container
from pathlib import Path
from typing import get_args
from xml.etree.ElementTree import Element

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Box, Entry, Unlisted, assemble
from trilabel.data.formats._shared.join import join_parts
from trilabel.data.formats.cvat.file import Document
from trilabel.data.formats.cvat.writing import write
from trilabel.data.image_paths import RootedPaths, found_in, locate, root_of, split_name
from trilabel.data.options import check_choice
from trilabel.data.text_files import peek, shown
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names

__all__ = ["RULE", "detect", "read", "write"]

RULE = "tagged or drawn labels are present, the rest unknown; images without annotations are unknown"
_KINDS = {"tag", "box", "polygon", "polyline", "points", "mask", "ellipse", "cuboid", "skeleton"}
_START = re.compile(rb"<annotations\s*>.*?<(version|meta|image|track)\b", re.DOTALL)


def detect(path: Path) -> bool:
    """Whether this is CVAT's annotations.xml, under any name, a folder with it, or one with a file for each split."""
    return _is_export(_file(path)) or bool(_files_of_splits(path))


def _is_export(file: Path) -> bool:
    return file.suffix.lower() == ".xml" and _START.search(peek(file)[: 1 << 14]) is not None


def _files_of_splits(path: Path) -> list[Path]:
    """train.xml, val.xml, … in a folder without annotations.xml, as datumaro writes them."""
    if not path.is_dir() or _file(path).exists():
        return []
    named = [file for file in sorted(path.glob("*.xml")) if split_name(file.stem) in ("train", "val", "test")]
    return [file for file in named if file.is_file() and _is_export(file)]


def read(
    path: Path, *, images: str | Path | None = None, unlisted: Unlisted = "unknown", checkboxes: bool = False
) -> Dataset:
    """Reads an export. `unlisted` is the value of a label that an annotated image has neither as a tag nor as a shape.

    `checkboxes` makes a class "label: attribute" of each attribute of tags that is declared as a checkbox: true is
    present, false is absent. Otherwise they are left out, since false may only mean that nobody checked.
    """
    check_choice(path, "unlisted", unlisted, get_args(Unlisted))
    if files := _files_of_splits(path):
        parts = [(split_name(file.stem), "", _read_file(file, images, unlisted, checkboxes)) for file in files]
        return join_parts(path, parts)
    return _read_file(path, images, unlisted, checkboxes)


def _read_file(path: Path, images: str | Path | None, unlisted: Unlisted, checkboxes: bool) -> Dataset:
    document = Document(_file(path))
    pictures = document.root.findall("image")
    tracks = len(document.root.findall("track"))
    if not pictures:
        what = "CVAT for video is not read" if tracks else "contains no images"
        raise TrilabelError(f"{document.file}: {what}; export the task as 'CVAT for images 1.1'")
    classes, boxes_to_tick = document.labels()
    notes = [f"tagged or drawn labels are present, the rest of an annotated image is {unlisted}"]
    if not classes:
        classes = list(dict.fromkeys(document.text(t, "label") for p in pictures for t in p if t.tag in _KINDS))
        notes.append("no labels are declared in <meta>: the classes are those in use")
    if checkboxes:
        classes += [f"{label}: {name}" for label, name in boxes_to_tick]
    found = _Annotations(document, classes, boxes_to_tick if checkboxes else {})
    annotated = [row for row, picture in enumerate(pictures) if found.add(row, picture)]
    odd = found.odd + Counter({"tracks left out": tracks})
    odd["images have no annotation: they are unknown"] = len(pictures) - len(annotated)
    ids, paths, missing = _images(document, pictures, images)
    odd[f"images have no file in {paths.root}"] = missing
    odd["images share a file with one of the same name; move each to its id"] = len(ids) - len(set(paths.names))
    subsets = [picture.get("subset", "").strip() for picture in pictures]
    return assemble(
        path,
        ids=ids,
        paths=paths,
        classes=classes,
        entries=found.entries,
        absent_in=annotated if unlisted == "absent" else (),
        split_of=["" if subset == "default" else subset for subset in subsets],  # "default": no subset
        boxes=found.boxes or None,
        notes=notes + [f"{count} {what}" for what, count in odd.items() if count],
    )


class _Annotations:
    """Labels and boxes, collected image by image, and counts of what was left out."""

    def __init__(self, document: Document, classes: list[str], checkboxes: Container[tuple[str, str]]) -> None:
        self.document, self.checkboxes = document, checkboxes
        self.column = {name: number for number, name in enumerate(classes)}
        self.entries: list[Entry] = []
        self.boxes: list[Box] = []
        self.odd: Counter[str] = Counter()

    def add(self, row: int, picture: Element) -> bool:
        """Adds the annotations of an image; returns whether there are any."""
        before = len(self.entries)
        for thing in picture:
            if thing.tag in _KINDS:
                self._add_label(row, picture, thing)
            else:
                self.odd[f"elements <{thing.tag}> left out"] += 1
        return len(self.entries) > before

    def _add_label(self, row: int, picture: Element, thing: Element) -> None:
        label = self.document.text(thing, "label")
        if label not in self.column:
            raise self.document.error_at(
                thing, f"label {label!r} is not declared in <meta>; add it to the <labels> there"
            )
        self.entries.append((row, self.column[label], 1))
        if thing.tag == "box" and picture.get("width") and picture.get("height"):
            self.boxes.append((row, self.column[label], *self.document.box(thing, picture)))
        elif thing.tag == "box":
            self.odd["boxes left out: their images have no size"] += 1
        for attribute in thing.iterfind("attribute"):
            name, value = attribute.get("name", ""), (attribute.text or "").strip().lower()
            if thing.tag != "tag" or (label, name) not in self.checkboxes:
                self.odd["attributes of tags and shapes left out"] += 1
            elif value in ("true", "false"):
                self.entries.append((row, self.column[f"{label}: {name}"], 1 if value == "true" else -1))
            else:
                raise self.document.error_at(
                    attribute, f"checkbox {name!r} is {shown(value)}; it should be true or false"
                )


def _file(path: Path) -> Path:
    return path / "annotations.xml" if path.is_dir() else path


def _images(
    document: Document, pictures: list[Element], images: str | Path | None
) -> tuple[list[str], RootedPaths, int]:
    """Ids, paths and how many files were not found. In a project, each subset has a folder of its images."""
    names = [document.text(picture, "name") for picture in pictures]
    inside, by_task = (
        [f"{picture.get(key, '').strip()}/{name}".lstrip("/") for picture, name in zip(pictures, names, strict=True)]
        for key in ("subset", "task_id")
    )
    ids = next((form for form in (names, inside, by_task) if len(set(form)) == len(form)), inside)
    first: dict[str, Element] = {}
    for name, picture in zip(ids, pictures, strict=True):
        if first.setdefault(name, picture) is not picture:
            raise document.error_at(picture, f"image {name!r} is listed twice; remove one")
    usual = (document.file.parent / "images", document.file.parent)
    roots = [(root_of(images, usual, files), files) for files in (names, inside, by_task)]
    root, files = max(roots, key=lambda pair: (found_in(*pair), len(set(pair[1]))))
    if not found_in(root, files):
        files = ids
    paths, missing = locate(root, Names(files))
    return ids, paths, missing
