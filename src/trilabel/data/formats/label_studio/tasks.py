"""Exports of Label Studio, in full (JSON) or flat (JSON-MIN, CSV): tasks, and their annotations."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trilabel.data.formats._shared.json_document import Json
from trilabel.data.formats.label_studio.images import address_of

FieldChoice = tuple[str, str]  # field ("" for a region: what it shows does not depend on the field), text of the choice
Corners = tuple[float, float, float, float]
Result = tuple[str, str, Json, Json]  # field, type, value, where the size of the image is

_BESIDE = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history"}
_BESIDE |= {"split", "trilabel_id", "trilabel_classes"}
_FAR = 1e6  # nothing larger, in percent or pixels, can have been drawn


@dataclass
class Task:
    """An image and the labels of each of its annotators: (class, +1 or −1)."""

    place: Json
    data: Json
    image: str
    annotations: list[set[tuple[FieldChoice, int]]]
    boxes: list[tuple[FieldChoice, Corners]]
    skipped: bool = False


class Export:
    """All tasks of an export, their labelled fields, which of these contain texts, and which results were not used."""

    def __init__(self, records: Iterable[Json], field: str | None) -> None:
        self.fields: Counter[str] = Counter()
        self.texts: dict[str, None] = {}  # in order
        self.others: Counter[str] = Counter()
        self._field = field
        tasks: dict[str, Task] = {}
        for number, record in enumerate(records):
            full, data = _data(record)
            image = address_of(data)
            # In JSON-MIN every annotator of a task has a record of their own.
            key = f"{number}" if full else f"id {record.value.get('id', image)}"
            task = tasks.setdefault(key, Task(record, data, image, [], []))
            if task.image != image:
                before = "".join(f"[{part}]" for part in task.place.path)
                raise data.error_at(f"has the id of {before} but another image; correct one of them")
            for results in _annotations(record, task) if full else [_flat(record, image, self.texts)]:
                task.annotations.append(set(self._said(results, task)))
        self.tasks, self.repeated = _joined(tasks.values())

    def _said(self, results: Iterable[Result], task: Task) -> Iterator[tuple[FieldChoice, int]]:
        for name, kind, value, sizes in results:
            if not _is_label(kind) or kind not in value.value:
                self.others[kind] += 1
                continue
            field = "present" if name == "absent" else name
            self.fields[field] += 1
            if self._field in (None, field):
                region = kind.endswith("labels")
                for text in _texts(value.item(kind), kind):
                    this = ("" if region else field, text)
                    yield this, -1 if name == "absent" else 1
                    if kind == "rectanglelabels" or (kind == "labels" and "height" in value.value):
                        task.boxes.append((this, _box(value, sizes)))


def _data(record: Json) -> tuple[bool, Json]:
    """Whether a record is a task in full (or an annotation with its task, as in cloud storage), and the task's data."""
    if "result" in record.value and isinstance(record.value.get("task"), dict):
        return True, record.item("task", dict).item("data", dict)
    full = "annotations" in record.value or isinstance(record.value.get("data"), dict)
    return full, record.item("data", dict) if full else record


def _joined(tasks: Iterable[Task]) -> tuple[list[Task], int]:
    """One task for each image, and how many others there were: their annotators count as further ones of the image."""
    first: dict[str, Task] = {}
    repeated = 0
    for task in tasks:
        if (before := first.setdefault(task.image, task)) is not task:
            before.annotations += task.annotations
            before.boxes += task.boxes
            before.skipped |= task.skipped
            repeated += 1
    return list(first.values()), repeated


def _is_label(kind: str) -> bool:
    return kind in ("choices", "taxonomy") or kind.endswith("labels")


def _annotations(record: Json, task: Task) -> Iterator[Iterator[Result]]:
    """The results of each annotation that counts."""
    key = "annotations" if "annotations" in record.value else "completions"  # as they were called until 2021
    done = []
    given = [record] if "task" in record.value and "result" in record.value else None
    for one in given or [one for _, one in record.item(key, list, []).items()]:
        if one.get("was_cancelled", bool, False) or one.get("skipped", bool, False):
            task.skipped = True
        else:
            done.append(one)
    for one in [one for one in done if one.get("ground_truth", bool, False)] or done:
        yield (
            (result.get("from_name", str, ""), result.get("type", str), result.item("value", dict, {}), result)
            for _, result in one.item("result").items()
        )


def _flat(record: Json, image: str, texts: dict[str, None]) -> Iterator[Result]:
    """The results of a record of JSON-MIN: its fields are between the id of the task and the annotator.

    A text may be a choice or typed; `texts` collects the fields that contain texts.
    """
    keys = list(record.value)
    start, end = (keys.index(key) if key in keys else -1 for key in ("id", "annotator"))
    for key in keys[start + 1 : end] if -1 < start < end else keys:
        found = record.value[key]
        if key in _BESIDE or found is None or found == image:
            continue
        for number, value in enumerate(found if isinstance(found, list) else [found]):
            inside = (key, number) if isinstance(found, list) else (key,)
            if isinstance(value, str):
                texts[key] = None
                value = {"choices": [value]}
            kinds = [kind for kind in value if _is_label(kind)] if isinstance(value, dict) else []
            for kind in kinds or [key]:
                place = type(record)(record.file, value if kinds else {}, (*record.path, *inside))
                yield key, kind, place, place


def _texts(value: Json, kind: str) -> Iterator[str]:
    """The classes that a result names; for a choice in a taxonomy, its path and the paths of all choices above it."""
    for number in range(len(value.value)):
        if kind != "taxonomy":
            yield value.get(number, str)
            continue
        steps = value.item(number)
        path = [steps.get(step, str) for step in range(len(steps.value))]
        yield from ("/".join(path[: depth + 1]) for depth in range(len(path)))


def _box(value: Json, sizes: Json) -> Corners:
    """The upright box around a rectangle, which may be rotated about its upper left corner."""
    x, y, width, height = (_number(value, key) for key in ("x", "y", "width", "height"))
    if not (turn := math.radians(_number(value, "rotation", 0.0))):
        return x / 100, y / 100, (x + width) / 100, (y + height) / 100
    # Percent of the width are not percent of the height, so a rotation needs the shape of the image.
    wide, high = (_number(sizes, key, 1.0) for key in ("original_width", "original_height"))
    shape = wide / high if wide >= 1 and high >= 1 else 1.0
    cos, sin = math.cos(turn), math.sin(turn)
    xs = [x + a * width * cos - b * height * sin / shape for a in (0, 1) for b in (0, 1)]
    ys = [y + a * width * sin * shape + b * height * cos for a in (0, 1) for b in (0, 1)]
    return min(xs) / 100, min(ys) / 100, max(xs) / 100, max(ys) / 100


def _number(value: Json, key: str, default: float | None = None) -> float:
    found = value.get(key, float) if default is None else value.get(key, float, default)
    if not abs(found) <= _FAR:  # also NaN
        raise value.error_at(f"is {found!s:.40}, which is not a valid coordinate or size", key)
    return float(found)
