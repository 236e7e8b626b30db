"""Images decoded once for many runs."""

from dataclasses import replace

import torch
from torch import Tensor

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.images import open_images
from trilabel.models import create_backbone


class DecodedOnce:
    """A data set whose images are decoded once for each size, and kept where they fit (`Config.cache`)."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self._by_size: dict[int, Dataset] = {}

    def for_run(self, config: Config) -> Dataset:
        """The data set as such a run needs it; images that do not fit, or some of them broken, are left to the run."""
        if self.dataset.images is not None or config.devices > 1:
            return self.dataset
        size = config.image_size or create_backbone(config.backbone).image_size
        if size not in self._by_size:
            self._by_size[size] = _decoded(self.dataset, size, config)
        return self._by_size[size]


def _decoded(dataset: Dataset, size: int, config: Config) -> Dataset:
    cuda = config.device == "cuda" or (config.device == "auto" and torch.cuda.is_available())
    device = torch.device("cuda" if cuda else "cpu")
    source, trouble = open_images(None, dataset.paths, size, device, config.cache, config.workers, config.broken)
    # Where images are left out, each run has to do it: what is hidden and set apart is drawn before.
    if not isinstance(source.store, Tensor) or trouble:
        return dataset
    return replace(dataset, images=source.store)
