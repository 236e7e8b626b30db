"""The labels in a file of OpenMMLab."""

from collections.abc import Iterator

from trilabel.data.formats._shared.assemble import Box, Entry, numbers_first
from trilabel.data.formats._shared.json_document import Json
from trilabel.data.formats._shared.pixel_boxes import floats, shares


class ListedLabels:
    """The labels of all images."""

    def __init__(self, classes: list[str]) -> None:
        self.classes = classes
        self.pairs: list[tuple[int, int]] = []
        self.boxes: list[Box] = []
        self.labeled: list[int] = []
        self.boxless = self.ignored = 0

    def names(self) -> list[str]:
        """The classes, or their numbers."""
        used = {str(number) for _, number in self.pairs}
        return self.classes or sorted(used, key=numbers_first)

    def entries(self, names: list[str]) -> Iterator[Entry]:
        """(image, class, 1) of each label."""
        column = {name: place for place, name in enumerate(names)}
        return ((row, number if self.classes else column[str(number)], 1) for row, number in self.pairs)

    def add(self, row: int, record: Json) -> None:
        """Adds the labels of an image: numbers in gt_label, or the objects in instances."""
        if record.value.get("gt_label") is not None:
            self.labeled.append(row)
            given = record.value["gt_label"]
            values = record.item("gt_label") if isinstance(given, list) else record
            for key in range(len(given)) if isinstance(given, list) else ("gt_label",):
                self.pairs.append((row, self._number(values, key)))
        if record.value.get("instances") is not None:
            self.labeled += [row] if row not in self.labeled[-1:] else []
            for _, thing in record.item("instances").items():
                self._add_object(row, record, thing)

    def _add_object(self, row: int, record: Json, thing: Json) -> None:
        if thing.value.get("ignore_flag"):
            self.ignored += 1
            return
        number = self._number(thing, "bbox_label")
        self.pairs.append((row, number))
        corners = thing.item("bbox", list, [0, 0, 0, 0])
        numbers = [corners.get(place, float) for place in range(len(corners.value))]
        if len(numbers) != 4:
            raise thing.error_at("is not [left, top, right, bottom] in pixels", "bbox")
        left, top, right, bottom = numbers
        sizes = floats([record.get(key, float, 0.0) for key in ("width", "height")])
        found, usable = shares(floats([left, top, right - left, bottom - top])[None], sizes[None])
        if usable[0] and self.classes:
            self.boxes.append((row, number, *found[0].tolist()))
        else:
            self.boxless += 1

    def _number(self, where: Json, key: str | int) -> int:
        number = where.get(key, int)
        if not 0 <= number < (len(self.classes) or 1_000_000):
            raise where.error_at(f"is {number}, but metainfo names {len(self.classes)} classes", key)
        return number
