"""Fits a network on encoded features with any method: the training loop without images, files and processes."""

import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.estimator.encoding import Encoded
from trilabel.estimator.network import FeatureNetwork, create_network
from trilabel.labels import Labels
from trilabel.log import progress
from trilabel.methods import Batch, Method, create_method
from trilabel.training.batches import LabelReader, epoch_order
from trilabel.training.optim import create_optimizer, learning_rate
from trilabel.training.reach import class_logits, fit_schedule, way
from trilabel.training.splits import validation_truth

_NETWORK_LR, _NETWORK_STEPS = 1e-3, 200  # of hidden layers and other heads; steps at least
_PART_STEPS = 10  # of a part of the samples, at least
# Batches of a fixed share of the samples, within limits: in small ones rare classes hardly move, for all the noise.
_BATCHES, _BATCH_SIZES = 20, (256, 1_024)
_STEPS, _LEAST_EPOCHS, _MOST_EPOCHS = (200, 100), (8, 5), 25  # the second where nothing is unknown
_SCORED = 2**22  # numbers of features or logits at a time


@dataclass(frozen=True)
class Plan:
    """How a network is fitted."""

    method: str
    settings: dict[str, Any]
    hidden: tuple[int, ...]
    reach: float
    epochs: int
    batch_size: int
    seed: int


@dataclass(frozen=True)
class Samples:
    """Some of the encoded samples, by row, with the labels of these rows, and what each weighs."""

    inputs: Encoded
    rows: NDArray[np.int64]
    labels: Labels
    weights: NDArray[np.float64] | None = None

    def part(self, chosen: NDArray[np.bool_]) -> "Samples":
        """Those of them that are chosen."""
        weights = None if self.weights is None else self.weights[chosen]
        return Samples(self.inputs, self.rows[chosen], self.labels[chosen], weights)


@dataclass(frozen=True)
class Fitted:
    """A network, and the method that taught it."""

    network: FeatureNetwork
    method: Method[Any]


