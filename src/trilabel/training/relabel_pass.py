"""The pass over the training images between epochs that fills in easy unknown labels."""

import torch
from torch import nn

from trilabel.data.images import ImageSource, to_device
from trilabel.log import log
from trilabel.training.batches import seed_torch
from trilabel.training.image_pass import pass_over
from trilabel.training.record import Relabelled
from trilabel.training.relabelling import describe
from trilabel.training.setup import Job
from trilabel.training.stages import Stage
from trilabel.training.validation import scoring_weights

_RELABELLING = 2**31  # used as the process number, so that its draws differ from those of a step


@torch.no_grad()
def relabel(job: Job, stage: Stage, model: nn.Module, images: ImageSource) -> Relabelled | None:
    """Chooses weak labels if that is due before the current epoch; None if it is not.

    A run that is killed meanwhile resumes from the end of the epoch before and repeats the pass: nothing is saved in
    between, and every draw comes from (seed, stage, epoch, batch).
    """
    now, relabelling = job.state.progress, job.relabelling
    if relabelling is None or stage.warm_up or not relabelling.due(now.epoch, stage.epochs):
        return None
    with scoring_weights(job, model):
        model.eval()
        relabelling.start_round()
        _choose(job, model, images)
        if job.processes.count > 1:
            relabelling.sync(job.processes.all_reduce)
    done = relabelling.summary(job.truth)
    log.info(describe(done, job.labels.known_share, now.epoch))
    return done


def _choose(job: Job, model: nn.Module, images: ImageSource) -> None:
    config, fabric, now, relabelling = job.config, job.fabric, job.state.progress, job.relabelling
    assert relabelling is not None
    for number, batch in pass_over(job, images, config.batch_size, "relabelling"):
        seed_torch([config.seed, now.stage, now.epoch, number, _RELABELLING], fabric.device)
        if len(batch.positions):
            rows = to_device(torch.from_numpy(batch.positions), fabric.device)
            with fabric.autocast():
                scores = [relabelling.scores(model, job.views.plain(batch.images))]
                scores += [member(views.plain(batch.images)).logits[None] for member, views in job.members]
            relabelling.choose(torch.cat(scores), job.label_reader(batch.positions, rows), rows)
