"""Curriculum labelling (Durand 2019, section 3.3): between epochs the model fills in the unknown labels it finds easy.

These weak labels are kept apart from the known ones, which never change. What one round added stays, and the next
chooses among the labels that are still unknown; or each round begins anew.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from trilabel.labels import Labels, bits
from trilabel.labels.bits import ROWS_AT_ONCE, packed, unpacked
from trilabel.methods import AllReduce
from trilabel.models.classifier import dropped
from trilabel.training.record import Relabelled
from trilabel.training.strategies import STRATEGIES, check_relabel, easy, relabel_epochs


class Relabelling(nn.Module):
    """The weak labels of all training images, a bit for present and one for absent, and how they are chosen."""

    present: Tensor  # N×⌈C/8⌉
    absent: Tensor

    def __init__(self, strategy: str, settings: Mapping[str, Any], labels: Labels) -> None:
        super().__init__()
        self.strategy = strategy
        self.settings = check_relabel(strategy, settings)
        self.labels = labels
        given = self.settings.threshold
        self.threshold = STRATEGIES[strategy].threshold if given is None else given
        self.register_buffer("present", bits.empty(*labels.shape))
        self.register_buffer("absent", bits.empty(*labels.shape))

    @staticmethod
    def memory_needed(labels: Labels) -> int:
        """Bytes of the weak labels."""
        return 2 * bits.size(*labels.shape)

    @property
    def training_dropout(self) -> float:
        """Share of the head's input to drop in training: a model must have learned with what measures its doubt."""
        return self.settings.dropout if self.strategy == "uncertainty" else 0.0

    def due(self, epoch: int, epochs: int) -> bool:
        """Whether to choose weak labels again before this epoch of a stage with this many epochs."""
        return epoch in (relabel_epochs(epochs) if self.settings.epochs is None else self.settings.epochs)

    def scores(self, model: nn.Module, images: Tensor) -> Tensor:
        """S×B×C logits of a batch: one set, or with uncertainty one for each pass."""
        summary = model.reduce_features(images)  # type: ignore[operator]
        head: Any = model.head
        if self.strategy != "uncertainty":
            return torch.stack([head(summary)])
        return torch.stack([head(dropped(summary, self.settings.dropout)) for _ in range(self.settings.passes)])

    def fill(self, labels: Tensor, rows: Tensor) -> Tensor:
        """B×C labels of these rows with unknown ones replaced by weak ones."""
        classes = labels.shape[1]
        present, absent = (unpacked(plane[rows], classes).to(labels.dtype) for plane in (self.present, self.absent))
        return torch.where(labels == 0, present - absent, labels)

    def start_round(self) -> None:
        """Before labels are chosen: removes earlier weak labels if each round begins anew."""
        if not self.settings.accumulate:
            self.present.zero_()
            self.absent.zero_()

    def choose(self, scores: Tensor, labels: Tensor, rows: Tensor) -> None:
        """Adds the easy ones of a batch: S×B×C logits, B×C known labels, B rows."""
        before = self.fill(labels, rows)
        weak = torch.where(labels == 0, before + easy(self.strategy, self.threshold, scores, before), 0)
        self.present[rows], self.absent[rows] = packed(weak > 0), packed(weak < 0)

    def sync(self, all_reduce: AllReduce) -> None:
        """Combines the choices of the processes, each for its own images."""
        for plane in (self.present, self.absent):
            # A process that added bits to a byte has a larger number than the others, which have the earlier bits.
            plane.copy_(all_reduce(plane, "max"))

    def summary(self, truth: Labels | None) -> Relabelled:
        """The number of labels to learn from and, if the truth is known, the accuracy of the weak ones.

        The true-positive rate is over the weak labels that are truly present, the true-negative rate over those that
        are truly absent; a strategy that adds no negatives has neither.
        """
        counts = np.zeros((2, 3), np.int64)  # weak absent, weak present × in truth absent, unknown, present
        for start in range(0, len(self.labels), ROWS_AT_ONCE):
            rows = np.arange(start, min(start + ROWS_AT_ONCE, len(self.labels)))
            chosen = self._weak(rows)
            against = torch.zeros_like(chosen) if truth is None else truth.rows(rows)
            places = (3 * (chosen > 0) + against + 1)[chosen != 0]
            counts += torch.bincount(places, minlength=6).view(2, 3).numpy()
        (right_absent, _, missed), (wrong, _, right_present) = counts.tolist()
        used_share = self.labels.known_share + int(counts.sum()) / max(1, math.prod(self.labels.shape))
        found = Relabelled(int(counts[1].sum()), int(counts[0].sum()), used_share)
        if truth is None:
            return found
        both = self.strategy != "positive"
        return replace(
            found,
            positives_right=_share(right_present, right_present + wrong),
            negatives_right=_share(right_absent, right_absent + missed),
            true_positive_rate=_share(right_present, right_present + missed) if both else None,
            true_negative_rate=_share(right_absent, right_absent + wrong) if both else None,
        )

    def count(self) -> int:
        """How many weak labels there are."""
        found = self.summary(None)
        return found.positives + found.negatives

    def weak_labels(self) -> sp.csr_array:
        """N×C of +1/−1."""
        chunks = np.array_split(np.arange(len(self.labels)), -(-len(self.labels) // ROWS_AT_ONCE))
        return sp.vstack([sp.csr_array(self._weak(rows).numpy()) for rows in chunks], format="csr")

    def _weak(self, rows: np.ndarray[Any, Any]) -> Tensor:
        """The weak labels of these rows on the CPU, B×C int8."""
        planes = (plane[rows[0] : rows[-1] + 1].cpu() for plane in (self.present, self.absent))
        present, absent = (unpacked(plane, self.labels.shape[1]).to(torch.int8) for plane in planes)
        return present - absent


def describe(done: Relabelled, known_share: float, epoch: int) -> str:
    """One line for the log about a relabelling."""
    if not done.positives + done.negatives:
        return f"relabelled before epoch {epoch}: no unknown label was easy enough; change relabel.threshold"
    added = [
        f"{count:,} {things}" + ("" if right is None else f" ({right:.1%} right)")
        for count, things, right in (
            (done.positives, "positives", done.positives_right),
            (done.negatives, "negatives", done.negatives_right),
        )
    ]
    used = f"{done.used_share:.1%} of labels used now ({known_share:.1%} known)"
    return f"relabelled before epoch {epoch}: {' and '.join(added)} added, {used}"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
