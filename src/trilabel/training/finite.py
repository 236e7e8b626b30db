"""Stops the run at numbers that are not finite, with the step and images where they started."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from trilabel.errors import TrilabelError
from trilabel.log import truncate_list
from trilabel.training.setup import Job


def check_loss(job: Job, order: Sequence[NDArray[np.int64]], wait: bool) -> str:
    """The mean loss so far as text; stops the run if a loss was not finite (see `EpochTotals.loss_so_far`)."""
    now, totals = job.state.progress, job.state.totals
    if totals.is_empty:  # no image of this epoch could be read so far
        return ""
    loss, bad = totals.loss_so_far(wait)
    if bad >= 0:
        ids = truncate_list([job.labels.ids[position] for position in order[bad].tolist()])
        raise TrilabelError(
            f"the loss is not finite in epoch {now.epoch}, step {bad + 1} of {len(order)} "
            f"(learning rate {now.lr:.2g}; images {ids}): lower --lr or set --clip-gradient{_what_is_kept(job)}"
        )
    return "" if loss is None else f"loss {loss:.4f}"


def check_weights(job: Job, model: nn.Module) -> None:
    """Weights, statistics of batch norm and averages that are not finite are never saved."""
    tensors = [*model.state_dict().values(), *({} if job.state.ema is None else job.state.ema.state).values()]
    floats = [tensor.detach() for tensor in tensors if tensor.is_floating_point() and tensor.numel()]
    lengths = torch.stack([length.double() for length in torch._foreach_norm(floats)])
    # Each process has statistics of its own; all must stop, or the others would wait for this one.
    if job.processes.any(not bool(torch.isfinite(lengths).all())):
        raise TrilabelError(
            f"the weights or the statistics of batch norm are not finite {_when(job)}: lower --lr or set "
            f"--clip-gradient{_what_is_kept(job)}"
        )


def check_scores(job: Job, bad: int, images: int) -> None:
    """A model that gives NaN for validation images that were read is never kept."""
    if bad:
        raise TrilabelError(
            f"the model gives NaN for {bad:,} of {images:,} validation images {_when(job)}: lower --lr or set "
            f"--clip-gradient{_what_is_kept(job)}"
        )


def _when(job: Job) -> str:
    return f"after step {job.state.progress.step} of epoch {job.state.progress.epoch}"


def _what_is_kept(job: Job) -> str:
    job.state.wait_for_files()
    return f"; {job.folder.last} is from before that" if job.folder.last.is_file() else ""
