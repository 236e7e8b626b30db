"""A linear fit to normalized features: how far its weights move, which regularizes them, and the rate for that.

Each class's weights start at 0 and its bias at the share of its positives. `RowAdam` then takes them along the gradient
of the method's loss in steps that add up to one length, whatever the scale of the loss. That length regularizes as L2
does; it is chosen by cross-validation on the known labels. Linear stages and `TriLabelClassifier` fit this way.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel import metrics
from trilabel.labels import Labels

_STEPS = 100  # at least, however few the images
_REACHES = (0.25, 0.5, 1.0, 2.0, 4.0)  # 1: the best for 100 to 5,000 photographs of VOC 2012, or nearly
MOST_IMAGES = 1_000  # of cross-validation, which with these numbers takes seconds on two cores
_FOLDS, _MOST_CLASSES, _TRIAL_STEPS = 4, 40, 50
_FEWEST = 5  # classes, with as many known positives and negatives each, below which nothing can be seen
_CLEARLY = 3.0  # standard errors by which another reach than 1 must be better: AP on few known labels is mostly noise


def way(reach: float, images: int, features: int) -> float:
    """How far the weights of a class move in all, as the root mean square over its weights."""
    return reach * 1.1 * math.sqrt(images) / features


def fit_schedule(reach: float, images: int, features: int, batch: int, epochs: int) -> tuple[int, float]:
    """(passes over the images per epoch, learning rate at the start of a cosine schedule). batch: images per step."""
    per_pass = math.ceil(images / batch)
    passes = math.ceil(_STEPS / (per_pass * epochs))
    # The steps of a cosine schedule add up to half of their number.
    return passes, 2 * way(reach, images, features) / (per_pass * passes * epochs)


def class_logits(labels: Labels | NDArray[np.int8]) -> Tensor:
    """C: the logit of the share of positives among the known labels of each class."""
    signed = labels if isinstance(labels, np.ndarray) else labels.to_signed()
    positives, negatives = (signed > 0).sum(0), (signed < 0).sum(0)
    return torch.from_numpy(np.log((positives + 0.5) / (negatives + 0.5))).float()


@dataclass(frozen=True)
class Trial:
    """Some images and classes on which fits are tried, each image by weights that were fitted without its fold."""

    images: NDArray[np.int64]  # their rows, in order
    signed: NDArray[np.int8]  # images × classes of +1, −1, 0
    folds: NDArray[np.int64]  # of each image


def draw_trial(
    labels: Labels | NDArray[np.int8], fewest_classes: int = _FEWEST, most_images: int = MOST_IMAGES
) -> Trial | None:
    """Of many images and classes a part is enough; None where too few labels are known to see anything."""
    signed = labels if isinstance(labels, np.ndarray) else labels.to_signed()
    draw = np.random.default_rng(0)
    images = np.sort(draw.permutation(len(signed))[:most_images])
    rarer = np.minimum((signed[images] > 0).sum(0), (signed[images] < 0).sum(0))
    classes = np.argsort(-rarer, kind="stable")[:_MOST_CLASSES]
    classes = classes[rarer[classes] >= _FEWEST]
    if len(classes) < fewest_classes:
        return None
    return Trial(images, signed[np.ix_(images, classes)], draw.permutation(len(images)) % _FOLDS)


@torch.no_grad()
def choose_reach(features: Tensor, labels: Labels | NDArray[np.int8]) -> float:
    """How far weights should move, as a multiple of what suits photographs: where AP of images left out is best.

    features: N×D, normalized.
    """
    trial = draw_trial(labels)
    if trial is None:
        return 1.0
    gains = left_out_precision(features[torch.from_numpy(trial.images).to(features.device)], trial, _REACHES)
    gains = gains - gains[_REACHES.index(1.0)]  # reaches × classes
    error = gains.std(1) / math.sqrt(gains.shape[1])
    clear = gains.mean(1) > _CLEARLY * error
    return _REACHES[int(np.argmax(np.where(clear, gains.mean(1), 0.0)))] if clear.any() else 1.0


@torch.no_grad()
def left_out_precision(features: Tensor, trial: Trial, reaches: tuple[float, ...] = (1.0,)) -> NDArray[np.float64]:
    """Reaches × classes: AP of the images of a trial (features N×D, normalized) by fits that did not see them."""
    scores = _scores_of_left_out(features, trial.signed, trial.folds, reaches)
    return np.stack([metrics.average_precision(each, trial.signed) for each in scores.cpu().numpy()])


def _scores_of_left_out(
    features: Tensor, signed: NDArray[np.int8], folds: NDArray[np.int64], reaches: tuple[float, ...]
) -> Tensor:
    """Reaches × N × C: logits of each image by weights that were fitted without its fold; all fits side by side."""
    (count, size), classes, device = features.shape, signed.shape[1], features.device
    learned = np.where(folds[:, None, None] == np.arange(_FOLDS)[None, :, None], 0, signed[:, None, :])  # N×K×C
    bias = torch.stack([class_logits(learned[:, fold]) for fold in range(_FOLDS)]).to(device)
    signs = torch.from_numpy(learned).to(device).float()[:, None].expand(-1, len(reaches), -1, -1).flatten(1)
    bias = bias.expand(len(reaches), -1, -1).flatten()
    ways = torch.tensor([way(reach, count * (_FOLDS - 1) // _FOLDS, size) for reach in reaches]) * math.sqrt(size)
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
    logits = (inputs @ weights + bias).view(count, len(reaches), _FOLDS, classes)
    left_out: Tensor = logits[torch.arange(count), :, torch.from_numpy(folds).to(device)]  # N × reaches × C
    return left_out.transpose(0, 1)


def _rotated(features: Tensor) -> Tensor:
    """N×min(N, D): the same images with the same products. The fit does not mind, and takes less time."""
    if features.shape[0] >= features.shape[1]:
        return features
    values, vectors = torch.linalg.eigh((features @ features.T).double())
    rotated: Tensor = vectors * values.clamp(min=0).sqrt()
    return rotated.float()
