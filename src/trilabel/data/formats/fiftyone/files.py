"""The contents of FiftyOne's labels.json and samples.json, image by image."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

from trilabel.data.formats._shared.assemble import numbers_first
from trilabel.data.formats._shared.json_document import Json
from trilabel.data.image_paths import split_name
from trilabel.errors import TrilabelError

# The kinds of labels, and the key of the list of several labels.
_KINDS = dict.fromkeys(("Classification", "Detection", "Polyline", "Keypoint"), "")
_KINDS |= {f"{kind}s": f"{kind.lower()}s" for kind in _KINDS}


@dataclass
class Samples:
    """What was read so far; rows are images."""

    classes: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)
    labeled: list[int] = field(default_factory=list)
    labels: list[tuple[int, str]] = field(default_factory=list)
    boxes: list[tuple[int, str, tuple[float, float, float, float]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @cached_property
    def declared(self) -> set[str]:
        """The classes, to look up names."""
        return set(self.classes)

    def all_classes(self) -> list[str]:
        """The declared classes, then those that were used without being declared, in order."""
        return [*self.classes, *sorted({name for _, name in self.labels} - set(self.classes), key=numbers_first)]

    def add(self, name: str, box: Any, where: Json, *inside: str | int) -> None:
        """A label of the last image, with its box [x, y, width, height] as shares of the image, where it has one."""
        row = len(self.names) - 1
        self.labels.append((row, name))
        if box is None:
            return
        good = type(box) is list and len(box) == 4 and all(type(n) in (int, float) and abs(n) < 1e9 for n in box)
        if not good or not all(map(isfinite, box)):
            raise where.error_at("is not [x, y, width, height] as shares of the image", *inside, "bounding_box")
        x, y, width, height = box
        self.boxes.append((row, name, (x, y, x + width, y + height)))


# ---- labels.json


def read_labels(document: Json, found: Samples) -> None:
    """Classifications or detections: {"classes": […], "labels": {image: its labels}}."""
    classes = found.classes = _names(document, "classes")
    labels = document.item("labels", dict)
    for image, target in labels.value.items():
        found.names.append(image)
        if target is None:
            continue
        found.labeled.append(len(found.names) - 1)
        for item, box, inside in _targets(target, (image,)):
            name = str(item) if type(item) is int and not classes and abs(item) < 1 << 63 else item
            if type(item) is int and 0 <= item < len(classes):
                name = classes[item]
            if type(name) is not str or (classes and name not in found.declared):
                only = f"one of the {len(classes)} classes" if classes else "the name or number of a class"
                raise labels.error_at(f"is not {only}; correct it", *inside)
            found.add(name, box, labels, *inside)
    if not classes and found.labels and all(name.isdigit() for _, name in found.labels):
        found.notes.append("classes are numbers: labels.json has no names for them")


def _targets(target: Any, inside: tuple[str | int, ...]) -> Iterator[tuple[Any, Any, tuple[str | int, ...]]]:
    """(class, box, path to it) of a target: a class, an object with a label, or a list of such."""
    if type(target) is list:
        for number, item in enumerate(target):
            if type(item) is not list:
                yield from _targets(item, (*inside, number))
            else:
                yield item, None, (*inside, number)
    elif type(target) is dict and type(target.get("label")) is list:
        for number, item in enumerate(target["label"]):
            yield item, None, (*inside, "label", number)
    elif type(target) is dict:
        yield target.get("label"), target.get("bounding_box"), inside
    else:
        yield target, None, inside


# ---- samples.json


def read_samples(document: Json, field: str | None, found: Samples) -> None:
    """A whole data set: {"samples": [{"filepath": …, "tags": […], field: its labels}]}."""
    samples = document.item("samples")
    fields = dict.fromkeys(name for _, sample in samples.items() for name in sample.value if _kind(sample.value[name]))
    if field is None and len(fields) == 1:
        field = next(iter(fields))
    if field not in fields:
        which = (
            f"no labels called {field!r}"
            if field is not None
            else "labels in several fields"
            if fields
            else "no labels"
        )
        choice = f"; pass field=NAME, one of {', '.join(fields)}" if fields else "; export them with label fields"
        raise TrilabelError(f"{document.file}: samples have {which}{choice}")
    found.classes = _declared(document.file.with_name("metadata.json"), str(field))
    nameless = torn = 0
    for row, sample in samples.items():
        found.names.append(sample.get("filepath", str))
        if sample.get("_media_type", str, "image") != "image":
            raise sample.error_at("is not an image; export only images", "_media_type")
        tags = {split_name(tag) for tag in sample.get("tags", list, []) if type(tag) is str} & {"train", "val", "test"}
        torn += len(tags) > 1
        found.splits.append(tags.pop() if len(tags) == 1 else "")
        value = sample.value.get(field)
        if value is None:
            continue
        if not (kind := _kind(value)):
            raise sample.error_at(f"is not one of {', '.join(_KINDS)}", str(field))
        found.labeled.append(row)
        for item in _items(sample, str(field), _KINDS[kind]):
            name = item.get("label", str, "")
            nameless += not name
            if name:
                found.add(name, item.value.get("bounding_box"), item)
    if len(fields) > 1:
        found.notes.append(f"labels are those of field {field}; left out: {', '.join(f for f in fields if f != field)}")
    found.notes += [f"{nameless} labels have no name and are left out"] if nameless else []
    found.notes += [f"{torn} images have tags of several splits and are in no split"] if torn else []


def _kind(value: Any) -> str:
    """The kind of labels that this is; "" for anything else."""
    kind = value.get("_cls") if type(value) is dict else None
    return kind if type(kind) is str and kind in _KINDS else ""


def _items(sample: Json, field: str, inside: str) -> Iterator[Json]:
    """Each label of a field, of which there may be one or several."""
    value = sample.item(field, dict)
    if not inside:
        yield value
        return
    for _, item in value.item(inside, list, []).items():
        yield item


def _declared(file: Path, field: str) -> list[str]:
    """The classes that metadata.json, where there is one, has for a field."""
    if not file.exists():
        return []
    document = Json.read(file)
    by_field = document.item("classes", dict, {})
    return _names(by_field, field) or _names(document, "default_classes")


def _names(document: Json, key: str) -> list[str]:
    names = document.item(key, list, [])
    return [names.get(number, str) for number in range(len(names.value))]
