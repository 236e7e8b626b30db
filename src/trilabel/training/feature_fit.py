"""A linear stage in memory: a head learned from features, without files, validation or other processes.

It takes the very steps that the loop takes, so that with the same images it ends at the same weights.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trilabel.config import Config
from trilabel.data.images import in_order
from trilabel.labels import Labels
from trilabel.methods import Batch, Method
from trilabel.models import FeatureClassifier
from trilabel.models.heads.base import Head
from trilabel.models.heads.gap import GapHead
from trilabel.training.batches import LabelReader, epoch_order, seed_torch
from trilabel.training.head_fit import HeadFit, head_fit, start_fit
from trilabel.training.optim import ModelEma, create_optimizer, learning_rate
from trilabel.training.splits import validation_truth
from trilabel.training.stages import Stage, plan_stages

_SURVEYED_AT_ONCE = 256

Autocast = Callable[[], AbstractContextManager[object]]


class FeatureFit:
    """A head and a method, both new, and the features (N×…) and labels of the images that they learn from."""

    def __init__(
        self,
        config: Config,
        head: Head[Any],
        method: Method[Any],
        features: Tensor,
        labels: Labels,
        autocast: Autocast = nullcontext,
    ) -> None:
        self.config, self.head, self.method = config, head, method
        self.features, self.labels, self.autocast = features, labels, autocast
        self.model = FeatureClassifier(head)
        self.read_labels = LabelReader(labels, features.device)

    def run(self, reach: float | None) -> None:
        """All stages, of which each is linear. reach: how far weights may move; None: at the rate of the stage."""
        for number, stage in enumerate(plan_stages(self.config, self.method.warm_up_epochs)):
            start = {name: value.clone() for name, value in self.head.state_dict().items()}
            self._train(number, self._begin(stage, reach), by_rows=reach is not None)
            if stage.warm_up:
                self.method.end_warm_up(lambda tensor, _: tensor)
                self.head.load_state_dict(start)
        self.model.eval()

    @torch.inference_mode()
    def score(self, features: Tensor) -> Tensor:
        """N×C logits on the CPU."""
        logits: Tensor = self.model(features).logits
        return logits.float().cpu()

    def _begin(self, stage: Stage, reach: float | None) -> HeadFit:
        logits = None if stage.warm_up else self.method.initial_logits()
        if logits is not None:
            self.head.start_at(logits.to(self.features.device))
        if reach is None:
            return HeadFit(stage, self.config, 1)
        assert isinstance(self.head, GapHead)
        start_fit(self.head, self.features, validation_truth(self.labels), own_bias=logits is not None)
        return head_fit(self.config, stage, self.features, reach)

    def _train(self, number: int, fit: HeadFit, by_rows: bool) -> None:
        stage, config = fit.stage, fit.config
        groups = [(list(self.head.parameters()), 1.0), *self.method.parameter_groups(stage.lr)]
        optimizer = create_optimizer(config, groups, stage.lr, by_rows)
        ema = ModelEma(self.model, config.ema) if config.ema else None
        for epoch in range(1, stage.epochs + 1):
            order = epoch_order(len(self.features), config.batch_size, (config.seed, number, epoch), passes=fit.passes)
            self._start_epoch(stage, epoch)
            for step, positions in enumerate(order.batches):
                done = (epoch - 1) * len(order.batches) + step
                lr = learning_rate(config, stage.lr, done, len(order.batches), stage.epochs)
                seed_torch([config.seed, number, epoch, step, 0], self.features.device)
                share = step / len(order.batches)
                batch = self._batch(positions, epoch, lr)._replace(
                    warm_up=stage.warm_up, share=share, epochs=stage.epochs
                )
                self._step(batch, optimizer, step, len(order.batches))
                if ema is not None and _updates(config, step, len(order.batches)):
                    ema.update(done // config.accumulate + 1)
        if ema is not None:
            ema.swap()

    def _start_epoch(self, stage: Stage, epoch: int) -> None:
        self.method.start_epoch(epoch)
        if not stage.warm_up and self.method.surveys(epoch):
            self.model.eval()
            with torch.no_grad(), self.autocast():
                self.method.survey(self.model, self._survey_batches(epoch), lambda tensor, _: tensor)
        self.model.train()

    def _survey_batches(self, epoch: int) -> Iterator[Batch]:
        for positions in in_order(len(self.features), _SURVEYED_AT_ONCE):
            yield self._batch(positions, epoch, 0.0)

    def _batch(self, positions: NDArray[np.int64], epoch: int, lr: float) -> Batch:
        rows = torch.from_numpy(positions).to(self.features.device)
        return Batch(self.features[rows], None, self.read_labels(positions, rows), rows, epoch, lr)

    def _step(self, batch: Batch, optimizer: torch.optim.Optimizer, step: int, steps: int) -> None:
        config = self.config
        together = min(config.accumulate, steps - step + step % config.accumulate)
        with self.autocast():
            loss = self.method.step(self.model, batch)["loss"]
        (loss / together).backward()  # type: ignore[no-untyped-call]
        if not _updates(config, step, steps):
            return
        for group in optimizer.param_groups:
            group["lr"] = batch.lr * group["scale"]
        if config.clip_gradient is not None:
            nn.utils.clip_grad_norm_([*self.head.parameters(), *self.method.parameters()], config.clip_gradient)
        optimizer.step()
        optimizer.zero_grad()


def _updates(config: Config, step: int, steps: int) -> bool:
    """Whether the weights change after this batch."""
    return (step + 1) % config.accumulate == 0 or step + 1 == steps
