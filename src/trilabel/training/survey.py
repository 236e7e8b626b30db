"""The pass over the training images that a method may ask for before an epoch."""

from collections.abc import Iterator

import torch
from torch import nn

from trilabel.data.images import ImageSource, to_device
from trilabel.methods import Batch
from trilabel.training.image_pass import pass_over
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
    now = job.state.progress
    for _, batch in pass_over(job, images, job.scoring_batch_size, "surveying images"):
        if len(batch.positions):
            rows = to_device(torch.from_numpy(batch.positions), job.fabric.device)
            labels = job.label_reader(batch.positions, rows)
            yield Batch(job.views.plain(batch.images), None, labels, rows, now.epoch, now.lr)
