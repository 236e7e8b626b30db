"""Images decoded once for many runs."""

from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.images import open_images
from trilabel.errors import TrilabelError
from trilabel.models import create_backbone


class DecodedImageCache:
    """A data set whose images are decoded once for each size, and kept where they fit (`Config.cache`)."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self._kept: dict[tuple[int, str, str], Dataset | TrilabelError] = {}

    def for_run(self, config: Config) -> Dataset:
        """The data set as such a run needs it; images that do not fit, or some of them broken, are left to the run."""
        if self.dataset.images is not None or config.devices > 1:
            return self.dataset
        key = (config.image_size or _size_for(config.backbone), config.device, config.cache)
        if key not in self._kept:
            try:
                self._kept[key] = _decoded(self.dataset, key[0], config)
            except TrilabelError as error:  # a broken image: not to be looked for again by every run
                self._kept[key] = error
        found = self._kept[key]
        if isinstance(found, TrilabelError):
            raise found
        return found


@lru_cache
def _size_for(backbone: str) -> int:
    return create_backbone(backbone).image_size


def _decoded(dataset: Dataset, size: int, config: Config) -> Dataset:
    cuda = config.device == "cuda" or (config.device == "auto" and torch.cuda.is_available())
    device = torch.device("cuda" if cuda else "cpu")
    source, trouble = open_images(None, dataset.paths, size, device, config.cache, config.workers, config.broken)
    # Where images are left out, each run has to do it: what is hidden and set apart is drawn before.
    if not isinstance(source.store, Tensor) or trouble:
        return dataset
    return replace(dataset, images=source.store)
