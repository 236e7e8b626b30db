"""Grays of more than 8 bits as 8-bit grays.

An image is scaled by the range of its file, never by its own brightest pixel: two photographs of one scene with
different exposures must stay different, and a dark one must stay dark. The range of 16-bit files is known. That of
floats and of 32-bit numbers is not: it is the first of the usual ranges that the image does not exceed by far, and
what is above it is white. The ranges are so far apart that an image which seems to have a smaller one is nearly black.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_FLOAT_RANGES = (1.0, 255.0, 65535.0)
_BITS, _SAMPLE_FORMAT = 258, 339  # tags of TIFF
_SIGNED = 2
_OVERSHOOT = 2.0  # sharpening and resampling leave some pixels above white


def has_more_than_8_bits(image: Image.Image) -> bool:
    """Whether Pillow would clip these grays to white."""
    return image.mode.startswith(("I", "F"))


def to_8_bit(file: Image.Image) -> Image.Image:
    """An opened image of such grays, scaled to 0 … 255; pixels that are not finite become black."""
    values: NDArray[Any] = np.array(file)
    if file.mode == "F":
        values[~np.isfinite(values)] = 0
        top = _usual_range(values, _FLOAT_RANGES)
    else:
        values, top = _whole_numbers(file, values)
    scaled = values.astype(np.float32, copy=False)
    scaled *= np.float32(255 / top)
    np.rint(scaled, out=scaled)
    np.clip(scaled, 0, 255, out=scaled)
    return Image.fromarray(scaled.astype(np.uint8))


def _whole_numbers(file: Image.Image, values: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """The values, and the largest that the file can hold."""
    tags = getattr(file, "tag_v2", {})
    bits = int(tags.get(_BITS, (16 if file.mode.startswith("I;16") else 32,))[0])
    signed = tags.get(_SAMPLE_FORMAT, (1,))[0] == _SIGNED
    if bits <= 16:
        return values, 2.0 ** (bits - signed) - 1
    if tags and not signed:
        values = values.view(np.uint32)  # Pillow takes them for signed numbers
    return values, _usual_range(values, (65535.0, 2.0 ** (32 - signed) - 1))


def _usual_range(values: NDArray[Any], ranges: tuple[float, ...]) -> float:
    highest = float(values.max(initial=0)) / _OVERSHOOT
    return next((top for top in ranges if highest <= top), ranges[-1])
