"""Images decoded once for many runs."""

from dataclasses import replace
from functools import lru_cache

from torch import Tensor

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.images import open_images
from trilabel.errors import TrilabelError
from trilabel.models import create_backbone
from trilabel.models.device import choose_device


class DecodedImageCache:
    """A data set whose images are decoded once for each size and kept if they fit (`Config.cache`)."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self._decoded: dict[tuple[int, str, str], Dataset | TrilabelError] = {}

    def for_run(self, config: Config) -> Dataset:
        """The data set for a run; images that do not fit, or of which some are broken, are read by the run itself."""
        if self.dataset.images is not None or config.devices > 1:
            return self.dataset
        key = (config.image_size or _size_for(config.backbone), config.device, config.cache)
        if key not in self._decoded:
            try:
                self._decoded[key] = _decode(self.dataset, key[0], config)
            except TrilabelError as error:  # a broken image: later runs need not try again
                self._decoded[key] = error
        found = self._decoded[key]
        if isinstance(found, TrilabelError):
            raise found
        return found


@lru_cache
def _size_for(backbone: str) -> int:
    return create_backbone(backbone).image_size


def _decode(dataset: Dataset, size: int, config: Config) -> Dataset:
    device = choose_device(config.device)
    source, broken = open_images(None, dataset.paths, size, device, config.cache, config.workers, config.broken)
    # Each run has to leave out broken images itself: labels are hidden and splits are drawn before.
    if not isinstance(source.store, Tensor) or broken:
        return dataset
    return replace(dataset, images=source.store)
