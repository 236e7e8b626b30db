"""The objects of Visual Genome as labels: the most frequent names are the classes."""

from collections import defaultdict
from itertools import chain
from itertools import count as counter
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.data.formats._shared.frequent_names import most_frequent, positives
from trilabel.data.formats._shared.json_document import Json, unique_positions
from trilabel.data.formats._shared.pixel_boxes import floats, shares
from trilabel.errors import TrilabelError


class Objects(NamedTuple):
    """The contents of objects.json; see `assemble`."""

    ids: list[str]
    classes: list[str]
    entries: NDArray[np.int64]  # image, class, 1
    annotated: NDArray[np.int64]  # images with any object
    boxes: NDArray[np.float64] | None  # image, class, left, top, right, bottom
    notes: list[str]


def read_objects(file: Path, sizes: Path, count: int) -> Objects:
    """Reads objects.json with the `count` most frequent names as classes; `sizes` is image_data.json.

    Names are compared in lower case, with single blanks. Equally frequent names are in alphabetical order.
    """
    document = Json.read(file, list)
    if not document.value:
        raise document.error_at("is empty, so there is nothing to read")
    row = unique_positions(document, _id_key(document), int)
    lists = document.column("objects", list)
    things = list(chain.from_iterable(lists))
    image_of_thing = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    names = _names(document, things)
    thing = np.repeat(np.arange(len(things)), [len(one) for one in names])
    classes, column = _classes(list(chain.from_iterable(names)), count)
    if not classes:
        raise document.error_at("contains no names of objects, so there are no classes")
    thing, column = thing[column >= 0], column[column >= 0]
    image = image_of_thing[thing]
    entries = positives(image, column, len(classes))
    annotated = np.flatnonzero([len(one) for one in lists])
    notes = [f"classes are the {len(classes)} most frequent names of objects; named objects are present, others absent"]
    if bare := len(lists) - len(annotated):
        notes.append(f"{bare} images without any object are unknown")
    boxes = None
    if sizes.exists():
        pixels = _pixels(document, [things[index] for index in thing.tolist()])
        corners, usable = shares(pixels, _sizes(sizes, row)[image])
        boxes = np.concatenate([np.stack([image, column], 1), corners], 1)[usable]
        if lost := int((~usable).sum()):
            notes.append(f"{lost} objects have no usable box or image size: no boxes are read for them")
    else:
        notes.append(f"no {sizes.name} here, so the sizes of images are not known: no boxes")
    return Objects([f"{number}.jpg" for number in row], classes, entries, annotated, boxes, notes)


def _id_key(records: Json) -> str:
    """The first release has `id` where later ones have `image_id`."""
    first = records.value[0]
    return "id" if isinstance(first, dict) and "image_id" not in first and "id" in first else "image_id"


def _classes(names: list[str], count: int) -> tuple[list[str], NDArray[np.int64]]:
    """The most frequent names, and the class of each name (−1 for none)."""
    spelt: defaultdict[str, int] = defaultdict(counter().__next__)  # a number per spelling, by first occurrence
    spelling = np.fromiter(map(spelt.__getitem__, names), np.int64, len(names))
    codes: dict[str, int] = {}
    code = np.array([codes.setdefault(" ".join(name.lower().split()), len(codes)) for name in spelt], np.int64)
    classes, column = most_frequent(codes, code[spelling], count)
    return classes, column[code[spelling]]


def _sizes(file: Path, row: dict[int | str, int]) -> NDArray[np.float64]:
    """images × (width, height), 0 if the file does not contain them."""
    records = Json.read(file, list)
    sizes = np.zeros((len(row), 2))
    if records.value:
        numbers = unique_positions(records, _id_key(records), int)
        rows = np.array([row.get(number, -1) for number in numbers], np.int64)
        found = np.stack([floats(records.column(key, float, 0.0)) for key in ("width", "height")], 1)
        sizes[rows[rows >= 0]] = found[rows >= 0]
    return sizes


# ---- millions of objects: checked all at once, and one by one only to locate an error


def _names(document: Json, things: list[Any]) -> list[list[str]]:
    try:
        names = [thing["names"] for thing in things]
        if set(map(type, names)) <= {list} and set(map(type, chain.from_iterable(names))) <= {str}:
            return names
    except (KeyError, TypeError, IndexError):
        pass
    raise _mistake(document)


def _pixels(document: Json, things: list[Any]) -> NDArray[np.float64]:
    try:
        flat = list(chain.from_iterable(map(itemgetter("x", "y", "w", "h"), things)))
        if set(map(type, flat)) <= {int, float}:
            return floats(flat).reshape(-1, 4)
    except KeyError:
        pass
    raise _mistake(document)


def _mistake(document: Json) -> TrilabelError:
    """The error about the first invalid object."""
    try:
        for _, record in document.items():
            for _, thing in record.item("objects").items():
                list(thing.item("names").items(str))
                for key in ("x", "y", "w", "h"):
                    thing.get(key, float)
    except TrilabelError as error:
        return error
    return document.error_at("has an object without names and a box; correct it")
