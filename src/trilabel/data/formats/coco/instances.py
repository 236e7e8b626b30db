"""Annotations of COCO as labels: categories of objects, with boxes, and negative categories as LVIS lists them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilabel.data.formats._shared.json_document import Json, unique_positions
from trilabel.data.formats._shared.pixel_boxes import floats, shares
from trilabel.data.formats.coco.annotation_file import AnnotationFile, CocoLabels, lookup, optional


@dataclass
class _FileLabels:
    """The contents of one file; images count over all files, columns are those of `names`."""

    names: list[str]  # categories, in the order of their ids
    placeholders: set[str]
    entries: NDArray[np.int64]  # image, column, +1 or −1
    open: NDArray[np.int64]  # images that list negative categories, even if the list is empty
    boxes: NDArray[np.float64]
    boxless: int


class Instances:
    """Collects annotations, file by file."""

    def __init__(self, empty: str, unlisted: str) -> None:
        self.empty, self.unlisted = empty, unlisted
        self.found: list[_FileLabels] = []

    def add(self, part: AnnotationFile, start: int) -> None:
        """Adds the annotations of a file whose first image has number `start`."""
        document, annotations = part.document, part.annotations
        if "categories" not in document.value and any("caption" in record for record in annotations.value):
            raise document.error_at("has captions and no categories; choose labels='captions'")
        categories = document.item("categories")
        place = unique_positions(categories, "id", int)
        names = categories.column("name", str)
        if "" in names:
            raise categories.error_at("is empty; give the category a name", names.index(""), "name")
        order = sorted(place)
        column = {number: index for index, number in enumerate(order)}
        columns = lookup(annotations, "category_id", int, column, "categories")
        if not order:
            raise categories.error_at("is empty, so there are no classes")
        negative, open_ = _negatives(document.item("images"), column)
        entries = np.stack([part.image_of, columns, np.ones_like(columns)], 1)
        boxes = _boxes(document.item("images"), annotations, part.image_of, columns)
        boxes[:, 0] += start
        shift = np.array([start, 0, 0])
        self.found.append(
            _FileLabels(
                [names[place[number]] for number in order],
                _placeholders(categories, names, {names[place[order[index]]] for index in set(columns.tolist())}),
                np.concatenate([entries, negative]) + shift,
                open_ + start,
                boxes,
                len(annotations.value) - len(boxes),
            )
        )

    def content(self, split_of: Sequence[str]) -> CocoLabels:
        """The labels of all files; `split_of` has the split of each image."""
        placeholders = set.intersection(*(found.placeholders for found in self.found))
        names = dict.fromkeys(name for found in self.found for name in found.names if name not in placeholders)
        column = {name: index for index, name in enumerate(names)}
        for found in self.found:
            columns = np.array([column.get(name, -1) for name in found.names], np.int64)
            found.entries[:, 1] = columns[found.entries[:, 1]]
            found.boxes[:, 1] = columns[found.boxes[:, 1].astype(np.int64)]
        entries = np.concatenate([found.entries for found in self.found])
        entries = entries[entries[:, 1] >= 0]
        absent_in, notes = self._absent(entries, len(split_of))
        notes += [f"category {name!r} is a group without annotations: left out" for name in sorted(placeholders)]
        if twice := max(len(found.names) - len(set(found.names)) for found in self.found):
            notes.append(f"{twice} categories have the name of another one: they become one class")
        if boxless := sum(found.boxless for found in self.found):
            notes.append(f"{boxless} annotations have no usable box or image size: no boxes are read for them")
        return CocoLabels(list(names), entries, absent_in, np.concatenate([found.boxes for found in self.found]), notes)

    def _absent(self, entries: NDArray[np.int64], images: int) -> tuple[NDArray[np.int64], list[str]]:
        """The images in which labels that are not listed are absent, and notes on that."""
        described, open_ = np.zeros(images, bool), np.zeros(images, bool)
        described[entries[:, 0]] = True
        if self.unlisted != "absent":
            open_[np.concatenate([found.open for found in self.found])] = True
        closed = described & ~open_ & (self.unlisted != "unknown")
        bare = ~described & ~open_ & (self.empty == "absent")
        listing = int((described & open_).sum()) if self.unlisted == "auto" else 0
        if listing and listing == described.sum():
            notes = ["annotated categories are present, negative ones absent, others unknown"]
        else:
            others = "unknown" if self.unlisted == "unknown" else "absent"
            notes = [f"annotated categories are present, others {others}"]
            notes += [f"{listing} images list negative categories: other labels are unknown"] if listing else []
        if filled := int(bare.sum()):
            notes.append(f"{filled} images without annotations are absent")
        if unknown := int((~described & ~bare).sum()):
            notes.append(f"{unknown} images without annotations are unknown")
        return np.flatnonzero(closed | bare), notes


def _placeholders(categories: Json, names: Sequence[str], used: set[str]) -> set[str]:
    """Names of categories that only group others and have no annotations, as in exports of Roboflow."""
    groups = optional(categories, "supercategory")
    members = {name for name, group in zip(names, groups, strict=True) if group != "none"}
    return {name for name in names if name in groups} - members - used - {"none"}


def _negatives(
    images: Json, column: Mapping[int | str, int], key: str = "neg_category_ids"
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(image, column, −1) of each negative category, and the images that list some or none."""
    open_ = [index for index, record in enumerate(images.value) if record.get(key) is not None]
    if not open_:
        return np.zeros((0, 3), np.int64), np.zeros(0, np.int64)
    lists: list[list[int]] = images.column(key, list, [])
    for index, numbers in enumerate(lists):
        for place, number in enumerate(numbers):
            if type(number) is not int or number not in column:
                raise images.error_at(f"is {number!r}, which is no id in categories", index, key, place)
    rows = np.repeat(np.arange(len(lists)), [len(numbers) for numbers in lists])
    columns = np.array([column[number] for numbers in lists for number in numbers], np.int64)
    return np.stack([rows, columns, np.full_like(rows, -1)], 1), np.array(open_, np.int64)


def _boxes(
    images: Json, annotations: Json, image_of: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """image, column, left, top, right, bottom of each box of which the image's size is known."""
    given = [(index, record["bbox"]) for index, record in enumerate(annotations.value) if record.get("bbox")]
    for index, box in given:
        if type(box) is not list or len(box) != 4 or not all(type(number) in (int, float) for number in box):
            raise annotations.error_at("is not [x, y, width, height] in numbers", index, "bbox")
    given = [(index, box) for index, box in given if any(box)]  # all 0 stands for none, as `write` writes it
    which = np.array([index for index, _ in given], np.int64)
    pixels = floats([number for _, box in given for number in box]).reshape(-1, 4)
    sizes = np.stack([floats(images.column(key, float, 0.0)) for key in ("width", "height")], 1)
    corners, usable = shares(pixels, sizes[image_of[which]])
    which = which[usable]
    return np.concatenate([np.stack([image_of[which], columns[which]], 1), corners[usable]], 1)
