"""Single labels of the training images that a run follows, epoch by epoch (see `training/examples.py`)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trilabel.training.record import EpochRecord

KINDS = ("known positive", "hidden positive", "true negative", "unknown")


@dataclass
class LabelCourse:
    """One label of one image, with a value for each epoch; None where it was not recorded."""

    name: str
    kind: str  # one of KINDS
    logits: list[float | None]
    targets: list[int | None]

    def epochs_with(self, target: int) -> list[int]:
        """The epochs, from 1, in which an unknown label had this target."""
        known = self.kind == "known positive"
        return [] if known else [epoch for epoch, value in enumerate(self.targets, 1) if value == target]

    def losses(self) -> list[float | None]:
        """As known, or as absent if unknown."""
        sign = -1 if self.kind == "known positive" else 1
        return [None if x is None else float(np.logaddexp(0, sign * x)) for x in self.logits]


def courses(history: Sequence[EpochRecord]) -> dict[str, list[LabelCourse]]:
    """The followed labels of each image: known positives first, then hidden ones, then the others."""
    found: dict[str, dict[str, LabelCourse]] = {}
    for number, record in enumerate(history):
        for example in record.examples:
            of_image = found.setdefault(example.image, {})
            for place, name in enumerate(example.classes):
                if name not in of_image:
                    kind = _kind_of(example.labels[place], example.truth[place] if example.truth else 0)
                    of_image[name] = LabelCourse(name, kind, [None] * len(history), [None] * len(history))
                of_image[name].logits[number] = example.logits[place]
                of_image[name].targets[number] = example.targets[place] if example.targets else None
    return {image: sorted(each.values(), key=lambda one: KINDS.index(one.kind)) for image, each in found.items()}


def _kind_of(label: int, truth: int) -> str:
    if label > 0:
        return "known positive"
    return "hidden positive" if truth > 0 else "true negative" if truth < 0 else "unknown"
