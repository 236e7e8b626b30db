"""The linear stage as a fit: normalized features, large batches, and weights that move as far as known labels bear.

Each class's weights start at 0 and its bias at the share of its positives. `RowAdam` then takes them along the gradient
of the method's loss in steps that add up to one length, whatever the scale of the loss. That length regularizes as L2
does; it is chosen by cross-validation on the known labels.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel import metrics
from trilabel.config import Config
from trilabel.data.images import ImageSource
from trilabel.labels import Labels
from trilabel.log import log
from trilabel.models.heads.gap import GapHead
from trilabel.training.setup import Job
from trilabel.training.splits import judged_labels, validation_truth
from trilabel.training.stages import Stage

_STEPS = 100  # at least, however few the images
_BATCH = 256  # at least, where there are as many images
_REACHES = (0.25, 0.5, 1.0, 2.0, 4.0)  # 1: the best for 100 to 5,000 photographs of VOC 2012, or nearly
_FOLDS, _MOST_IMAGES, _MOST_CLASSES, _TRIAL_STEPS = 4, 1_000, 40, 50  # of cross-validation: seconds on two cores
_FEWEST = 5  # classes, with as many known positives and negatives each, below which nothing can be seen
_CLEARLY = 3.0  # standard errors by which another reach than 1 must be better: AP on few known labels is mostly noise


def fits_head(job: Job, stage: Stage) -> bool:
    """Whether the stage chooses rate, batches and schedule by itself: no rate is given, and the head normalizes."""
    head = job.model.head
    return stage.linear and job.config.linear_lr is None and isinstance(head, GapHead) and head.settings.normalize


def plan_fit(job: Job, stage: Stage, images: ImageSource) -> "HeadFit":
    """How the stage fits its head; at the start of the stage, the head's weights are set to where the fit begins."""
    config, head, now = job.config, job.model.head, job.state.progress
    assert isinstance(head, GapHead) and isinstance(images.store, Tensor)
    labels = validation_truth(judged_labels(config, job.labels))
    if (now.epoch, now.step) == (1, 0) and not (config.keep_head and config.weights):
        start_fit(head, images.store, labels, own_bias=not stage.warm_up and job.method.initial_logits() is not None)
    job.reach = job.fabric.broadcast(choose_reach(head.normalized(images.store), labels))
    log.info(f"linear stage: features normalized, weights regularized by cross-validation (reach {job.reach:g})")
    return head_fit(config, stage, images.store, job.reach, job.processes.count)


class HeadFit(NamedTuple):
    """A linear stage that fits a head."""

    stage: Stage  # with its rate
    config: Config  # as it takes it
    passes: int  # over the images in an epoch


def head_fit(config: Config, stage: Stage, features: Tensor, reach: float, processes: int = 1) -> HeadFit:
    """Rate, batches and schedule with which weights move as far as `reach` says; features: N×D."""
    batch = max(config.batch_size, _BATCH)
    per_pass = math.ceil(len(features) / (batch * processes))
    passes = math.ceil(_STEPS / (per_pass * stage.epochs))
    # The steps of a cosine schedule add up to half of their number.
    lr = 2 * way(reach, *features.shape) / (per_pass * passes * stage.epochs)
    taken = replace(config, batch_size=batch, accumulate=1, lr_schedule="cosine", weight_decay=0.0)
    return HeadFit(replace(stage, lr=lr), taken, passes)


@torch.no_grad()
def start_fit(head: GapHead, features: Tensor, labels: Labels | NDArray[np.int8], own_bias: bool) -> None:
    """Sets the head to where a fit begins: weights 0, bias by class shares, unless the method has set it (own_bias)."""
    head.fit_normalization(features)
    head.linear.weight.zero_()
    if not own_bias:
        head.start_at(class_logits(labels).to(features))


def way(reach: float, images: int, features: int) -> float:
    """How far the weights of a class move in all, as the root mean square over its weights."""
    return reach * 1.1 * math.sqrt(images) / features


