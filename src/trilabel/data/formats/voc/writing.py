"""Writing the layout of PASCAL VOC: lists of labels for each class and split, annotations, images."""

import re
from pathlib import Path
from xml.etree import ElementTree

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.image_size import Sizes, image_sizes
from trilabel.data.formats._shared.placed_images import Placing, names_of_images, place_images
from trilabel.data.formats._shared.present_labels import BoxesOfImages, boxes_of_present, by_image, note_lost
from trilabel.data.formats._shared.xml_document import refuse_control_letters
from trilabel.errors import TrilabelError
from trilabel.files import replacing, write_text

_SPLITS = ("train", "val", "test")


def write(dataset: Dataset, path: Path, *, files: Placing = "link") -> list[str]:
    """Writes ImageSets/Main, Annotations and JPEGImages into the folder `path`; returns notes.

    In {class}_{split}.txt a label is 1 (present), -1 (absent) or 0 (unknown; VOC uses it for difficult objects).
    Images are links to their files, or copies (`files`: link, copy or none). Without any split, all are train.
    """
    labels = dataset.labels
    if not all(labels.shape):
        raise TrilabelError(f"{path}: nothing to write in {labels.shape[0]} images × {labels.shape[1]} classes")
    for name in labels.classes:
        if "/" in name or "\0" in name or not name.strip() or name.startswith("."):
            raise TrilabelError(f"{path}: a class called {name!r} cannot be part of the name of a file; rename it")
    refuse_control_letters(path, [*labels.classes, *labels.ids])
    notes: list[str] = []
    note_lost(dataset, notes, absent=False)
    placed = _without_blanks(names_of_images(dataset, path), path, notes)
    split_of = dataset.first_split()[0] if any(map(len, dataset.splits.values())) else ["train"] * len(dataset)
    if others := sum(split not in _SPLITS for split in split_of):
        notes.append(f"{others} images are in none of the splits {', '.join(_SPLITS)}: they are written as train")
    names = [file.rpartition(".")[0] for file in placed]
    for split in _SPLITS:
        rows = [row for row, name in enumerate(split_of) if (name if name in _SPLITS else "train") == split]
        if rows:
            _write_lists(dataset, path / "ImageSets" / "Main", split, rows, names)
    if not any(":" in name for name in labels.classes):  # for programs that know other classes than VOC's only by it
        write_text(path / "labelmap.txt", "".join(f"{name}:::\n" for name in labels.classes))
    sizes = image_sizes(dataset, notes)
    boxes = by_image(boxes_of_present(dataset, notes))
    _write_annotations(dataset, path / "Annotations", placed, sizes, boxes)
    if lost := sum(len(found) for row, found in boxes.items() if row not in sizes):
        notes.append(f"{lost} boxes are not written, as the files of their images cannot be read")
    place_images(dataset, [path / "JPEGImages" / file for file in placed], files, notes)
    return notes


def _without_blanks(files: list[str], path: Path, notes: list[str]) -> list[str]:
    """Names as lists can hold them, where blanks separate names and labels."""
    found = [re.sub(r"\s", "_", file) for file in files]
    if len(set(found)) < len(found):
        raise TrilabelError(f"{path}: names of images differ only in blanks, which its lists cannot hold; rename them")
    if changed := sum(old != new for old, new in zip(files, found, strict=True)):
        notes.append(f"{changed} names of images have blanks, which became underscores")
    return found


def _write_lists(dataset: Dataset, folder: Path, split: str, rows: list[int], names: list[str]) -> None:
    write_text(folder / f"{split}.txt", "".join(f"{names[row]}\n" for row in rows))
    part = dataset.labels.csr[rows].tocsc()
    for column, name in enumerate(dataset.classes):
        signs = part[:, [column]].toarray().ravel().tolist()
        lines = (f"{names[row]} {sign:2d}\n" for row, sign in zip(rows, signs, strict=True))
        write_text(folder / f"{name}_{split}.txt", "".join(lines))


def _write_annotations(dataset: Dataset, folder: Path, files: list[str], sizes: Sizes, boxes: BoxesOfImages) -> None:
    """A file for each image of a known size. Pixels count from 1, and both ends belong to a box."""
    for row, (wide, high) in sizes.items():
        root = ElementTree.Element("annotation")
        _add(root, folder="JPEGImages", filename=files[row])
        _add(ElementTree.SubElement(root, "size"), width=wide, height=high, depth=3)
        _add(root, segmented=0)
        for column, (left, top, right, bottom) in boxes.get(row, ()):
            thing = ElementTree.SubElement(root, "object")
            _add(thing, name=dataset.classes[column], pose="Unspecified", truncated=0, difficult=0)
            corners = (round(left * wide) + 1, round(top * high) + 1, round(right * wide), round(bottom * high))
            pixels = zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True)
            _add(ElementTree.SubElement(thing, "bndbox"), **dict(pixels))
        ElementTree.indent(root, "\t")
        with replacing(folder / f"{files[row].rpartition('.')[0]}.xml") as temporary:
            ElementTree.ElementTree(root).write(temporary, "utf-8")


def _add(element: ElementTree.Element, **texts: object) -> None:
    for name, text in texts.items():
        ElementTree.SubElement(element, name).text = str(text)
