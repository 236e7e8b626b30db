"""Small pictures inside a page, and class activation maps to lay over them. Their number and size are bounded."""

import base64
import io
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.inference.activation import display_image
from trilabel.labels.names import Names
from trilabel.log import track
from trilabel.report.page.blocks import Picture

_LONGEST = 288  # pixels of the longer side
_LONGEST_MAP = 72
_OPACITY = 0.8  # of a map where the evidence is strongest


def pictures_of(dataset: Dataset, ids: Iterable[str]) -> dict[str, Picture]:
    """Small pictures of images, by id; without those that the data set does not have, or that cannot be read."""
    wanted = list(dict.fromkeys(ids))
    rows = Names(dataset.ids).positions(Names(wanted)) if wanted else np.zeros(0, np.int64)
    images, paths = dataset.images_of(rows[rows >= 0])
    sources = list(images) if images is not None else list(paths or ())
    there = [name for name, row in zip(wanted, rows.tolist(), strict=True) if row >= 0]
    found = {}
    for name, source in track(zip(there, sources, strict=True), "making small pictures", len(there)):
        try:
            found[name] = picture(display_image(source))
        except (TrilabelError, OSError):  # missing or broken: its card says so by having no picture
            continue
    return found


def picture(pixels: NDArray[np.uint8]) -> Picture:
    """H×W×3 as a small WebP."""
    image = Image.fromarray(pixels)
    image.thumbnail((_LONGEST, _LONGEST))
    return Picture(_uri(image, quality=72, method=4), *image.size)


def overlay(heat: NDArray[np.float64]) -> str:
    """h×w evidence in [0, 1] as a picture to lay over an image: the stronger, the brighter and the less transparent."""
    from matplotlib import colormaps

    colors = (255 * colormaps["inferno"](0.25 + 0.75 * heat)).round().astype(np.uint8)
    colors[..., 3] = (255 * _OPACITY * heat).round().astype(np.uint8)
    return _uri(Image.fromarray(colors), quality=60, method=4)


def map_size(height: int, width: int) -> tuple[int, int]:
    """(height, width) in which the map of an image of these sides is drawn."""
    scale = _LONGEST_MAP / max(height, width)
    return max(1, round(scale * height)), max(1, round(scale * width))


def _uri(image: Image.Image, **options: int) -> str:
    file = io.BytesIO()
    image.save(file, "WEBP", **options)
    return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"
