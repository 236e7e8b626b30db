"""Scoring many images with a model: used while training, for evaluation and for prediction."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trilabel.data.images import ImageBatch, ImageError, ImageSource, in_order
from trilabel.log import progress
from trilabel.metrics import Accumulator
from trilabel.models.classifier import Output


def score(
    model: nn.Module,
    images: ImageSource,
    prepare: Callable[[Tensor], Tensor],
    classes: int,
    batch_size: int,
    *,
    rank: int = 0,
    world: int = 1,
    all_gather: Callable[[Tensor], Tensor] | None = None,
    context: Callable[[], AbstractContextManager[object]] = nullcontext,
    skip_broken: bool = False,
    what: str = "",
    maps: bool = False,
    seen: Callable[[NDArray[np.int64], Output], None] | None = None,
) -> tuple[Tensor, list[ImageError]]:
    """(N×C logits on the CPU, images that failed). A failed image has NaN logits.

    With several processes each scores its part and `all_gather` collects them; every image counts exactly once.
    `what` names the work in the progress bar; without it none is shown. `seen` is called with the positions and the
    whole output of each batch, with class maps if `maps`: those of all images together would not fit into memory.
    """
    was_training = model.training
    model.eval()
    collected, failed = Accumulator(len(images), classes), list[ImageError]()
    mine = in_order(len(images), batch_size)[rank::world]
    with progress(what, sum(map(len, mine)), shown=bool(what)) as advance:
        for batch, output in outputs(model, images, prepare, mine, maps, skip_broken, context):
            if output is not None:
                collected.add(torch.from_numpy(batch.positions), output.logits.float())
                if seen is not None:
                    seen(batch.positions, output)
            if batch.failed:
                failed += batch.failed
                positions = torch.tensor([position for position, _ in batch.failed])
                collected.add(positions, torch.full((len(positions), classes), torch.nan))
            advance(len(batch.positions) + len(batch.failed))
    if all_gather is not None and world > 1:
        collected.gather(all_gather)
    model.train(was_training)
    return collected.scores(), failed


@torch.inference_mode()
def outputs(
    model: nn.Module,
    images: ImageSource,
    prepare: Callable[[Tensor], Tensor],
    batches: Sequence[NDArray[np.int64]],
    maps: bool = False,
    skip_broken: bool = False,
    context: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Iterator[tuple[ImageBatch, Output | None]]:
    """Each batch of positions with what the model gives for it; None where no image of it could be read."""
    for batch in images.batches(batches, skip_broken):
        output = None
        if len(batch.positions):
            with context():
                prepared = prepare(batch.images)
                output = model(prepared, maps=True) if maps else model(prepared)
        yield batch, output