def usual_batch_size(samples: int) -> int:
    """Larger for many samples."""
    return min(max(samples // _BATCHES, _BATCH_SIZES[0]), _BATCH_SIZES[1])


def usual_epochs(samples: int, batch_size: int, all_known: bool) -> int:
    """Fewer for many samples, of which a pass has many steps."""
    steps, least = _STEPS[all_known], _LEAST_EPOCHS[all_known]
    return min(max(math.ceil(steps * batch_size / samples), least), _MOST_EPOCHS)


def fit(plan: Plan, samples: Samples) -> Fitted:
    """A new network, fitted to the samples; draws from torch's generator."""
    inputs, labels = samples.inputs, samples.labels
    network = create_network(plan.method, inputs.encoder.size, plan.hidden, labels).to(inputs.device)
    seen = plan.hidden[-1] if plan.hidden else inputs.encoder.size
    fitted = Fitted(network, create_method(plan.method, plan.settings, labels, seen).to(inputs.device))
    starts = class_logits(validation_truth(labels)).to(inputs.device)
    if fitted.method.warm_up_epochs:
        trial = Fitted(deepcopy(network), fitted.method)
        trial.network.head.start_at(starts)
        _run(trial, samples, _stage(replace(plan, epochs=fitted.method.warm_up_epochs), trial, samples), warm_up=True)
        fitted.method.end_warm_up(_alone)
    begin = fitted.method.initial_logits()
    network.head.start_at(starts if begin is None else begin.to(inputs.device))
    _run(fitted, samples, _stage(plan, fitted, samples))
    return fitted


def fit_further(plan: Plan, fitted: Fitted, samples: Samples, seen: int) -> None:
    """Learns from more samples: weights move by as much as the way of a fit grows with them.

    seen: how many samples it has learned from so far.
    """
    passes = math.ceil(_PART_STEPS / math.ceil(len(samples.rows) / plan.batch_size))
    steps, size = math.ceil(len(samples.rows) / plan.batch_size) * passes, samples.inputs.encoder.size
    further = way(plan.reach, seen + len(samples.rows), size) - way(plan.reach, seen, size)
    lr = further / steps if fitted.network.is_linear else _NETWORK_LR
    _run(fitted, samples, _Stage(1, passes, lr, "constant", replace(plan, seed=plan.seed + seen)))


@torch.no_grad()
def score(network: FeatureNetwork, inputs: Encoded, rows: NDArray[np.int64]) -> Iterator[Tensor]:
    """Logits of these rows, some at a time, on the CPU."""
    network.eval()
    at_once = max(1, _SCORED // max(inputs.encoder.size, inputs.X.shape[1], 1))
    for start in range(0, len(rows), at_once):
        yield network(inputs(rows[start : start + at_once])).logits.float().cpu()


@dataclass(frozen=True)
class _Stage:
    epochs: int
    passes: int  # over the samples in an epoch
    lr: float
    schedule: Literal["constant", "cosine"]
    plan: Plan


def _stage(plan: Plan, fitted: Fitted, samples: Samples) -> _Stage:
    """As a linear stage, where the network is linear."""
    count, epochs = len(samples.rows), plan.epochs
    passes, lr = fit_schedule(plan.reach, count, samples.inputs.encoder.size, plan.batch_size, epochs)
    if not fitted.network.is_linear:
        passes, lr = math.ceil(_NETWORK_STEPS / (math.ceil(count / plan.batch_size) * epochs)), _NETWORK_LR
    return _Stage(epochs, passes, lr, "cosine", plan)


def _run(fitted: Fitted, samples: Samples, stage: _Stage, warm_up: bool = False) -> None:
    """The epochs of a stage."""
    network, method, inputs, device = fitted.network, fitted.method, samples.inputs, samples.inputs.device
    config = Config(lr_schedule=stage.schedule, optimizer="adamw")
    groups = [(list(network.parameters()), 1.0), *method.parameter_groups(stage.lr)]
    optimizer = create_optimizer(config, groups, stage.lr, by_rows=network.is_linear)
    reader = LabelReader(samples.labels, device)
    weights = None if samples.weights is None else torch.from_numpy(samples.weights / samples.weights.mean()).float()

    def batch(chosen: NDArray[np.int64], epoch: int, lr: float, share: float = 0.0) -> Batch:
        rows = torch.from_numpy(chosen).to(device)
        network.weights = None if weights is None else weights[chosen].to(device)
        labels = reader(chosen, rows)
        return Batch(inputs(samples.rows[chosen]), None, labels, rows, epoch, lr, warm_up, share, stage.epochs)

    with progress("fitting", stage.epochs) as advance:
        for epoch in range(1, stage.epochs + 1):
            seed, size = (stage.plan.seed, int(warm_up), epoch), stage.plan.batch_size
            order = epoch_order(len(samples.rows), size, seed, passes=stage.passes).batches
            method.start_epoch(epoch)
            if not warm_up and method.surveys(epoch):
                network.eval()
                with torch.no_grad():
                    parts = np.array_split(np.arange(len(samples.rows)), math.ceil(len(samples.rows) / size))
                    method.survey(network, (batch(part, epoch, stage.lr) for part in parts), _alone)
            network.train()
            for step, chosen in enumerate(order):
                lr = learning_rate(config, stage.lr, (epoch - 1) * len(order) + step, len(order), stage.epochs)
                for group in optimizer.param_groups:
                    group["lr"] = lr * group["scale"]
                loss = method.step(network, batch(chosen, epoch, lr, step / len(order)))["loss"]
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                optimizer.zero_grad()
            method.sync(_alone)
            _check_finite(network)
            advance(1)
    network.weights = None


def _alone(tensor: Tensor, _: str) -> Tensor:
    """What several processes have together, of one."""
    return tensor


def _check_finite(network: nn.Module) -> None:
    if not all(bool(torch.isfinite(weights).all()) for weights in network.parameters()):
        raise TrilabelError("the weights are not finite: check the features for extreme values, or use another method")
