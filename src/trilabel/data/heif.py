"""HEIC, the format of phones: read where the package `pillow-heif` is installed, otherwise named with what to do."""

from importlib import import_module
from importlib.util import find_spec
from typing import BinaryIO

from PIL import Image

HEIF_EXTENSIONS = (".heic", ".heif")
HOW_TO_READ = "install what reads it (pip install pillow-heif), or convert it to JPEG"
_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1")


def can_read_heif() -> bool:
    """Whether the package that reads such images is installed."""
    return find_spec("pillow_heif") is not None


def is_heif(start: bytes) -> bool:
    """Whether a file begins as such an image does."""
    return start[4:8] == b"ftyp" and start[8:12] in _BRANDS


def open_heif(file: BinaryIO) -> Image.Image:
    """The image in an open file; the package turns it upright itself."""
    image: Image.Image = import_module("pillow_heif").HeifImageFile(file, "")
    return image
