"""Scores of many images by a model: for validation in training, for evaluation and for prediction."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trilabel.data.images import ImageBatch, ImageError, ImageSource, in_order
from trilabel.log import progress
from trilabel.metrics import Accumulator
from trilabel.models import Output

OnBatch = Callable[[NDArray[np.int64], Output], None]  # receives the positions and the whole output of a batch


@dataclass(frozen=True)
class ProcessGroup:
    """Which of several processes this is, and how each gets the tensors of all of them."""

    rank: int = 0
    count: int = 1
    all_gather: Callable[[Tensor], Tensor] | None = None  # a tensor -> those of all processes, stacked


class Scores(NamedTuple):
    """The logits of images, and which of the images could not be read."""

    logits: Tensor  # N×C on the CPU; NaN where an image could not be read
    failed: NDArray[np.int64]  # positions of the images that could not be read, by any process
    errors: list[ImageError]  # of this process, with the messages

    def nan(self) -> NDArray[np.int64]:
        """Positions of images that were read and have a logit that is NaN; infinite ones are numbers too."""
        bad = self.logits.amax(dim=1).isnan()  # a maximum with NaN in it is NaN
        bad[torch.from_numpy(self.failed)] = False
        return bad.nonzero().squeeze(1).numpy()


@dataclass(frozen=True)
class Scorer:
    """A model and how images are passed to it.

    Several processes score every `count`-th batch each, and every image is scored exactly once.
    """

    model: nn.Module
    prepare: Callable[[Tensor], Tensor]  # images of a source -> what the model takes
    classes: int
    batch_size: int
    context: Callable[[], AbstractContextManager[object]] = nullcontext  # of each forward pass, such as autocast
    skip_broken: bool = False
    processes: ProcessGroup = ProcessGroup()

    def score(
        self, images: ImageSource, label: str = "", class_maps: bool = False, on_batch: OnBatch | None = None
    ) -> Scores:
        """Logits of all images, and which of them failed; every process gets those of all.

        `label` names the work in the progress bar; without one there is no bar. `on_batch` receives the outputs batch
        by batch, with class maps if `class_maps`, because those of all images would not fit into memory.
        """
        was_training = self.model.training
        self.model.eval()
        collected, errors = Accumulator(len(images), self.classes), list[ImageError]()
        with progress(label, sum(map(len, self._positions(images))), shown=bool(label)) as advance:
            for batch, output in self.outputs(images, class_maps):
                if output is not None:
                    collected.add(torch.from_numpy(batch.positions), output.logits.float())
                    if on_batch is not None:
                        on_batch(batch.positions, output)
                if batch.failed:
                    errors += batch.failed
                    positions = torch.tensor([position for position, _ in batch.failed])
                    collected.add(positions, torch.full((len(positions), self.classes), torch.nan))
                advance(len(batch.positions) + len(batch.failed))
        failed = torch.zeros(len(images), dtype=torch.uint8)
        failed[[position for position, _ in errors]] = 1
        if self.processes.all_gather is not None and self.processes.count > 1:
            collected.gather(self.processes.all_gather)
            failed = self.processes.all_gather(failed).cpu().reshape(self.processes.count, -1).amax(dim=0)
        self.model.train(was_training)
        return Scores(collected.scores(), failed.nonzero().squeeze(1).numpy(), errors)

    @torch.inference_mode()
    def outputs(
        self, images: ImageSource, class_maps: bool = False, positions: Sequence[NDArray[np.int64]] | None = None
    ) -> Iterator[tuple[ImageBatch, Output | None]]:
        """This process's batches, each with the model's output: None if none of its images could be read.

        positions: of the images in each batch; none: all images in order.
        """
        for batch in images.batches(self._positions(images) if positions is None else positions, self.skip_broken):
            output = None
            if len(batch.positions):
                with self.context():
                    prepared = self.prepare(batch.images)
                    output = self.model(prepared, maps=True) if class_maps else self.model(prepared)
            yield batch, output

    def _positions(self, images: ImageSource) -> list[NDArray[np.int64]]:
        return in_order(len(images), self.batch_size)[self.processes.rank :: self.processes.count]
