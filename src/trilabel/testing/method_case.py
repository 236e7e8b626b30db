"""A method under test: its settings, models that go with it, and batches as the training loop makes them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import torch

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods.base import Batch, Method
from trilabel.models import HEADS, FeatureClassifier, Head
from trilabel.settings import settings_of
from trilabel.testing.expecting import case

FEATURES = 5
_CELLS = 4  # of the feature map, along each side

Settings = dict[str, Any]
Moment = dict[str, Any]  # arguments of `MethodCase.batch`


@dataclass(frozen=True)
class MethodCase:
    """A method, and what it takes to test it."""

    method: type[Method[Any]]
    # Adds to settings what the method cannot do without, such as a file for these labels.
    complete: Callable[[Settings, Labels], Settings] = lambda settings, labels: settings
    # (features, classes, labels) -> a head that the method works with; None: the first that it names, or any.
    head: Callable[[int, int, Labels], Head[Any]] | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.method.__name__

    def choices(self) -> Iterator[Settings]:
        """The settings by default, and with each value of each setting that has a list of them."""
        kind = self.method.Settings
        yield {}
        for setting, hint in get_type_hints(kind).items():
            if get_origin(hint) is Literal:
                yield from ({setting: value} for value in get_args(hint) if value != getattr(kind(), setting))

    def settings(self, chosen: Settings, labels: Labels) -> Any:
        """The settings as the method's dataclass."""
        return settings_of(self.method.Settings, self.complete(chosen, labels), self.name)

    def check(self, chosen: Settings, labels: Labels) -> Any:
        """The settings, after the method has looked at settings and labels, as before every run."""
        settings = self.settings(chosen, labels)
        self.method.check(settings, labels)
        self.method.check_sample(settings, labels, full_labels(labels.shape[1]))
        return settings

    def create(self, chosen: Settings, labels: Labels, features: int | None = None) -> Method[Any]:
        """The method for these labels."""
        torch.manual_seed(0)
        features = features or self.model(labels).head.class_size or FEATURES
        return self.method(self.check(chosen, labels), labels, features, full_labels(labels.shape[1]))

    def model(self, labels: Labels) -> FeatureClassifier:
        """A model with a head that the method works with."""
        torch.manual_seed(0)
        if self.head is not None:
            return FeatureClassifier(self.head(FEATURES, labels.shape[1], labels))
        name = next(iter(self.method.heads), "saliency")  # a method for any head may use class maps
        return FeatureClassifier(HEADS.find(name)(FEATURES, labels.shape[1], None, labels))

    def batch(
        self,
        model: FeatureClassifier,
        labels: Labels,
        epoch: int = 1,
        warm_up: bool = False,
        rows: list[int] | None = None,
    ) -> Batch:
        """A batch of these rows, as the linear stage has it: random features. None: all rows."""
        drawn = torch.Generator().manual_seed(0)
        index = torch.arange(len(labels)) if rows is None else torch.tensor(rows)
        first, second = torch.randn(2, len(index), FEATURES, _CELLS, _CELLS, generator=drawn)
        with torch.no_grad():
            weak, strong = map(model.head.reduce_features, (first, second))
        two = strong if self.method.views == 2 else None
        return Batch(weak, two, labels.rows(index.numpy()), index, epoch, 1e-3, warm_up)


def each_choice(check: Callable[[MethodCase, Settings], None]) -> Callable[[MethodCase], None]:
    """The check with each choice of settings; failures name the choice."""

    @wraps(check)
    def checked(subject: MethodCase) -> None:
        """Each in turn."""
        for chosen in subject.choices():
            with case(chosen):
                check(subject, chosen)

    return checked


def refused(subject: MethodCase, chosen: Settings, labels: Labels) -> str:
    """The message with which a method refuses labels; "" if it learns from them."""
    try:
        subject.check(chosen, labels)
    except TrilabelError as error:
        return str(error)
    return ""


def full_labels(classes: int) -> Labels:
    """Labels of forty validation images, in which every class is present and absent."""
    present = np.random.default_rng(0).random((40, classes)) < 0.5
    return Labels.from_signed(np.where(present, 1, -1).astype(np.int8))


def moments(method: Method[Any]) -> Iterator[Moment]:
    """Every kind of step that the loop makes."""
    yield from ({"epoch": epoch} for epoch in (1, 2, 6))
    if method.warm_up_epochs:
        yield {"warm_up": True}


def start(method: Method[Any], moment: Moment) -> None:
    """What the loop calls before the first epoch."""
    if moment.get("epoch") == 1:
        method.start_epoch(1)


@torch.no_grad()
def survey(method: Method[Any], model: FeatureClassifier, batch: Batch) -> None:
    """The pass over all images before an epoch, if the method asks for it, as the loop makes it."""
    if not batch.warm_up and method.surveys(batch.epoch):
        method.survey(model.eval(), [batch], lambda value, how: value)
        model.train()
