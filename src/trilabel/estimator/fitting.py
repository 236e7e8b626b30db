"""Fits a network to encoded features with any method, as a linear stage does."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.estimator.encoding import Encoded
from trilabel.estimator.network import FeatureNetwork, create_network
from trilabel.labels import Labels
from trilabel.log import progress
from trilabel.methods import Batch, Method, create_method
from trilabel.training.feature_fit import FeatureFit
from trilabel.training.head_fit import HeadFit
from trilabel.training.reach import class_logits, fit_schedule, way
from trilabel.training.splits import validation_truth
from trilabel.training.stages import Stage

_NETWORK_LR, _NETWORK_STEPS = 3e-3, 300  # of hidden layers and other heads; steps at least
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

    @property
    def device(self) -> torch.device:
        """Where they are learned from."""
        return self.inputs.device

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Tensor) -> Tensor:
        """B×F of those at these positions."""
        return self.inputs(self.rows[rows.cpu().numpy()])

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
    with progress("fitting", fitted.method.warm_up_epochs + plan.epochs) as advance:
        _SampleFit(plan, fitted, samples, advance).run()
    return fitted


def fit_further(plan: Plan, fitted: Fitted, samples: Samples, seen: int) -> None:
    """Learns from more samples: weights move by as much as the way of a fit grows with them.

    seen: how many samples it has learned from so far.
    """
    passes = math.ceil(_PART_STEPS / math.ceil(len(samples) / plan.batch_size))
    steps, size = math.ceil(len(samples) / plan.batch_size) * passes, samples.inputs.encoder.size
    further = way(plan.reach, seen + len(samples), size) - way(plan.reach, seen, size)
    # The last epoch of the fit once more: methods begin cautiously, and should not begin again with each part.
    stage = Stage("part", plan.epochs, further / steps if fitted.network.is_linear else _NETWORK_LR, linear=True)
    run = _SampleFit(replace(plan, seed=plan.seed + seen), fitted, samples, lambda _: None)
    run.train(
        0, HeadFit(stage, replace(run.config, lr_schedule="constant"), passes, fitted.network.is_linear), plan.epochs
    )


@torch.no_grad()
def score(network: FeatureNetwork, inputs: Encoded, rows: NDArray[np.int64]) -> Iterator[Tensor]:
    """Logits of these rows, some at a time, on the CPU."""
    network.eval()
    at_once = max(1, _SCORED // max(inputs.encoder.size, inputs.X.shape[1], 1))
    for start in range(0, len(rows), at_once):
        yield network(inputs(rows[start : start + at_once])).logits.float().cpu()


class _SampleFit(FeatureFit):
    """A fit to encoded samples, which may weigh differently; of a linear network, or of one that has hidden layers."""

    def __init__(self, plan: Plan, fitted: Fitted, samples: Samples, advance: Callable[[int], None]) -> None:
        config = Config(
            stages="linear", epochs=plan.epochs, batch_size=plan.batch_size, seed=plan.seed, lr_schedule="cosine"
        )
        super().__init__(config, fitted.network, fitted.method, samples, samples.labels, reach=plan.reach)
        self._network, self._samples, self._advance = fitted.network, samples, advance
        weights = samples.weights
        self._weights = None if weights is None else torch.from_numpy(weights / weights.mean()).float()

    def begin(self, stage: Stage, logits: Tensor | None) -> HeadFit:
        """Weights are as the network was made: those of a linear one are 0, and features were encoded before."""
        start = class_logits(validation_truth(self.labels)) if logits is None else logits
        self._network.head.start_at(start.to(self.features.device))
        count, size, epochs = len(self.features), self._samples.inputs.encoder.size, stage.epochs
        if self._network.is_linear:
            assert self.reach is not None
            passes, lr = fit_schedule(self.reach, count, size, self.config.batch_size, epochs)
        else:
            passes, lr = math.ceil(_NETWORK_STEPS / (math.ceil(count / self.config.batch_size) * epochs)), _NETWORK_LR
        return HeadFit(replace(stage, lr=lr), self.config, passes, self._network.is_linear)

    def train(self, number: int, fit: HeadFit, first_epoch: int = 1) -> None:
        """Weights of samples are those of the last batch until it ends."""
        super().train(number, fit, first_epoch)
        self._network.weights = None

    def batch(self, positions: NDArray[np.int64], epoch: int, lr: float) -> Batch:
        """The network then weighs its samples."""
        if self._weights is not None:
            self._network.weights = self._weights[positions].to(self.features.device)
        return super().batch(positions, epoch, lr)

    def end_epoch(self) -> None:
        """Refuses weights that are not finite."""
        super().end_epoch()
        if not all(bool(torch.isfinite(weights).all()) for weights in self._network.parameters()):
            raise TrilabelError(
                "the weights are not finite: check the features for extreme values, or use another method"
            )
        self._advance(1)
