"""A linear stage in memory: a model of features is taught, without files, validation or other processes.

It takes the very steps that the loop takes, so that with the same images it ends at the same weights.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trilabel.config import Config
from trilabel.data.images import in_order
from trilabel.labels import Labels
from trilabel.methods import Batch, Method
from trilabel.models import FeatureClassifier
from trilabel.models.heads.gap import GapHead
from trilabel.training.batches import LabelReader, epoch_order, seed_torch
from trilabel.training.head_fit import HeadFit, head_fit, start_fit
from trilabel.training.optim import ModelEma, create_optimizer, learning_rate
from trilabel.training.splits import validation_truth
from trilabel.training.stages import Stage, plan_stages

_SURVEYED_AT_ONCE = 256

Autocast = Callable[[], AbstractContextManager[object]]


class Features(Protocol):
    """Features of N samples, as a tensor has them; others may compute them when they are asked for."""

    @property
    def device(self) -> torch.device:
        """Where they are."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Tensor) -> Tensor: ...


class FeatureFit:
    """A model of features and a method, both new, and the features (N×…) and labels of what they learn from."""

    def __init__(
        self,
        config: Config,
        model: FeatureClassifier,
        method: Method[Any],
        features: Features,
        labels: Labels,
        autocast: Autocast = nullcontext,
        reach: float | None = None,
    ) -> None:
        """reach: how far weights may move; None: at the rate of the stage."""
        self.config, self.model, self.method, self.reach = config, model, method, reach
        self.features, self.labels, self.autocast = features, labels, autocast
        self.read_labels = LabelReader(labels, features.device)

    def run(self) -> None:
        """All stages, of which each is linear."""
        for number, stage in enumerate(plan_stages(self.config, self.method.warm_up_epochs)):
            start = {name: value.clone() for name, value in self.model.state_dict().items()}
            self.train(number, self.begin(stage, None if stage.warm_up else self.method.initial_logits()))
            if stage.warm_up:
                self.method.end_warm_up(_alone)
                self.model.load_state_dict(start)
        self.model.eval()

    @torch.inference_mode()
    def score(self, features: Tensor) -> Tensor:
        """N×C logits on the CPU."""
        logits: Tensor = self.model(features).logits
        return logits.float().cpu()

    def begin(self, stage: Stage, logits: Tensor | None) -> HeadFit:
        """Sets the model to where the stage begins. logits: C, where the method wants it to."""
        head, features = self.model.head, self.features
        if logits is not None:
            head.start_at(logits.to(features.device))
        if self.reach is None:
            return HeadFit(stage, self.config, passes=1, by_rows=False)
        assert isinstance(head, GapHead) and isinstance(features, Tensor)
        start_fit(head, features, validation_truth(self.labels), own_bias=logits is not None)
        return head_fit(self.config, stage, features, self.reach)

    def train(self, number: int, fit: HeadFit, first_epoch: int = 1) -> None:
        """The epochs of a stage, the `number`-th, from the first or a later one on."""
        stage, config = fit.stage, fit.config
        groups = [(list(self.model.parameters()), 1.0), *self.method.parameter_groups(stage.lr)]
        optimizer = create_optimizer(config, groups, stage.lr, fit.by_rows)
        ema = ModelEma(self.model, config.ema) if config.ema else None
        for epoch in range(first_epoch, stage.epochs + 1):
            order = epoch_order(len(self.features), config.batch_size, (config.seed, number, epoch), passes=fit.passes)
            self._start_epoch(stage, epoch)
            for step, positions in enumerate(order.batches):
                done = (epoch - 1) * len(order.batches) + step
                lr = learning_rate(config, stage.lr, done, len(order.batches), stage.epochs)
                seed_torch([config.seed, number, epoch, step, 0], self.features.device)
                share = step / len(order.batches)
                batch = self.batch(positions, epoch, lr)._replace(
                    warm_up=stage.warm_up, share=share, epochs=stage.epochs
                )
                self._step(batch, config, optimizer, step, len(order.batches))
                if ema is not None and _updates(config, step, len(order.batches)):
                    ema.update(done // config.accumulate + 1)
            self.end_epoch()
        if ema is not None:
            ema.swap()

    def batch(self, positions: NDArray[np.int64], epoch: int, lr: float) -> Batch:
        """What the method sees of the samples at these positions."""
        rows = torch.from_numpy(positions).to(self.features.device)
        return Batch(self.features[rows], None, self.read_labels(positions, rows), rows, epoch, lr)

    def end_epoch(self) -> None:
        """After the last step of an epoch."""
        self.method.sync(_alone)

    def _start_epoch(self, stage: Stage, epoch: int) -> None:
        self.method.start_epoch(epoch)
        if not stage.warm_up and self.method.surveys(epoch):
            self.model.eval()
            with torch.no_grad(), self.autocast():
                self.method.survey(self.model, self._survey_batches(epoch), _alone)
        self.model.train()

    def _survey_batches(self, epoch: int) -> Iterator[Batch]:
        for positions in in_order(len(self.features), _SURVEYED_AT_ONCE):
            yield self.batch(positions, epoch, 0.0)

    def _step(self, batch: Batch, config: Config, optimizer: torch.optim.Optimizer, step: int, steps: int) -> None:
        together = min(config.accumulate, steps - step + step % config.accumulate)
        with self.autocast():
            loss = self.method.step(self.model, batch)["loss"]
        (loss / together).backward()  # type: ignore[no-untyped-call]
        if not _updates(config, step, steps):
            return
        for group in optimizer.param_groups:
            group["lr"] = batch.lr * group["scale"]
        if config.clip_gradient is not None:
            nn.utils.clip_grad_norm_([*self.model.parameters(), *self.method.parameters()], config.clip_gradient)
        optimizer.step()
        optimizer.zero_grad()


def _updates(config: Config, step: int, steps: int) -> bool:
    """Whether the weights change after this batch."""
    return (step + 1) % config.accumulate == 0 or step + 1 == steps


def _alone(tensor: Tensor, _: str) -> Tensor:
    """What several processes have together, of one."""
    return tensor
