"""The model and data of a stage: the whole model on images, or its head on features computed once."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from trilabel.config import Config
from trilabel.data.images import ImageSource, in_order
from trilabel.data.memory import free_memory
from trilabel.errors import TrilabelError
from trilabel.log import progress
from trilabel.methods import Batch, Method
from trilabel.models import FeatureClassifier
from trilabel.models.cuda_graphs import capture
from trilabel.training.head_fit import fits_head, plan_fit
from trilabel.training.optim import ModelEma, create_optimizer
from trilabel.training.setup import Job
from trilabel.training.stages import Stage


class ModelAndMethod(nn.Module):
    """Model and method as one module, so that several processes average the gradients of both."""

    def __init__(self, model: nn.Module, method: Method[Any]) -> None:
        super().__init__()
        self.model = model
        self.method = method

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The result of the method's step."""
        if not len(batch.rows):
            # Every image was broken: nothing to learn, but the same step as in the other processes. The method is
            # not called, because it would remember something of an image that does not exist.
            nothing = self.model(batch.images).logits.sum() + sum(weights.sum() for weights in self.parameters())
            return {"loss": 0 * nothing}
        return self.method.step(self.model, batch)


@dataclass(frozen=True)
class StageRun:
    """A stage with its model and its images, or the features that replace them."""

    stage: Stage
    config: Config  # as this stage takes it
    model: nn.Module
    task: nn.Module  # model and method, wrapped for several processes
    images: ImageSource
    val_images: ImageSource
    passes: int = 1  # over the images in an epoch
    keeps_last: bool = False  # whether its last epoch is the best, whatever few validation labels say of the others


def enter(job: Job, stage: Stage) -> StageRun:
    """Sets up model, images, optimizer and EMA for a stage."""
    config, head, passes, fits = job.config, list(job.model.head.parameters()), 1, fits_head(job, stage)
    model: nn.Module
    start_head(job)
    if stage.linear:
        if job.features is None:  # those of a warm-up are the same
            job.features = compute_features(job, job.images), compute_features(job, job.val_images)
        images, val_images = job.features
        model, groups = FeatureClassifier(job.model.head, job.model.dropout), [(head, 1.0)]
        if fits:
            stage, config, passes, _ = plan_fit(job, stage, images)
    else:
        job.features = None  # makes room
        images, val_images = job.images, job.val_images
        model, groups = job.model, [(list(job.model.backbone.parameters()), 1.0), (head, config.head_lr_scale)]
        record_passes(job)
    optimizer = create_optimizer(config, groups + job.method.parameter_groups(stage.lr), stage.lr, fits)
    task, optimizer = job.fabric.setup(ModelAndMethod(model, job.method), optimizer)
    job.state.attach(optimizer, ModelEma(model, config.ema) if config.ema else None)
    return StageRun(stage, config, model, task, images, val_images, passes, keeps_last=fits)


def start_head(job: Job) -> None:
    """Has a new head start where the method wants it, before the first step of the first stage that is no warm-up."""
    now, first = job.state.progress, [stage.warm_up for stage in job.stages].index(False)
    kept = job.config.keep_head and job.config.weights is not None
    if kept or (now.stage, now.epoch, now.step) != (first, 1, 0):
        return
    if (logits := job.method.initial_logits()) is not None:
        job.model.head.start_at(logits.to(job.fabric.device))


def record_passes(job: Job) -> None:
    """Has the backbone's passes over a full batch replayed rather than launched (see `models.cuda_graphs`)."""
    config, size, device = job.config, job.model.backbone.image_size, job.fabric.device
    plain = device.type == "cuda" and job.processes.count == 1 and config.accumulate == 1 and not config.compile
    if not plain or job.recorded:
        return
    several = min(config.batch_size, len(job.images)) * job.method.views
    job.state.wait_for_files()  # their thread waits for the device, which would break recording
    images = job.views.lay_out(torch.zeros(several, 3, size, size, device=device))
    capture(job.model.backbone, images, job.fabric.autocast)
    job.recorded = True


@torch.no_grad()
def compute_features(job: Job, images: ImageSource) -> ImageSource:
    """The features that the head needs of each image, computed once without augmentation."""
    job.model.eval()
    chunks = in_order(len(images), job.scoring_batch_size)
    store: Tensor | None = None
    with progress("computing features", len(images)) as advance:
        for batch in images.batches(chunks, skip_broken=True):
            for _, message in batch.failed:
                raise TrilabelError(f"{message}; the linear stage needs every image: replace or remove it")
            if job.signals:  # nothing is lost yet
                raise KeyboardInterrupt
            with job.fabric.autocast():
                features = job.model.reduce_features(job.views.plain(batch.images)).float()
            if store is None:
                store = _room_for(len(images), features, job.config.head, job.processes.on_this_machine)
            store[torch.from_numpy(batch.positions).to(store.device)] = features
            advance(len(batch.positions))
    return ImageSource(torch.zeros(0, 1) if store is None else store, images.size, images.device, 0)


def _room_for(count: int, features: Tensor, head: str, processes: int) -> Tensor:
    """An empty tensor for the features of this many images; each of the processes on this machine keeps its own."""
    needed = count * features[0].numel() * features.element_size()
    if needed > (free := free_memory(features.device, processes)):
        raise TrilabelError(
            f"the linear stage keeps what head {head!r} needs of each image, {needed / 1e9:.1f} GB, and "
            f"{free / 1e9:.1f} GB are free for each process; use --head gap, smaller images, or fine-tune"
        )
    return features.new_empty((count, *features.shape[1:]))
