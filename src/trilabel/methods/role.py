"""Regularized online label estimation: a classifier and estimates of all labels teach each other (Cole 2021)."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.expected_positives import expected_positives
from trilabel.losses.role import role_gradients
from trilabel.methods.base import AllReduce, Batch, Method
from trilabel.methods.expected_positive import check_positives, known_weight
from trilabel.methods.lazy_adam import LazyAdamTable

_SURE = math.log(0.995 / 0.005)  # logit at which the estimate of a known label starts
_UNSURE = math.log(0.6 / 0.4)  # those of unknown labels start between minus this and this
_NETWORK_SCALE = 10.0  # learning rate of estimator=network as a multiple of the model's, where none is given,
_NETWORK_LR = 2e-3  # and its highest: at 0.01 all units die, and every image is estimated alike
_LABELS_AT_ONCE = 2**22


@dataclass(frozen=True)
class RoleSettings:
    """The table is the paper's; the other estimators are for more images × classes than memory holds."""

    expected_positives: float | None = None
    """Positives per image; none: estimated from the fully labelled images, or guessed where there are none."""
    estimator: Literal["table", "factorized", "network"] = "table"
    """table: a number for every label. factorized: `rank` numbers for every image and for every class.
    network: a small network on the model's features."""
    rank: int = 32
    """Of the factorized estimator: numbers per image and per class."""
    hidden: int = 256
    """Of the network: units of its hidden layer."""
    table_lr: float = 0.05
    """Learning rate of the numbers of a table, and of factorized, whatever the model's: at that of fine-tuning they
    would not move."""
    lr_scale: float | None = None
    """Learning rate of the estimates as a multiple of the model's, 10 in the paper; none: `table_lr`, and for a
    network 10 times the model's, at most 0.002."""
    form: Literal["released", "printed"] = "released"
    """printed: known labels weigh C times as much, C the number of classes, as in the equations of the paper; released:
    as in its code."""


class Role(Method[RoleSettings]):
    """Both classifier and estimates fit the known labels, the expected number of positives, and one another."""

    Settings = RoleSettings
    description = "estimates every unknown label while it learns, holding the expected number of positives (ROLE)"
    suits = "positives known, few negatives or none; positives per image known or estimable"
    less_memory = "use --set estimator=factorized or --set estimator=network"
    cost = "as plain BCE, and memory: 12 bytes × images × classes (table), × images × rank (factorized)"

    def __init__(
        self, settings: RoleSettings, labels: Labels, features: int = 0, validation: Labels | None = None
    ) -> None:
        super().__init__(settings, labels, features, validation)
        self.expected = expected_positives(labels, validation, settings.expected_positives)
        self.notes = (self.expected.describe(),)
        images, classes = labels.shape
        self.table: LazyAdamTable | None = None  # a row of numbers for each image
        self.estimator = Estimator()  # turns rows of the table, or features, into estimates
        if settings.estimator == "table":
            self.table = LazyAdamTable(first_estimates(labels))
        elif settings.estimator == "factorized":
            # The sum of `rank` products of numbers up to `most` is at most _UNSURE.
            most = math.sqrt(_UNSURE / settings.rank)
            self.table = LazyAdamTable(torch.empty(images, settings.rank).uniform_(-most, most))
            self.estimator = Factors(settings.rank, classes, most)
        elif not features:
            raise TrilabelError("role: estimator=network needs a model with features; use estimator=factorized")
        else:
            self.estimator = Network(features, settings.hidden, classes)

    @classmethod
    def check(cls, settings: RoleSettings, labels: Labels) -> None:
        """Needs positives and valid settings."""
        check_positives("role", settings.expected_positives, labels)
        for name, size in (("rank", settings.rank), ("hidden", settings.hidden)):
            if size < 1:
                raise TrilabelError(f"role: {name} must be at least 1, not {size}")
        for name, rate in (("table_lr", settings.table_lr), ("lr_scale", settings.lr_scale)):
            if rate is not None and not 0 < rate < math.inf:
                raise TrilabelError(f"role: {name} is a number above 0, not {rate}")

    @classmethod
    def memory_needed(cls, settings: RoleSettings, labels: Labels, features: int = 0) -> int:
        """The estimates of all images, with what their optimizer remembers."""
        images, classes = labels.shape
        columns = {"table": classes, "factorized": settings.rank, "network": 0}[settings.estimator]
        return LazyAdamTable.memory_needed(images, columns)

    def parameter_groups(self, lr: float = 1e-3) -> list[tuple[list[nn.Parameter], float]]:
        """The estimator's weights; the table has an optimizer of its own."""
        own, rates = list(self.parameters()), self.settings
        usual = min(_NETWORK_SCALE, _NETWORK_LR / lr) if rates.estimator == "network" else rates.table_lr / lr
        return [(own, rates.lr_scale or usual)] if own else []

    def start_epoch(self, epoch: int) -> None:
        """A new stage has a new optimizer, and keeps the estimates of the stage before ("LinearInit")."""
        if epoch == 1 and self.table is not None:
            self.table.reset_optimizer()

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass, the loss of classifier and estimates, and an update of the batch's rows of the table."""
        output, labels = model(batch.images), batch.labels
        logits, expected = output.logits, self.expected.value
        if self.table is None:
            estimate = self.estimator(output.features.detach(), labels)
        else:
            state = self.table.read(batch.rows)
            estimate = self.estimator(state.values, labels)
        weight = known_weight(self.settings.form, logits.shape[1])
        value, by_logits, by_estimate = role_gradients(logits, labels, estimate, expected, weight)
        loss = losses.with_gradient(logits, value, by_logits)
        if estimate.requires_grad:
            loss = loss + losses.with_gradient(estimate, torch.zeros_like(value), by_estimate)
        if self.table is not None and torch.is_grad_enabled():
            lr = self.settings.table_lr if self.settings.lr_scale is None else self.settings.lr_scale * batch.lr
            self.table.update(state, self.estimator.table_gradient(by_estimate), lr)
        return {"loss": loss, "logits": logits.detach()}

    def sync(self, all_reduce: AllReduce) -> None:
        """All processes get the rows that any of them updated."""
        if self.table is not None:
            self.table.sync(all_reduce)

    @torch.no_grad()
    def estimates(self, rows: Tensor, labels: Tensor, features: Tensor | None = None) -> Tensor:
        """B×C: the probability that each label of these images is present. estimator=network needs features (B×D)."""
        logits: Tensor = self.estimator(features if self.table is None else self.table.read(rows).values, labels)
        return torch.sigmoid(logits)


