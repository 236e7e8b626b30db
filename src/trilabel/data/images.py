"""Many images: from files to uint8 batches on the device, decoded in each pass or once and cached.

Augmentation is not done here but on the batch, on its device (`augment.py`), so all caches give the same batches.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from trilabel.data.blocks import Blocks, blocks_of
from trilabel.data.cache import Cache, choose_cache
from trilabel.data.decode import MISSING, ImageError, decode, resized, validate_images
from trilabel.data.image_paths import existing, take_paths
from trilabel.data.workers import ignore_signals, signals_held
from trilabel.errors import TrilabelError
from trilabel.log import progress

__all__ = [
    "Cache",
    "ImageBatch",
    "ImageError",
    "ImageSource",
    "decode",
    "in_order",
    "open_images",
    "resized",
    "to_device",
]


class ImageBatch(NamedTuple):
    """Images of an ImageSource, by position."""

    images: Tensor  # B×3×S×S uint8 on the device
    positions: NDArray[np.int64]  # B: positions of these images in the source
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

    @cached_property
    def blocks(self) -> Blocks | None:
        """Which images are unpacked together, if there are such."""
        return None if isinstance(self.store, Tensor) else blocks_of(self.store)

    def batches(self, positions: Sequence[NDArray[np.int64]], skip_broken: bool = False) -> Iterator[ImageBatch]:
        """One batch for each array of positions. Images that fail are left out (`skip_broken`) or raise."""
        if isinstance(self.store, Tensor):
            for chosen in positions:
                index = torch.from_numpy(chosen).to(self.store.device, non_blocking=True)
                yield ImageBatch(to_device(self.store[index], self.device), chosen, [])
            return
        files = _ImageFiles(self.store, self.size)
        loader: DataLoader[Any] = DataLoader(
            files,
            batch_sampler=[chosen.tolist() for chosen in positions],
            num_workers=min(self.workers, len(positions)),
            collate_fn=_collate,
            pin_memory=self.device.type == "cuda",
            worker_init_fn=ignore_signals,
        )
        with lost_worker_explained():
            with signals_held():  # until the workers ignore them
                batches = iter(loader)
            for images, good, failed in batches:
                if not skip_broken:
                    _raise_first(failed)
                yield ImageBatch(images.to(self.device, non_blocking=True), good.numpy(), failed)


@contextmanager
def lost_worker_explained() -> Iterator[None]:
    """Says in one line that a process that decodes images was lost; torch raises that anywhere in the main thread."""
    try:
        yield
    except RuntimeError as error:
        if not str(error).startswith("DataLoader worker"):
            raise
        raise TrilabelError(
            "a process that decodes images was killed, perhaps for lack of memory; lower --workers or --batch-size and "
            "run again (--resume continues a training run)"
        ) from error


def worker_count(asked: int | None) -> int:
    """How many processes decode images: as asked for, or one per core, at most 16."""
    return min(16, os.cpu_count() or 1) if asked is None else asked


def open_images(
    images: Tensor | None,
    paths: Sequence[str] | None,
    size: int,
    device: torch.device,
    cache: Cache = "auto",
    workers: int | None = None,
    broken: Literal["stop", "skip"] = "stop",
    shown: bool = True,
    processes: int = 1,
) -> tuple[ImageSource, list[ImageError]]:
    """A source over images in memory (N×3×H×W uint8) or in files, and the images that were left out.

    Files are checked before anything starts; with a cache they are also decoded. A missing or broken one raises
    (`broken` = "stop") or is left out of the source and listed with its position ("skip").
    processes: how many on this machine open the same images, each for itself.
    """
    if images is not None:
        return _in_memory(images, size, device, cache), []
    if paths is None:
        raise TrilabelError("no images: neither paths nor image arrays were given")
    workers = worker_count(workers)
    errors = validate_images(paths, shown)
    _refuse(errors, len(paths), broken)
    bad = {position for position, _ in errors}
    good = [position for position in range(len(paths)) if position not in bad]
    source = ImageSource(take_paths(paths, np.array(good, np.int64)) if bad else paths, size, device, workers)
    kind = choose_cache(cache, len(good), size, device, processes)
    if kind == "none":
        return source, errors
    store, failed = _decode_all(source, device if kind == "device" else torch.device("cpu"), broken, shown)
    errors += [(good[position], message) for position, message in failed]
    if failed:
        store = store[np.setdiff1d(np.arange(len(store)), [position for position, _ in failed])]
    return ImageSource(store, size, device, 0), sorted(errors)


def _in_memory(images: Tensor, size: int, device: torch.device, cache: Cache) -> ImageSource:
    if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[1] != 3:
        raise TrilabelError(f"images in memory are N×3×H×W uint8; these are {tuple(images.shape)} {images.dtype}")
    images = resized(images, size)
    on_device = device.type != "cpu" and cache in ("auto", "device")
    return ImageSource(images.to(device) if on_device else images, size, device, 0)


def _decode_all(
    source: ImageSource, keep_on: torch.device, broken: Literal["stop", "skip"], shown: bool
) -> tuple[Tensor, list[ImageError]]:
    files = ImageSource(source.store, source.size, torch.device("cpu"), source.workers)
    store = torch.zeros((len(files), 3, files.size, files.size), dtype=torch.uint8, device=keep_on)
    failed: list[ImageError] = []
    with progress("decoding images", len(files), shown) as advance:
        for batch in files.batches(in_order(len(files), 64), broken == "skip"):
            store[torch.from_numpy(batch.positions).to(keep_on)] = batch.images.to(keep_on)
            failed += batch.failed
            advance(len(batch.positions) + len(batch.failed))
    return store, failed


def in_order(count: int, size: int) -> list[NDArray[np.int64]]:
    """Positions 0 … count − 1 cut into batches of `size`; the last one may be smaller."""
    return [np.arange(start, min(start + size, count)) for start in range(0, count, size)]


def check_files(paths: Sequence[str], broken: Literal["stop", "skip"] = "stop") -> None:
    """Raises what `open_images` would where files are missing; takes no time, and so comes before what is slow."""
    if not existing(paths).all():
        _refuse(validate_images(paths), len(paths), broken)


def _refuse(errors: list[ImageError], images: int, broken: str) -> None:
    if images > 1 and sum(MISSING in message for _, message in errors) == images:
        raise TrilabelError(
            f"{errors[0][1]}, and none of the {images} images can be read; is --images the right folder?"
        )
    if broken == "stop":
        _raise_first(errors)


def _raise_first(errors: list[ImageError]) -> None:
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise TrilabelError(f"{errors[0][1]}{more}; replace it, or leave such images out with --broken skip")


def to_device(images: Tensor, device: torch.device) -> Tensor:
    """The tensor on the device, without waiting for the copy."""
    if device.type == "cuda" and images.device.type == "cpu":
        images = images.pin_memory()  # so that the copy does not wait for the device
    return images.to(device, non_blocking=True)


class _ImageFiles(torch.utils.data.Dataset[tuple[int, Tensor | str]]):
    """Position -> (position, decoded image or the error)."""

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
