"""Images decoded once for many runs."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.images import open_images
from trilabel.errors import TrilabelError
from trilabel.models import create_backbone
from trilabel.models.device import choose_device
from trilabel.training.splits import TrainingSplit


class DecodedImageCache:
    """The images that a comparison uses, decoded once for each size and kept if they fit (`Config.cache`).

    Images of other splits are not opened: they may be missing. Where an image that is used is broken or does not fit,
    nothing is kept, and each run reads its own images.
    """

    def __init__(self, dataset: Dataset, used: Iterable[NDArray[np.int64]]) -> None:
        """used: rows of the data set, in several parts that may overlap."""
        self.dataset = dataset
        self.rows = np.unique(np.concatenate([np.zeros(0, np.int64), *used]))
        self._decoded: dict[tuple[int, str, str], Tensor | None] = {}

    def for_training(self, split: TrainingSplit, config: Config) -> TrainingSplit:
        """The split with decoded images if that saves time; rows are then counted among those that are used."""
        images = self._images(config)
        if images is None:
            return split
        place = np.full(len(split.dataset), -1)
        place[self.rows] = np.arange(len(self.rows))
        return TrainingSplit(_with_images(split.dataset, self.rows, images), place[split.train], place[split.val])

    def for_scoring(self, config: Config) -> Dataset:
        """The data set, with decoded images if that saves time."""
        images = self._images(config)
        return self.dataset if images is None else _with_images(self.dataset, self.rows, images)

    def _images(self, config: Config) -> Tensor | None:
        if self.dataset.images is not None or config.devices > 1:
            return None
        key = (config.image_size or _size_for(config.backbone), config.device, config.cache)
        if key not in self._decoded:
            self._decoded[key] = _decode(self.dataset, self.rows, key[0], config)
        return self._decoded[key]


def _with_images(dataset: Dataset, rows: NDArray[np.int64], images: Tensor) -> Dataset:
    return replace(dataset.take(rows), images=images)


@lru_cache
def _size_for(backbone: str) -> int:
    return create_backbone(backbone).image_size


def _decode(dataset: Dataset, rows: NDArray[np.int64], size: int, config: Config) -> Tensor | None:
    device, (_, paths) = choose_device(config.device), dataset.images_of(rows)
    try:
        source, broken = open_images(None, paths, size, device, config.cache, config.workers, config.broken)
    except TrilabelError:  # not every run may use the broken image, and one that does says which it is
        return None
    # Each run has to leave out broken images itself: labels are hidden and splits are drawn before.
    return source.store if isinstance(source.store, Tensor) and not broken else None
