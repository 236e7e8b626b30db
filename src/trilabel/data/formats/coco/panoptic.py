"""Panoptic annotations of COCO: an annotation for each image, with a list of segments."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from trilabel.data.formats._shared.json_document import Json, error_at
from trilabel.errors import TrilabelError


class Segments(Json):
    """The segments of all images in one list, as if they were annotations of their own; errors name their place."""

    __slots__ = ("places",)

    def __init__(self, annotations: Json) -> None:
        lists = [one.item("segments_info") for _, one in annotations.items()]
        self.places = [(image, number) for image, one in enumerate(lists) for number in range(len(one.value))]
        segments = chain.from_iterable([segment.value for _, segment in one.items()] for one in lists)
        images = [annotations.value[image].get("image_id") for image, _ in self.places]
        records = [{**segment, "image_id": image} for segment, image in zip(segments, images, strict=True)]
        super().__init__(annotations.file, records, annotations.path)

    def items(self, kind: type = dict) -> Iterator[tuple[Any, Any]]:
        """(number, segment) of all segments."""
        for number, ((image, place), segment) in enumerate(zip(self.places, self.value, strict=True)):
            yield number, Json(self.file, segment, (*self.path, image, "segments_info", place))

    def error_at(self, what: str, *inside: str | int) -> TrilabelError:
        """An error about a segment, or about the image that it is in."""
        image, number = self.places[int(inside[0])]
        place = (image,) if "image_id" in inside else (image, "segments_info", number)
        return error_at(self.file, (*self.path, *place, *inside[1:]), what)


def annotations_of(document: Json) -> Json:
    """The annotations of a file; of a panoptic one its segments."""
    annotations = document.item("annotations")
    first: Any = next(iter(annotations.value), None)
    return Segments(annotations) if isinstance(first, dict) and "segments_info" in first else annotations
