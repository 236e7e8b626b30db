"""Images given to a model, opened and scored; those that cannot be read are told by position and message."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.data.image_paths import find_images
from trilabel.data.images import ImageSource
from trilabel.errors import TrilabelError
from trilabel.models.scoring import OnBatch, Scorer

Broken = Literal["stop", "skip"]
DIVERGED = "its training diverged: train again with a lower --lr or with --clip-gradient"


class Options(NamedTuple):
    """Options that all methods of a model share."""

    batch_size: int
    workers: int | None
    broken: Broken


class Opened(NamedTuple):
    """The given images that could be opened, and the scorer for them."""

    source: ImageSource
    positions: NDArray[np.int64]  # of the source's images among those given
    errors: list[str]  # a message for each image that is not in the source
    scorer: Scorer
    model: str  # its name in messages

    def score(
        self, label: str, id_of: Callable[[int], str], class_maps: bool = False, on_batch: OnBatch | None = None
    ) -> tuple[Tensor, NDArray[np.int64], list[str]]:
        """(logits, their positions among the given images, a message for each image that could not be read).

        NaN is an error, whatever becomes of images that cannot be read; id_of: position of a given image -> its id.
        """
        positions = self.positions
        to_given = None if on_batch is None else lambda batch, output: on_batch(positions[batch], output)
        scores = self.scorer.score(self.source, label, class_maps, to_given)
        good = np.delete(np.arange(len(positions)), scores.failed)
        if len(bad := scores.nan()):
            raise TrilabelError(
                f"{self.model}: gives NaN for {len(bad):,} of {len(good):,} images, the first "
                f"{id_of(int(positions[bad[0]]))!r}; {DIVERGED}"
            )
        messages = [message for _, message in scores.errors]
        return scores.logits[torch.from_numpy(good)], positions[good], self.errors + messages


def find_paths(images: Any) -> list[str] | None:
    """The image files of a folder, a file or a list of files; None if the images are arrays."""
    images = find_images(images) if isinstance(images, str | Path) else images
    if isinstance(images, Sequence) and images and isinstance(images[0], str | Path):
        return [str(path) for path in images]
    return None
