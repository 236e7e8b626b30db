"""Images as arrays of any common layout -> uint8 tensors; errors name the number of the image."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.data.images import resized
from trilabel.errors import TrilabelError


def arrays_to_images(images: Any, size: int) -> Tensor:
    """N×H×W×3, N×3×H×W or a sequence of H×W×3, uint8 or float in [0, 1] -> N×3×size×size uint8.

    >>> arrays_to_images(np.ones((5, 40, 30, 3)), 16).shape
    torch.Size([5, 3, 16, 16])
    """
    return resize_all(separate(images), size) if isinstance(images, Sequence) else resized(_to_uint8(images, 0), size)


def separate(images: Any) -> Iterator[Tensor]:
    """The same images one by one in their own sizes, each 3×H×W uint8."""
    if isinstance(images, Sequence):
        return (_to_uint8(_to_array(image, number)[None], number)[0] for number, image in enumerate(images))
    return iter(_to_uint8(images, 0))


def resize_all(images: Iterable[Tensor], size: int) -> Tensor:
    """3×H×W uint8 images of any sizes -> N×3×size×size uint8."""
    none = torch.zeros((0, 3, size, size), dtype=torch.uint8)
    return torch.cat([none, *(resized(image[None], size) for image in images)])


def _to_uint8(images: Any, first: int) -> Tensor:
    """An array of images -> N×3×H×W uint8; `first` is the number of the first one in messages."""
    batch = images if isinstance(images, Tensor) else torch.from_numpy(_to_array(images, first))
    if batch.ndim == 4 and batch.shape[1] != 3 and batch.shape[3] == 3:
        batch = batch.permute(0, 3, 1, 2)
    if batch.ndim != 4 or batch.shape[1] != 3:
        raise TrilabelError(
            f"image array {first}: images must be N×H×W×3 or N×3×H×W, or a list of H×W×3, not {tuple(batch.shape)}"
        )
    if not batch.shape[2] or not batch.shape[3]:
        raise TrilabelError(f"image array {first}: no pixels in {tuple(batch.shape)}")
    if batch.is_floating_point():
        bad = ~torch.isfinite(batch).flatten(1).all(1) | (batch.flatten(1).amin(1) < 0) | (batch.flatten(1).amax(1) > 1)
        if bad.any():
            number = first + int(bad.nonzero()[0])
            raise TrilabelError(
                f"image array {number}: float images must be finite and in [0, 1]; pass uint8 for 0…255"
            )
        batch = (batch * 255).round().to(torch.uint8)
    if batch.dtype != torch.uint8:
        raise TrilabelError(f"image array {first}: images must be uint8 or float in [0, 1], not {batch.dtype}")
    return batch


def _to_array(image: Any, number: int) -> NDArray[Any]:
    try:
        # torch refuses views with negative strides, such as BGR reversed to RGB, and warns of read-only arrays
        array: NDArray[Any] = np.require(image, requirements=["C", "W"])
    except (TypeError, ValueError) as error:
        raise TrilabelError(f"image array {number}: not an array ({error})") from error
    if array.dtype.kind not in "buif" or array.dtype.itemsize > 8:
        raise TrilabelError(f"image array {number}: images must be uint8 or float in [0, 1], not {array.dtype}")
    return array
