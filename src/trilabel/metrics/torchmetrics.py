"""The metrics as `torchmetrics.Metric`, for Lightning and other loops; needs the package torchmetrics.

Unknown labels count nowhere. Processes gather what each has seen, as torchmetrics does; with `rows`, an image that
several of them saw (samplers fill the last batch up with images of the first) counts once.
"""

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from trilabel.errors import TrilabelError
from trilabel.metrics.average_precision import mean_average_precision
from trilabel.metrics.counts import Threshold
from trilabel.metrics.evaluate import evaluate

_NO_ROW = -1


class KnownLabelMetric(Metric):
    """Keeps scores and labels until `compute`; C classes."""

    is_differentiable = False
    full_state_update = False
    scores: list[Tensor]  # each B×C
    labels: list[Tensor]  # each B×C, int8
    rows: list[Tensor]  # each B; −1 where they were not given

    def __init__(self, classes: int, **options: Any) -> None:
        """options: those of `torchmetrics.Metric`, such as sync_on_compute."""
        super().__init__(**options)
        self.classes = classes
        for name in ("scores", "labels", "rows"):
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, scores: Tensor, labels: Tensor, rows: Tensor | None = None) -> None:
        """Scores B×C (the higher the more likely present), labels B×C in +1/−1/0.

        rows [B]: positions of the images in their data set, so that each counts once.
        """
        if scores.shape != labels.shape or scores.shape[1:] != (self.classes,):
            shapes = f"scores {tuple(scores.shape)} and labels {tuple(labels.shape)}"
            raise TrilabelError(f"{shapes}; both must be images × {self.classes} classes")
        self.scores.append(scores.detach().float())
        self.labels.append(labels.detach().to(torch.int8))
        given = torch.full((len(scores),), _NO_ROW) if rows is None else rows.detach().long()
        self.rows.append(given.to(scores.device))

    def sync(self, *arguments: Any, **options: Any) -> None:
        """Gathers what all processes have seen; one that saw no image takes part with nothing."""
        if not len(self.scores):
            self._append_nothing()
        super().sync(*arguments, **options)

    def gathered(self) -> tuple[Tensor, Tensor]:
        """(scores N×C, labels N×C) of all images, each once."""
        if not len(self.scores):
            self._append_nothing()
        scores, labels, rows = map(dim_zero_cat, (self.scores, self.labels, self.rows))
        order = torch.argsort(rows, stable=True)
        again = (rows[order].diff(prepend=rows.new_full((1,), _NO_ROW)) == 0) & (rows[order] != _NO_ROW)
        kept = order[~again]
        return scores[kept], labels[kept]

    def _append_nothing(self) -> None:
        self.scores.append(torch.empty(0, self.classes, device=self.device))
        self.labels.append(torch.empty(0, self.classes, dtype=torch.int8, device=self.device))
        self.rows.append(torch.empty(0, dtype=torch.int64, device=self.device))


class MeanAveragePrecision(KnownLabelMetric):
    """The mAP over known labels (see `metrics.average_precision`); nan where no class has an AP.

    >>> metric = MeanAveragePrecision(classes=2)
    >>> metric.update(torch.tensor([[0.9, 0.1], [0.4, 0.2], [0.7, 0.3]]), torch.tensor([[1, -1], [1, 0], [-1, -1]]))
    >>> metric.compute()
    tensor(0.8333)
    """

    higher_is_better = True

    def compute(self) -> Tensor:
        """A scalar."""
        return torch.tensor(mean_average_precision(*self.gathered()), device=self.device, dtype=torch.float32)


class Evaluation(KnownLabelMetric):
    """Every number of `metrics.evaluate`, by name: mAP, CF1, OF1, …; nan where one is undefined."""

    def __init__(self, classes: int, threshold: Threshold = 0.5, **options: Any) -> None:
        """threshold: the score from which a class counts as present, one or one for each class."""
        super().__init__(classes, **options)
        self.threshold = threshold

    def compute(self) -> dict[str, Tensor]:
        """Scalars by name."""
        found = evaluate(*self.gathered(), self.threshold)
        numbers = {name: value for name, value in found.items() if not isinstance(value, list)}
        return {
            name: torch.tensor(float("nan") if value is None else float(value), device=self.device)
            for name, value in numbers.items()
        }
