"""One image file: decoding it to a tensor, and checking without decoding whether it is complete.

Resizing squashes to a square, as the papers do.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.PpmImagePlugin import PpmImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from trilabel.archives import has_row
from trilabel.data.gray_levels import has_more_than_8_bits, to_8_bit
from trilabel.data.heif import HOW_TO_READ, can_read_heif, is_heif, open_heif
from trilabel.data.image_paths import is_url
from trilabel.errors import TrilabelError
from trilabel.input_files import IMAGE_BYTES, IMAGE_PIXELS, limit, open_input, too_much
from trilabel.log import track

if TYPE_CHECKING:
    from torch import Tensor

_KINDS = (JpegImageFile, PngImageFile, WebPImageFile, BmpImageFile, GifImageFile, TiffImageFile, PpmImageFile)
ImageError = tuple[int, str]  # position of the image, and what is wrong with it
MISSING = "no such image"
_TURNS = {  # the operation that makes an image upright, by the orientation that the camera recorded
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@contextmanager
def open_image(path: str | Path) -> Iterator[Image.Image]:
    """Opens an image file to see its size or to decode it; refuses what is no regular file, or too large."""
    most = limit(IMAGE_PIXELS)
    with open_input(path, IMAGE_BYTES) as opened, _identified(path, opened) as file:
        if file.width * file.height > most:
            what = f"{file.width:,} × {file.height:,} pixels"
            raise TrilabelError(f"{path}: {too_much(what, most, IMAGE_PIXELS)}")
        yield file


def _identified(path: str | Path, file: BinaryIO) -> Image.Image:
    """`Image.open` for our kinds of images: others may start programs, as EPS does.

    Its limit of pixels holds for the whole program, and so would a change of it: hence without.
    """
    start = file.read(16)
    if is_heif(start):
        if not can_read_heif():
            raise TrilabelError(f"{path}: a HEIC image; {HOW_TO_READ}")
        file.seek(0)
        return open_heif(file)
    for kind in _KINDS:
        make, accepts = Image.OPEN[kind.format]  # JPEG makes the images of some phones, too, which are another kind
        accepted = accepts is None or accepts(start)
        if not accepted or isinstance(accepted, str):  # a text says that this Pillow was made without the kind
            continue
        file.seek(0)
        try:
            return make(file, "")
        except (SyntaxError, IndexError, TypeError, struct.error):  # damaged, or of another kind after all
            continue
        except Image.DecompressionBombError:
            raise TrilabelError(
                f"{path}: more pixels than Pillow allows; if you trust it, set PIL.Image.MAX_IMAGE_PIXELS to more"
            ) from None
    raise UnidentifiedImageError


def decode(path: str | Path, size: int) -> "Tensor":
    """The image file as a 3×size×size uint8 tensor, upright and RGB; raises a TrilabelError if it is not an image."""
    import torch

    with _upright_rgb(path, size) as image:
        small = image.resize((size, size), Image.Resampling.BILINEAR, reducing_gap=3.0)
    return torch.from_numpy(np.array(small)).permute(2, 0, 1)


def thumbnail(path: str | Path, longest: int) -> Image.Image:
    """The image file, upright and RGB, its longer side at most so many pixels; raises a TrilabelError as `decode`."""
    with _upright_rgb(path, longest) as image:
        image.thumbnail((longest, longest), Image.Resampling.BILINEAR, reducing_gap=3.0)
        return image


@contextmanager
def _upright_rgb(path: str | Path, size: int) -> Iterator[Image.Image]:
    """The image, at least of this size if it has it; errors inside are told as those of the file."""
    try:
        with open_image(path) as file:
            file.draft("RGB", (size, size))  # JPEG can be decoded at half or quarter scale for less
            file.load()
            image = _upright(file, to_8_bit(file) if has_more_than_8_bits(file) else file)
            if image.mode == "P" and "transparency" in image.info:
                image = image.convert("RGBA")  # same colors in the end, but PIL warns about a direct conversion
            yield image.convert("RGB")
    except TrilabelError:
        raise
    except FileNotFoundError:
        raise TrilabelError(missing_image(path)) from None
    except UnidentifiedImageError:
        raise TrilabelError(f"{path}: broken image (no kind of image that can be read)") from None
    except Exception as error:  # PIL raises a dozen kinds of errors for damaged bytes
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TrilabelError(f"{path}: broken image ({reason})") from None


def missing_image(path: str | Path) -> str:
    """What to say of an image without a file."""
    return f"{path}: {MISSING}{' here; pass --fetch to fetch it' if is_url(str(path)) else ''}"


def _upright(file: Image.Image, image: Image.Image) -> Image.Image:
    """The image, turned as the camera that wrote the file recorded."""
    try:
        turn = _TURNS.get(file.getexif().get(ExifTags.Base.Orientation) or 1)
    except Exception:  # a damaged orientation is no reason to lose the image
        return image
    return image if turn is None else image.transpose(turn)


def check_image(path: str) -> str | None:
    """What is wrong with an image file, judged by its first and last bytes; None if it seems complete.

    Only a file without a proper end is decoded: cameras append all sorts of data to an image. One in a Parquet file is
    not even opened: unpacking all of them would take as long as an epoch.
    """
    if (is_there := has_row(path)) is not None:
        return None if is_there else missing_image(path)
    try:
        with open_input(path, IMAGE_BYTES) as file:
            head = file.read(16)
            size = file.seek(0, os.SEEK_END)
            file.seek(-min(64, size), os.SEEK_END)
            tail = file.read()
    except FileNotFoundError:
        return missing_image(path)
    except TrilabelError as error:
        return str(error)
    except OSError as error:
        return f"{path}: cannot be read ({error.strerror})"
    if size == 0:
        return f"{path}: broken image (empty file)"
    doubtful = (
        (head.startswith(b"\xff\xd8") and b"\xff\xd9" not in tail)
        or (head.startswith(b"\x89PNG") and b"IEND" not in tail)
        or (head.startswith(b"RIFF") and int.from_bytes(head[4:8], "little") + 8 > size)
    )
    if doubtful:
        try:
            decode(path, 8)
        except TrilabelError as error:
            return str(error)
    return None


def validate_images(paths: Sequence[str], shown: bool = True) -> list[ImageError]:
    """Missing, empty and truncated files among `paths`, found without decoding any."""
    with ThreadPoolExecutor(16) as pool:
        parts = (paths[start : start + 10_000] for start in range(0, len(paths), 10_000))  # map would queue them all
        messages = (message for part in parts for message in pool.map(check_image, part))
        checked = track(messages, "checking image files", len(paths), shown)
        return [(position, message) for position, message in enumerate(checked) if message]


def resized(images: "Tensor", size: int) -> "Tensor":
    """N×3×H×W uint8 -> N×3×size×size uint8, as `decode` would have made them."""
    import torch
    from torch.nn import functional as F

    if images.shape[-2:] == (size, size):
        return images

    def part_resized(part: "Tensor") -> "Tensor":  # small again at once: floats of all images take four times as much
        floats = F.interpolate(part.float(), (size, size), mode="bilinear", antialias=True)
        return floats.round().clamp(0, 255).to(torch.uint8)

    return torch.cat([part_resized(part) for part in torch.split(images, 256)])
