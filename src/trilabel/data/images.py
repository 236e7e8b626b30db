"""Images: from files to uint8 batches on the device, decoded at each pass or once and kept.

Resizing squashes to a square, as the papers do. Augmentation is not done here but on the batch, where it lies
(`views.py`), so the three kinds of cache give the same batches.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import ExifTags, Image
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader

from trilabel.errors import TrilabelError
from trilabel.log import progress, track

Cache = Literal["auto", "none", "memory", "device"]
ImageError = tuple[int, str]  # position, and what is wrong with the image there

_SHARE_OF_MEMORY = 0.4  # of what is free, that "auto" gives to decoded images
_FREE_WHERE_NOBODY_TELLS = 4 << 30  # bytes: macOS and Windows have no such number
_TURNS = {  # what makes an image upright, by the orientation that the camera noted
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


_MISSING = "no such image"

# ---- one image


def decode(path: str | Path, size: int) -> Tensor:
    """The image file as a 3×size×size uint8 tensor, upright and RGB; a TrilabelError names a file that is no image."""
    try:
        with Image.open(path) as file:
            file.draft("RGB", (size, size))  # JPEG can be decoded at half or quarter scale for less
            file.load()
            image = _upright(file)
            if image.mode.startswith(("I", "F")):  # 16-bit and float grays: PIL would clip them to white
                image = _to_8_bit(image)
            if image.mode == "P" and "transparency" in image.info:
                image = image.convert("RGBA")  # the same colors in the end, but PIL warns on the direct way
            small = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR, reducing_gap=3.0)
    except FileNotFoundError:
        raise TrilabelError(f"{path}: {_MISSING}") from None
    except Exception as error:  # PIL raises a dozen kinds when bytes are damaged
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TrilabelError(f"{path}: broken image ({reason})") from None
    return torch.from_numpy(np.array(small)).permute(2, 0, 1)


def _upright(image: Image.Image) -> Image.Image:
    try:
        turn = _TURNS.get(image.getexif().get(ExifTags.Base.Orientation) or 1)
    except Exception:  # a damaged note on how the camera was held is no reason to lose the image
        return image
    return image if turn is None else image.transpose(turn)


def _to_8_bit(image: Image.Image) -> Image.Image:
    values = np.asarray(image, np.float32)
    top = 65535.0 if values.max(initial=0) > 255 else 255.0
    return Image.fromarray((values * (255.0 / top)).clip(0, 255).astype(np.uint8))


def check_image(path: str) -> str | None:
    """What is wrong with an image file, as far as its first and last bytes tell; None where it looks whole.

    Only a file without a proper end is decoded: cameras write all sorts of things behind an image.
    """
    try:
        with Path(path).open("rb") as file:
            head = file.read(16)
            size = file.seek(0, os.SEEK_END)
            file.seek(-min(64, size), os.SEEK_END)
            tail = file.read()
    except FileNotFoundError:
        return f"{path}: {_MISSING}"
    except (OSError, ValueError) as error:
        return f"{path}: cannot be read ({getattr(error, 'strerror', error)})"
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
    """Missing, empty and cut-off files among `paths`, found without decoding any."""
    with ThreadPoolExecutor(16) as pool:
        parts = (paths[start : start + 10_000] for start in range(0, len(paths), 10_000))  # map would queue them all
        found = (wrong for part in parts for wrong in pool.map(check_image, part))
        results = track(found, "looking at image files", len(paths), shown)
        return [(position, wrong) for position, wrong in enumerate(results) if wrong]


# ---- many images


class ImageBatch(NamedTuple):
    """A batch as it comes from a source."""

    images: Tensor  # B×3×S×S uint8 on the device
    positions: NDArray[np.int64]  # B: which images of the source these are
    failed: list[ImageError]  # images that had to be left out


class ImageSource:
    """N images, by position, as batches on a device; see `open_images` for making one."""

    def __init__(self, store: "Tensor | Sequence[str]", size: int, device: torch.device, workers: int) -> None:
        """`store`: decoded images (N×3×S×S uint8) or features, in memory or on the device; or paths to decode from."""
        self.store = store
        self.size = size
        self.device = device
        self.workers = workers

    def __len__(self) -> int:
        return len(self.store)

    def batches(self, positions: Sequence[NDArray[np.int64]], skip_broken: bool = False) -> Iterator[ImageBatch]:
        """One batch for each array of positions. Images that fail are left out (`skip_broken`) or raise."""
        if isinstance(self.store, Tensor):
            for some in positions:
                index = torch.from_numpy(some).to(self.store.device, non_blocking=True)
                images = self.store[index]
                yield ImageBatch(to_device(images, self.device), some, [])
            return
        files = _Files(self.store, self.size)
        loader: DataLoader[Any] = DataLoader(
            files,
            batch_sampler=[some.tolist() for some in positions],
            num_workers=min(self.workers, len(positions)),
            collate_fn=_collate,
            pin_memory=self.device.type == "cuda",
        )
        for images, good, failed in loader:
            if not skip_broken:
                _stop_at(failed)
            yield ImageBatch(images.to(self.device, non_blocking=True), good.numpy(), failed)


def open_images(
    images: Tensor | None,
    paths: Sequence[str] | None,
    size: int,
    device: torch.device,
    cache: Cache = "auto",
    workers: int | None = None,
    broken: Literal["stop", "skip"] = "stop",
    shown: bool = True,
) -> tuple[ImageSource, list[ImageError]]:
    """A source over images in memory (N×3×H×W uint8) or in files, and which of them it had to leave out.

    Files are looked at before anything starts; with a cache they are also decoded. A missing or broken one raises
    (`broken` = "stop") or is left out of the source and listed with its position ("skip").
    """
    if images is not None:
        return _in_memory(images, size, device, cache), []
    if paths is None:
        raise TrilabelError("no images: neither paths nor image arrays were given")
    workers = min(16, os.cpu_count() or 1) if workers is None else workers
    trouble = validate_images(paths, shown)
    if len(paths) > 1 and sum(_MISSING in message for _, message in trouble) == len(paths):
        raise TrilabelError(
            f"{trouble[0][1]}, and no other of {len(paths)} images either; is --images the right folder?"
        )
    if broken == "stop":
        _stop_at(trouble)
    bad = {position for position, _ in trouble}
    good = [position for position in range(len(paths)) if position not in bad]
    source = ImageSource([paths[position] for position in good] if bad else paths, size, device, workers)
    kind = choose_cache(cache, len(good), size, device)
    if kind == "none":
        return source, trouble
    store, failed = _decode_all(source, device if kind == "device" else torch.device("cpu"), broken, shown)
    trouble += [(good[position], message) for position, message in failed]
    if failed:
        store = store[np.setdiff1d(np.arange(len(store)), [position for position, _ in failed])]
    return ImageSource(store, size, device, 0), sorted(trouble)


def _in_memory(images: Tensor, size: int, device: torch.device, cache: Cache) -> ImageSource:
    if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[1] != 3:
        raise TrilabelError(f"images in memory are N×3×H×W uint8; these are {tuple(images.shape)} {images.dtype}")
    images = resized(images, size)
    on_device = device.type != "cpu" and cache in ("auto", "device")
    return ImageSource(images.to(device) if on_device else images, size, device, 0)


def resized(images: Tensor, size: int) -> Tensor:
    """N×3×H×W uint8 -> N×3×size×size uint8, as `decode` would have made them."""
    if images.shape[-2:] == (size, size):
        return images
    small = [
        F.interpolate(part.float(), (size, size), mode="bilinear", antialias=True) for part in torch.split(images, 256)
    ]
    return torch.cat([part.round().clamp(0, 255).to(torch.uint8) for part in small])


def _decode_all(
    source: ImageSource, keep_on: torch.device, broken: Literal["stop", "skip"], shown: bool
) -> tuple[Tensor, list[ImageError]]:
    files = ImageSource(source.store, source.size, torch.device("cpu"), source.workers)
    store = torch.zeros((len(files), 3, files.size, files.size), dtype=torch.uint8, device=keep_on)
    failed: list[ImageError] = []
    with progress("decoding images", len(files), shown) as advance:
        for drawn in files.batches(in_order(len(files), 64), broken == "skip"):
            store[torch.from_numpy(drawn.positions).to(keep_on)] = drawn.images.to(keep_on)
            failed += drawn.failed
            advance(len(drawn.positions) + len(drawn.failed))
    return store, failed


def in_order(count: int, size: int) -> list[NDArray[np.int64]]:
    """Positions 0 … count − 1 cut into batches of `size`; the last one may be smaller."""
    return [np.arange(start, min(start + size, count)) for start in range(0, count, size)]


def choose_cache(cache: Cache, count: int, size: int, device: torch.device) -> Literal["none", "memory", "device"]:
    """Where decoded images are kept: as asked, or for "auto" the fastest place that they fit well into."""
    if cache != "auto":
        return "memory" if cache == "device" and device.type == "cpu" else cache
    needed = count * 3 * size * size
    if device.type == "cuda" and needed < _SHARE_OF_MEMORY * torch.cuda.mem_get_info(device)[0]:
        return "device"
    return "memory" if needed < _SHARE_OF_MEMORY * _free_memory() else "none"


def free_memory(device: torch.device) -> int:
    """Bytes that are free on the device."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else _free_memory()