def class_logits(labels: Labels | NDArray[np.int8]) -> Tensor:
    """C: the logit of the share of positives among the known labels of each class."""
    signed = labels if isinstance(labels, np.ndarray) else labels.to_signed()
    positives, negatives = (signed > 0).sum(0), (signed < 0).sum(0)
    return torch.from_numpy(np.log((positives + 0.5) / (negatives + 0.5))).float()


@torch.no_grad()
def choose_reach(features: Tensor, labels: Labels | NDArray[np.int8]) -> float:
    """How far weights should move, as a multiple of what suits photographs: where AP of images left out is best.

    features: N×D, normalized. Of many images and classes a part is enough to see it.
    """
    signed = labels if isinstance(labels, np.ndarray) else labels.to_signed()
    draw = np.random.default_rng(0)
    images = np.sort(draw.permutation(len(signed))[:_MOST_IMAGES])
    rarer = np.minimum((signed[images] > 0).sum(0), (signed[images] < 0).sum(0))
    classes = np.argsort(-rarer, kind="stable")[:_MOST_CLASSES]
    classes = classes[rarer[classes] >= _FEWEST]
    if len(classes) < _FEWEST:
        return 1.0
    signed = signed[np.ix_(images, classes)]
    folds = draw.permutation(len(images)) % _FOLDS
    scores = _scores_of_left_out(features[torch.from_numpy(images).to(features.device)], signed, folds)
    gains = np.stack([metrics.average_precision(each, signed) for each in scores.cpu().numpy()])
    gains = gains - gains[_REACHES.index(1.0)]  # reaches × classes
    error = gains.std(1) / math.sqrt(len(classes))
    clear = gains.mean(1) > _CLEARLY * error
    return _REACHES[int(np.argmax(np.where(clear, gains.mean(1), 0.0)))] if clear.any() else 1.0


def _scores_of_left_out(features: Tensor, signed: NDArray[np.int8], folds: NDArray[np.int64]) -> Tensor:
    """Reaches × N × C: logits of each image by weights that were fitted without its fold; all fits side by side."""
    (count, size), classes, device = features.shape, signed.shape[1], features.device
    learned = np.where(folds[:, None, None] == np.arange(_FOLDS)[None, :, None], 0, signed[:, None, :])  # N×K×C
    bias = torch.stack([class_logits(learned[:, fold]) for fold in range(_FOLDS)]).to(device)
    signs = torch.from_numpy(learned).to(device).float()[:, None].expand(-1, len(_REACHES), -1, -1).flatten(1)
    bias = bias.expand(len(_REACHES), -1, -1).flatten()
    ways = torch.tensor([way(reach, count * (_FOLDS - 1) // _FOLDS, size) for reach in _REACHES]) * math.sqrt(size)
    ways = ways.to(device).repeat_interleave(_FOLDS * classes)
    inputs = _rotated(features)
    weights, mean = torch.zeros(2, inputs.shape[1], signs.shape[1], device=device)
    mean_square = torch.zeros(signs.shape[1], device=device)
    for step in range(_TRIAL_STEPS):  # RowAdam with a cosine schedule
        slope = -signs * torch.sigmoid(-signs * (inputs @ weights + bias))  # 0 where unknown
        gradient = inputs.T @ slope
        mean.lerp_(gradient, 0.1)
        mean_square.lerp_(gradient.square().sum(0), 0.01)
        size_now = (mean_square / (1 - 0.99 ** (step + 1))).sqrt() + 1e-12
        rate = (1 + math.cos(math.pi * step / _TRIAL_STEPS)) / _TRIAL_STEPS / (1 - 0.9 ** (step + 1))
        weights -= mean * (rate * ways / size_now)
    logits = (inputs @ weights + bias).view(count, len(_REACHES), _FOLDS, classes)
    left_out: Tensor = logits[torch.arange(count), :, torch.from_numpy(folds).to(device)]  # N × reaches × C
    return left_out.transpose(0, 1)


def _rotated(features: Tensor) -> Tensor:
    """N×min(N, D): the same images with the same products. The fit does not mind, and takes less time."""
    if features.shape[0] >= features.shape[1]:
        return features
    values, vectors = torch.linalg.eigh((features @ features.T).double())
    rotated: Tensor = vectors * values.clamp(min=0).sqrt()
    return rotated.float()
