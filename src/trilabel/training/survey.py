"""The pass over the training images that a method may ask for before an epoch."""

from collections.abc import Iterator

import torch
from torch import nn

from trilabel.data.images import ImageSource, in_order, to_device
from trilabel.log import progress
from trilabel.methods import Batch
from trilabel.training.saving import stop_if_asked
from trilabel.training.setup import Job
from trilabel.training.stages import Stage


@torch.no_grad()
def survey(job: Job, stage: Stage, model: nn.Module, images: ImageSource) -> None:
    """Shows the method all training images if it asks for that before the current epoch.

    As with relabelling, a run that is killed meanwhile resumes from the end of the epoch before and repeats the pass.
    """
    if stage.warm_up or not job.method.surveys(job.state.progress.epoch):
        return
    model.eval()
    with job.fabric.autocast():
        job.method.survey(model, _batches(job, images), job.processes.all_reduce)


def _batches(job: Job, images: ImageSource) -> Iterator[Batch]:
    """This process's part of the images, as they are scored."""
    chunks = in_order(len(images), job.scoring_batch_size)[job.processes.rank :: job.processes.count]
    now = job.state.progress
    with progress("looking at all images", len(chunks)) as advance:
        for batch in images.batches(chunks, skip_broken=job.config.broken == "skip"):
            if len(batch.positions):
                rows = to_device(torch.from_numpy(batch.positions), job.fabric.device)
                labels = job.label_reader(batch.positions, rows)
                yield Batch(job.views.plain(batch.images), None, labels, rows, now.epoch, now.lr)
            if job.processes.count == 1:
                stop_if_asked(job)
            advance(1)
