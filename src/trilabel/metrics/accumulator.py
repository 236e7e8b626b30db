"""The scores of a whole data set, collected batch by batch and from all processes."""

from collections.abc import Callable

import torch
from torch import Tensor

from trilabel.errors import TrilabelError


class Accumulator:
    """The scores of a pass over a data set, in any order; an image that is added several times counts once.

    Every process adds the images that it scored and calls `gather` once at the end. Scores are kept on the CPU in
    float32; `add` waits for the device only to copy the batch over.

    >>> accumulator = Accumulator(images=3, classes=2)
    >>> accumulator.add(torch.tensor([2, 0]), torch.tensor([[0.5, 0.6], [0.1, 0.2]]))
    >>> accumulator.add(torch.tensor([1]), torch.tensor([[0.3, 0.4]]))
    >>> accumulator.scores()
    tensor([[0.1000, 0.2000],
            [0.3000, 0.4000],
            [0.5000, 0.6000]])
    """

    def __init__(self, images: int, classes: int) -> None:
        self._scores = torch.empty(images, classes)
        self._scored = torch.zeros(images, dtype=torch.bool)

    def add(self, index: Tensor, scores: Tensor) -> None:
        """Add scores B×C of the images at positions index [B] of the data set, replacing earlier scores of them."""
        images, classes = self._scores.shape
        if index.ndim != 1 or tuple(scores.shape) != (len(index), classes):
            raise TrilabelError(
                f"index {tuple(index.shape)} and scores {tuple(scores.shape)}; give B positions and B×{classes} scores"
            )
        index = index.cpu().long()
        low, high = (int(index.min()), int(index.max())) if len(index) else (0, 0)
        if low < 0 or high >= max(1, images):
            raise TrilabelError(f"positions {low} to {high} in a data set of {images} images; count from 0")
        self._scores[index] = scores.detach().to("cpu", torch.float32)
        self._scored[index] = True

    def merge(self, other: "Accumulator") -> None:
        """Add the scores of another accumulator of the same data set."""
        index = other._scored.nonzero().squeeze(1)
        self.add(index, other._scores[index])

    def gather(self, all_gather: Callable[[Tensor], Tensor], scores_at_once: int = 2**24) -> None:
        """Add the scores of every process. All processes must call it, however many images each has scored.

        all_gather: tensor -> tensor with a leading process dimension, as `fabric.all_gather` (one process may leave the
        dimension out). It gets at most `scores_at_once` scores, so that a device need not hold all.
        """
        mine = self._scored.nonzero().squeeze(1)
        longest = int(all_gather(torch.tensor([len(mine)])).max())
        step = max(1, scores_at_once // max(1, self._scores.shape[1]))
        for start in range(0, longest, step):
            index = mine[start : start + step]
            size = min(step, longest - start)
            # Processes must send equal shapes: shorter ones are filled up with position −1, which is dropped again.
            positions = torch.cat((index, index.new_full((size - len(index),), -1)))
            rows = torch.zeros(size, self._scores.shape[1])
            rows[: len(index)] = self._scores[index]
            all_positions = all_gather(positions).cpu().reshape(-1, size)
            all_rows = all_gather(rows).cpu().reshape(len(all_positions), size, -1)
            # One process after the other, so that all keep the same scores of an image that several have scored.
            for index, rows in zip(all_positions, all_rows, strict=True):
                self.add(index[index >= 0], rows[index >= 0])

    def scores(self) -> Tensor:
        """Scores N×C, float32, in the order of the data set."""
        if not bool(self._scored.all()):
            missing = (~self._scored).nonzero().squeeze(1)
            raise TrilabelError(
                f"{len(missing)} of {len(self._scored)} images were never scored, the first at position "
                f"{int(missing[0])}; add every image of the data set once"
            )
        return self._scores
