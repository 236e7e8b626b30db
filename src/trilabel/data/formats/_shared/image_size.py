"""Sizes of image files, for formats with boxes in pixels."""

from PIL import ExifTags

from trilabel.data.decode import open_image

_LYING = (5, 6, 7, 8)  # EXIF orientations that exchange width and height


def upright_size(path: str) -> tuple[int, int] | None:
    """Width and height of an image, upright; None if it cannot be read."""
    try:
        with open_image(path) as file:
            width, height = file.size
            lying = file.getexif().get(ExifTags.Base.Orientation) in _LYING
    except Exception:  # PIL raises a dozen kinds of errors for damaged bytes
        return None
    return (height, width) if lying else (width, height)