def _free_memory() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError):
        return _FREE_WHERE_NOBODY_TELLS


def _stop_at(trouble: list[ImageError]) -> None:
    if trouble:
        more = f" (and {len(trouble) - 1} more)" if len(trouble) > 1 else ""
        raise TrilabelError(f"{trouble[0][1]}{more}; replace it, or leave such images out with --broken skip")


def to_device(images: Tensor, device: torch.device) -> Tensor:
    if device.type == "cuda" and images.device.type == "cpu":
        images = images.pin_memory()  # so that the copy does not wait for the device
    return images.to(device, non_blocking=True)


class _Files(torch.utils.data.Dataset[tuple[int, Tensor | str]]):
    """Position -> (position, decoded image or what is wrong with it)."""

    def __init__(self, paths: Sequence[str], size: int) -> None:
        self.paths = paths
        self.size = size

    def __getitem__(self, position: int) -> tuple[int, Tensor | str]:
        try:
            return position, decode(self.paths[position], self.size)
        except TrilabelError as error:
            return position, str(error)


def _collate(parts: list[tuple[int, Tensor | str]]) -> tuple[Tensor, Tensor, list[ImageError]]:
    good = [(position, image) for position, image in parts if isinstance(image, Tensor)]
    failed = [(position, message) for position, message in parts if isinstance(message, str)]
    images = torch.stack([image for _, image in good]) if good else torch.zeros((0, 3, 1, 1), dtype=torch.uint8)
    return images, torch.tensor([position for position, _ in good], dtype=torch.int64), failed