class Estimator(nn.Module):
    """Of the full table: its rows are the estimates, B×C logits."""

    def forward(self, rows: Tensor, labels: Tensor) -> Tensor:
        """Rows of the table, and labels B×C -> B×C logits."""
        return rows

    def table_gradient(self, gradient: Tensor) -> Tensor:
        """The gradient with respect to the estimates (B×C) -> that with respect to the rows of the table."""
        return gradient


class Factors(Estimator):
    """Estimates from `rank` numbers per image and per class."""

    def __init__(self, rank: int, classes: int, most: float) -> None:
        super().__init__()
        self.of_classes = nn.Parameter(torch.empty(rank, classes).uniform_(-most, most))
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, of_images: Tensor, labels: Tensor) -> Tensor:
        """B×rank, and labels B×C -> B×C logits."""
        return of_images @ self.of_classes + self.bias + _SURE * labels

    def table_gradient(self, gradient: Tensor) -> Tensor:
        """B×C -> B×rank."""
        return (gradient @ self.of_classes.detach().T).to(gradient.dtype)


class Network(Estimator):
    """Estimates from the model's features."""

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(features, hidden)
        self.last = nn.Linear(hidden, classes)
        nn.init.zeros_(self.last.weight)  # so that every unknown label starts at a half, whatever the features
        nn.init.zeros_(self.last.bias)

    def forward(self, features: Tensor, labels: Tensor) -> Tensor:
        """Features B×D, and labels B×C -> B×C logits."""
        estimate: Tensor = self.last(torch.relu(self.hidden(features))) + _SURE * labels
        return estimate


def first_estimates(labels: Labels) -> Tensor:
    """N×C logits: sure for known labels, near 0 at random for others (from torch's global generator)."""
    images, classes = labels.shape
    logits = torch.empty(images, classes).uniform_(-_UNSURE, _UNSURE)
    for rows in torch.split(torch.arange(images), max(1, _LABELS_AT_ONCE // classes)):
        known = labels.rows(rows.numpy())
        logits[rows] = torch.where(known == 0, logits[rows], _SURE * known)
    return logits
