"""From decoded images to the batch that a method sees: views of the images, and their labels on the device."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.blocks import Blocks, shuffled
from trilabel.data.images import ImageBatch, to_device
from trilabel.labels import Labels
from trilabel.log import log
from trilabel.methods import Batch
from trilabel.models import Backbone
from trilabel.training.relabelling import Relabelling
from trilabel.training.stages import Stage
from trilabel.training.state import Progress

_MOST_LABELS_ON_DEVICE = 2**26  # a byte each


class EpochOrder(NamedTuple):
    """The batches of one process in one epoch, and how much each counts beside those of the other processes.

    Processes average their gradients. Where their last batches differ in size, a batch counts as many times as it is
    larger than their mean: together they then are the mean over all images, as in one process.
    """

    batches: list[NDArray[np.int64]]
    weights: list[float]


def epoch_order(
    count: int,
    batch_size: int,
    seed: Sequence[int],
    rank: int = 0,
    world: int = 1,
    earlier: Sequence[tuple[int, int]] = (),
    passes: int = 1,
    blocks: Blocks | None = None,
) -> EpochOrder:
    """The part of one process in one epoch: over all processes every image once, in a random order.

    All processes have the same number of batches; the last may be smaller, or empty where fewer images than processes
    are left. earlier: (processes, steps) with which the epoch began, if the run was resumed with another number.
    passes: more than 1 repeats the same batches, so that within an epoch an image still belongs to one process.
    blocks: images that are unpacked together, which are then near each other in that order.
    """
    order = shuffled(count, seed, blocks)
    found, done = EpochOrder([], []), 0
    for processes, steps in (*earlier, (world, count * passes)):
        while steps and done < count * passes:
            together = order[done % count :][: batch_size * processes]
            mine = together[rank::processes]
            found.batches.append(mine)
            found.weights.append(len(mine) * processes / len(together))
            done, steps = done + len(together), steps - 1
    return found


def seed_torch(place: Sequence[int], device: torch.device) -> int:
    """Seeds torch from the position of the run (seed, stage, epoch, step, process); returns the seed.

    All randomness is seeded this way: a run that was killed and resumed makes the same draws as one that was not, and
    no generator state has to be saved.
    """
    seed = int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0] >> np.uint64(1))
    torch.default_generator.manual_seed(seed)  # for dropout and similar layers
    if device.type == "cuda":  # torch.manual_seed searches for GPUs at each call, which takes a millisecond
        torch.cuda.manual_seed(seed)
    return seed


class LabelReader:
    """Labels of images as B×C on the device. All are kept there if they take little memory."""

    def __init__(self, labels: Labels, device: torch.device) -> None:
        self.labels, self.device = labels, device
        fits = labels.shape[0] * labels.shape[1] <= _MOST_LABELS_ON_DEVICE
        self._dense = torch.from_numpy(labels.to_signed()).to(device) if fits else None

    def __call__(self, positions: NDArray[np.int64], rows: Tensor) -> Tensor:
        """Labels of the images at these positions; `rows` are the same on the device."""
        return to_device(self.labels.rows(positions), self.device) if self._dense is None else self._dense[rows]


class ViewMaker:
    """Turns uint8 images into what the model sees in training (one or two views) and in scoring (as they are)."""

    def __init__(self, config: Config, backbone: Backbone) -> None:
        self.config = config
        self.views = Views(backbone.mean, backbone.std, config.flip, config.crop, config.erase)

    def training(self, images: Tensor, draw: torch.Generator, two: bool) -> tuple[Tensor, Tensor | None]:
        """B×3×S×S uint8 -> (the view to learn from, a strongly augmented second view if a method needs `two`)."""
        images = self.lay_out(images)  # while it is small: views keep the layout, or nearly
        first = self.views.strong if self.config.augment == "strong" and not two else self.views.weak
        weak = self.lay_out(first(images, draw))
        return weak, self.lay_out(self.views.strong(images, draw)) if two else None

    def plain(self, images: Tensor) -> Tensor:
        """B×3×S×S uint8 -> normalized; features computed before pass as they are."""
        return images if images.is_floating_point() else self.views.plain(images)

    def lay_out(self, images: Tensor) -> Tensor:
        """The images in the memory layout that the model is trained in."""
        return images.contiguous(memory_format=torch.channels_last) if self.config.channels_last else images


class BatchMaker:
    """Makes the batch that a method's step sees."""

    def __init__(
        self,
        config: Config,
        views: ViewMaker,
        labels: LabelReader,
        relabelling: Relabelling | None,
        image_size: int,
        rank: int,
    ) -> None:
        self.config, self.views, self.labels, self.relabelling = config, views, labels, relabelling
        self.image_size, self.rank = image_size, rank

    def __call__(self, images: ImageBatch, stage: Stage, now: Progress, two_views: bool, share: float = 0.0) -> Batch:
        """The images with their labels on the device, weak ones filled in; draws depend on the position of the run."""
        device, strong = self.labels.device, None
        for position, message in images.failed:
            log.warning(f"left out of epoch {now.epoch}: {message} (image {self.labels.labels.ids[position]!r})")
        seed = seed_torch([self.config.seed, now.stage, now.epoch, now.step, self.rank], device)
        rows = to_device(torch.from_numpy(images.positions), device)
        labels = self.labels(images.positions, rows)
        if self.relabelling is not None and not stage.warm_up:
            labels = self.relabelling.fill(labels, rows)
        pixels = images.images
        if not len(images.positions):  # every image was broken, or none is left: the model needs an input all the same
            shape = pixels.shape[1:] if stage.linear else (3, self.image_size, self.image_size)
            pixels = torch.zeros((1, *shape), dtype=pixels.dtype, device=device)
        if not stage.linear:
            draw = torch.Generator().manual_seed(seed)
            pixels, strong = self.views.training(pixels, draw, two_views)
        return Batch(pixels, strong, labels, rows, now.epoch, now.lr, stage.warm_up, share, stage.epochs, stage.goes_on)
