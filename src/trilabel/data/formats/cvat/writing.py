"""Writing CVAT's annotations.xml ("CVAT for images 1.1"), to be uploaded to a task or project."""

import os
from pathlib import Path
from typing import Any
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.image_size import image_sizes
from trilabel.data.formats._shared.present_labels import boxes_of_present, by_image, note_lost, present_columns
from trilabel.data.formats._shared.xml_document import refuse_control_letters
from trilabel.data.image_paths import relative_to
from trilabel.errors import TrilabelError
from trilabel.files import replacing


def write(dataset: Dataset, path: Path, *, predictions: bool = False) -> list[str]:
    """Writes an .xml file with a box for each box of a present label, and a tag for each that has none; returns notes.

    CVAT finds images by their names in the task: here these are paths below the folder of the file, or below images/
    there, as in an export, and ids for images that are elsewhere. With `predictions`, annotations are marked as made by
    a model (`source="auto"`).
    """
    if path.suffix.lower() != ".xml":
        raise TrilabelError(f"{path}: the name of CVAT's file must end in .xml; change it")
    if not all(dataset.labels.shape):
        images, classes = dataset.labels.shape
        raise TrilabelError(f"{path}: nothing to write in {images} images × {classes} classes")
    names, split_of = _names(dataset, path), dataset.first_split()[0]
    refuse_control_letters(path, [*dataset.classes, *names, *dataset.splits])
    notes: list[str] = []
    note_lost(dataset, notes)
    sizes, boxes = image_sizes(dataset, notes), by_image(boxes_of_present(dataset, notes))
    lost = sum(len(found) for row, found in boxes.items() if row not in sizes)
    notes += [f"{lost} boxes are written as tags, as the files of their images cannot be read"] if lost else []
    source = {"source": "auto" if predictions else "manual"}
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        out = _Elements(file)
        out.startDocument()
        out.open("annotations")
        out.leaf("version", "1.1")
        _write_meta(out, dataset)
        for row, columns in enumerate(present_columns(dataset.labels)):
            about = {"id": str(row), "name": names[row]}
            about |= {"subset": split_of[row]} if split_of[row] else {}
            wide, high = sizes.get(row, (0, 0))
            about |= {"width": str(wide), "height": str(high)} if row in sizes else {}
            out.open("image", about)
            drawn = boxes.get(row, []) if row in sizes else []
            for column in columns:
                if column not in {cls for cls, _ in drawn}:
                    out.leaf("tag", "", {"label": dataset.classes[column], **source})
            for column, corners in drawn:
                pixels = [share * size for share, size in zip(corners, (wide, high, wide, high), strict=True)]
                place = {key: f"{at:.2f}" for key, at in zip(("xtl", "ytl", "xbr", "ybr"), pixels, strict=True)}
                shape = {"label": dataset.classes[column], **source, "occluded": "0", **place, "z_order": "0"}
                out.leaf("box", "", shape)
            out.close("image")
        out.close("annotations")
    return notes


def _write_meta(out: "_Elements", dataset: Dataset) -> None:
    """The labels as CVAT declares them, those of a project where there are subsets; an upload ignores the rest."""
    splits = [name for name, rows in dataset.splits.items() if len(rows)]
    around = "project" if splits else "task"
    out.open("meta")
    out.open(around)
    out.leaf("name", "trilabel")
    if splits:
        out.open("tasks")
        for number, name in enumerate(splits):
            out.open("task")
            for key, text in (("id", str(number)), ("name", name), ("mode", "annotation"), ("subset", name)):
                out.leaf(key, text)
            out.close("task")
        out.close("tasks")
        out.leaf("subsets", "\n".join(splits))
    out.open("labels")
    for name in dataset.classes:
        out.open("label")
        out.leaf("name", name)
        out.leaf("type", "any")
        out.leaf("attributes", "")
        out.close("label")
    for name in ("labels", around, "meta"):
        out.close(name)


def _names(dataset: Dataset, path: Path) -> list[str]:
    files = dataset.ids if dataset.paths is None else relative_to(dataset.paths, path.parent)
    below = [file.replace(os.sep, "/") for file in files]
    if all(file.startswith("images/") for file in below):  # as in an export
        below = [file.removeprefix("images/") for file in below]
    return [id_ if file.startswith("../") else file for id_, file in zip(dataset.ids, below, strict=True)]


class _Elements(XMLGenerator):
    """Writes elements, each on a line of its own."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, "utf-8", short_empty_elements=False)

    def open(self, name: str, about: dict[str, str] | None = None) -> None:
        self.startElement(name, AttributesImpl(about or {}))
        self.ignorableWhitespace("\n")

    def leaf(self, name: str, text: str, about: dict[str, str] | None = None) -> None:
        self.startElement(name, AttributesImpl(about or {}))
        self.characters(text)
        self.close(name)

    def close(self, name: str) -> None:
        self.endElement(name)
        self.ignorableWhitespace("\n")
