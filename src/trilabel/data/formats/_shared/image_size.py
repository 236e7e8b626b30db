"""Sizes of image files, for formats with boxes in pixels."""

from collections.abc import Mapping

from PIL import ExifTags

from trilabel.data.dataset import Dataset
from trilabel.data.decode import open_image
from trilabel.log import track

_LYING = (5, 6, 7, 8)  # EXIF orientations that exchange width and height
Sizes = Mapping[int, tuple[int, int]]  # width and height of images, by row


def upright_size(path: str) -> tuple[int, int] | None:
    """Width and height of an image, upright; None if it cannot be read."""
    try:
        with open_image(path) as file:
            width, height = file.size
            lying = file.getexif().get(ExifTags.Base.Orientation) in _LYING
    except Exception:  # PIL raises a dozen kinds of errors for damaged bytes
        return None
    return (height, width) if lying else (width, height)


def image_sizes(dataset: Dataset, notes: list[str]) -> Sizes:
    """The sizes of all images that can be read; `notes` gets one on the others."""
    found = {
        row: size
        for row in track(range(len(dataset)), "sizes of images", len(dataset))
        if (size := _size(dataset, row)) is not None
    }
    if lost := len(dataset) - len(found):
        notes.append(f"width and height of {lost} images are not written, as their files cannot be read")
    return found


def _size(dataset: Dataset, row: int) -> tuple[int, int] | None:
    if dataset.images is not None:
        return int(dataset.images.shape[3]), int(dataset.images.shape[2])
    return upright_size((dataset.paths or ())[row])
