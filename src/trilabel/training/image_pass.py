"""A pass over all training images between epochs, each process over its part."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trilabel.data.images import ImageBatch, ImageSource, in_order
from trilabel.log import progress
from trilabel.training.saving import stop_if_asked
from trilabel.training.setup import Job


def pass_over(job: Job, images: ImageSource, batch_size: int, what: str) -> Iterator[tuple[int, ImageBatch]]:
    """(number of a batch over all processes, the batch) for this process's part; one may have no image.

    Ends the run after a batch if any process received a signal. `what` names the work in the progress bar.
    """
    rank, world = job.processes.rank, job.processes.count
    chunks = _part(in_order(len(images), batch_size), rank, world)
    with progress(what, len(chunks)) as advance:
        for done, batch in enumerate(images.batches(chunks, skip_broken=job.config.broken == "skip")):
            yield rank + done * world, batch
            if job.agreement.any(bool(job.signals), wait=done + 1 == len(chunks)):
                stop_if_asked(job)
            advance(1)


def _part(chunks: list[NDArray[np.int64]], rank: int, world: int) -> list[NDArray[np.int64]]:
    """The chunks of one process: equally many in all, so that they can agree after each; the last may be empty."""
    empty = np.zeros(0, np.int64)
    return (chunks + [empty] * (-len(chunks) % world))[rank::world]
