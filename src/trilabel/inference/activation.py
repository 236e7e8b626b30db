"""Class activation maps of images, and the images to overlay them on."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import ExifTags
from torch import Tensor
from torch.nn import functional as F

from trilabel.data.decode import decode, open_image
from trilabel.errors import TrilabelError
from trilabel.inference.arrays import resize_all
from trilabel.inference.opened import DIVERGED, Options
from trilabel.log import log

if TYPE_CHECKING:
    from trilabel.inference.predictor import Model

_LONGEST = 512  # pixels of the longer side of a displayed image
_SIDEWAYS = (5, 6, 7, 8)  # EXIF orientations that exchange width and height


class ClassActivation(NamedTuple):
    """An image with its probabilities and class activation maps."""

    id: str
    image: NDArray[np.uint8]  # H×W×3, from `display_image`
    probabilities: NDArray[np.float32]  # C
    maps: NDArray[np.float32]  # C×h×w cells that cover the whole image: the higher, the more evidence for the class


def activations(
    model: "Model",
    ids: Sequence[str],
    arrays: Sequence[Tensor] | None,
    paths: Sequence[str] | None,
    options: Options,
) -> Iterator[ClassActivation]:
    """Image by image; they are `arrays` (3×H×W uint8, of any sizes) or `paths`. Those left out are logged."""
    originals = arrays if arrays is not None else paths or ()
    opened = model.open(None if arrays is None else resize_all(arrays, model.image_size), paths, options)
    for _, message in opened.errors:
        log.warning(f"left out: {message}")
    for batch, output in opened.scorer.outputs(opened.source, class_maps=True):
        for _, message in batch.failed:
            log.warning(f"left out: {message}")
        if output is None or output.maps is None:
            continue
        chances = model.calibrate(output.logits.float()).sigmoid()
        probabilities, maps = (part.float().cpu().numpy() for part in (chances, output.maps))
        positions = opened.positions[batch.positions].tolist()
        for position, of_image, maps_of_image in zip(positions, probabilities, maps, strict=True):
            if np.isnan(of_image).any() or not np.isfinite(maps_of_image).all():
                raise TrilabelError(
                    f"{model.name}: gives class maps or scores that are not finite for image {ids[position]!r}; "
                    f"{DIVERGED}"
                )
            yield ClassActivation(ids[position], display_image(originals[position]), of_image, maps_of_image)


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
