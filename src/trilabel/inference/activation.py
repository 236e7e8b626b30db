"""Class activation maps of images, and the images to overlay them on."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import ExifTags
from torch import Tensor
from torch.nn import functional as F

from trilabel.data.decode import decode, open_image

_LONGEST = 512  # pixels of the longer side of a displayed image
_SIDEWAYS = (5, 6, 7, 8)  # EXIF orientations that exchange width and height


class ClassActivation(NamedTuple):
    """An image with its probabilities and class activation maps."""

    id: str
    image: NDArray[np.uint8]  # H×W×3, from `display_image`
    probabilities: NDArray[np.float32]  # C
    maps: NDArray[np.float32]  # C×h×w cells that cover the whole image: the higher, the more evidence for the class


def display_image(image: Tensor | str) -> NDArray[np.uint8]:
    """An image (3×H×W uint8) or image file for display: H×W×3, its longer side at most 512 pixels.

    It keeps its proportions, whereas models are given images squashed to a square.
    """
    if isinstance(image, Tensor):
        height, width = image.shape[1:]
    else:
        height, width = _upright_size(image)
        image = decode(image, min(_LONGEST, max(height, width)))
    scale = min(1.0, _LONGEST / max(height, width))
    size = [max(1, round(scale * side)) for side in (height, width)]
    if list(image.shape[1:]) != size:
        smooth = F.interpolate(image[None].float(), size, mode="bilinear", antialias=True)[0]
        image = smooth.round().clamp(0, 255).to(torch.uint8)
    pixels: NDArray[np.uint8] = image.permute(1, 2, 0).cpu().numpy()
    return pixels


def _upright_size(path: str) -> tuple[int, int]:
    """(height, width) of an image file after it is turned upright, as `decode` does."""
    with open_image(path) as file:
        width, height = file.size
        try:
            sideways = file.getexif().get(ExifTags.Base.Orientation) in _SIDEWAYS
        except Exception:  # damaged EXIF data: `decode` does not turn such an image either
            sideways = False
    return (width, height) if sideways else (height, width)
