"""How unknown labels are treated while a model trains: their targets, how often these are right, and their losses.

Kim 2022: figure 4 (precision of the labels a method changes), figure 1 and table 1 (a model first learns true labels
and later memorizes false ones). Cole 2021: figure 2 (probabilities of hidden positives). If labels were
hidden on purpose, the truth is compared with; the method never sees it.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from trilabel.labels import Labels
from trilabel.labels.bits import ROWS_AT_ONCE
from trilabel.methods import AllReduce
from trilabel.training.examples import Examples
from trilabel.training.record import Example, UnknownTargets

# The loss of every label in the first epoch and its highest later on: 8 bytes per label.
_MOST_LABELS_FOLLOWED = 50_000_000
BINS = 20  # of histograms of probabilities (Wang 2023, figures 1 and 5)

# Where each kind of label is counted (see `_kind_of`): TP, TN and FN of treating unknown as absent.
_KINDS = {"known_positives": 3, "true_negatives": 0, "hidden_positives": 2}


class Diagnosis(nn.Module):
    """Counts of the current epoch and, if the truth is available, the loss of every label. On the device."""

    targets: Tensor  # 10: unknown labels by target (absent, none, present) × truth (−1, 0, +1); the rest
    histograms: Tensor  # 3×3×20: labels by label (−1, 0, +1) × truth (−1, 0, +1) × predicted probability
    soft: Tensor  # 2×20: unknown labels with a target between 0 and 1, by target: their number; summed target − truth
    kinds: Tensor  # 4×2: kind of label (see `_kind_of`) × (how many, their summed loss)
    first: Tensor  # N×C: loss in the first epoch; −1 where it was not seen
    later: Tensor  # N×C: highest loss after it

    def __init__(self, labels: Labels, truth: Labels | None) -> None:
        super().__init__()
        self.labels = labels
        self.truth = truth
        follow = truth is not None and labels.shape[0] * labels.shape[1] <= _MOST_LABELS_FOLLOWED
        size = labels.shape if follow else (0, 0)
        # Counts are float64, which has whole numbers enough and takes what `histc` gives as it is.
        self.register_buffer("targets", torch.zeros(10, dtype=torch.float64))
        self.register_buffer("histograms", torch.zeros(3, 3, BINS, dtype=torch.float64))
        self.register_buffer("soft", torch.zeros(2, BINS, dtype=torch.float64))
        self.register_buffer("kinds", torch.zeros(4, 2, dtype=torch.float64))
        self.register_buffer("first", torch.full(size, -1.0))
        self.register_buffer("later", torch.full(size, -1.0))
        self.examples = Examples(labels, truth)

    def start_epoch(self, epoch: int) -> None:
        """Resets the counts; in the first epoch of a stage also the losses."""
        for count in self.counts().values():
            count.zero_()
        if epoch == 1:
            self.first.fill_(-1.0)
            self.later.fill_(-1.0)

    def counts(self) -> dict[str, Tensor]:
        """The counts of the current epoch, by name; those of several processes add up."""
        counts = {"targets": self.targets, "soft": self.soft, "kinds": self.kinds, "histograms": self.histograms}
        return counts | {"examples": self.examples.values}

    @torch.no_grad()
    def note(
        self,
        epoch: int,
        positions: NDArray[np.int64],
        rows: Tensor,
        labels: Tensor,
        truth: Tensor | None,
        step: dict[str, Tensor],
    ) -> None:
        """Adds a step: B×C labels, truth (0 where it is also unknown), and the method's results.

        positions: of the B images; `rows` are the same on the device, which takes longer to start each of these small
        operations than to do it: they are as few as possible.
        """
        bins = bin_of(torch.sigmoid(step["logits"].float()))
        self.histograms += _histogram(_by_label_and_truth(bins, labels, truth), -4 * BINS, 9 * BINS).view(3, 3, BINS)
        self.examples.note(positions, step["logits"], step.get("targets"))
        if "targets" in step:
            target = 3 * step["targets"] if truth is None else torch.add(truth, step["targets"], alpha=3)
            self.targets += _histogram(torch.where(labels == 0, target, 5), -4, 10)
        if truth is not None:
            if "soft_targets" in step:
                self.soft += _soft_counts(step["soft_targets"], labels, truth)
            loss = F.softplus(torch.where(labels > 0, -step["logits"], step["logits"]).float())
            kind = _kind_of(labels, truth)
            self.kinds[:, 0] += _histogram(kind, 0, 4)
            for place in _KINDS.values():
                self.kinds[place, 1] += torch.where(kind == place, loss, 0).sum()
            if self.first.numel():
                if epoch == 1:
                    self.first[rows] = loss
                else:
                    self.later[rows] = torch.maximum(self.later[rows], loss)

    def sync(self, all_reduce: AllReduce) -> None:
        """Combines the losses of the processes, which saw different images."""
        self.first.copy_(all_reduce(self.first, "max"))
        self.later.copy_(all_reduce(self.later, "max"))

    def summary(self, epoch: int, all_reduce: AllReduce) -> "LabelSummary":
        """The epoch in numbers."""
        targets = all_reduce(self.targets, "sum")[:9].view(3, 3).long().tolist()
        kinds = all_reduce(self.kinds, "sum").tolist()
        counts = all_reduce(self.histograms, "sum").long()
        negatives, unknown, positives = counts.sum(1).tolist()
        hidden_negatives, _, hidden_positives = counts[1].tolist()
        histograms = {"known_positives": positives, "known_negatives": negatives, "unknown": unknown}
        if any(hidden_negatives + hidden_positives):
            histograms |= {"hidden_positives": hidden_positives, "hidden_negatives": hidden_negatives}
        chose = any(map(any, targets))
        judged, excess = all_reduce(self.soft, "sum")
        calibration = float(excess.abs().sum() / judged.sum()) if judged.any() else None
        mean_loss, highest = dict[str, float](), dict[str, float]()
        if self.truth is not None:
            mean_loss = {name: kinds[place][1] / kinds[place][0] for name, place in _KINDS.items() if kinds[place][0]}
            if epoch > 1 and self.first.numel():
                highest = self._highest_in_first(self.truth)
        return LabelSummary(
            histograms,
            _unknown_targets(targets, calibration) if chose else None,
            mean_loss,
            highest,
            self.examples.summary(all_reduce, chose),
        )

    def _highest_in_first(self, truth: Labels) -> dict[str, float]:
        """Of each kind of label, the share whose loss was highest in the first epoch."""
        counts = torch.zeros(4, 2, dtype=torch.int64)
        for start in range(0, len(self.first), ROWS_AT_ONCE):
            index = np.arange(start, min(start + ROWS_AT_ONCE, len(self.first)))
            first, later = (values[start : start + len(index)].cpu() for values in (self.first, self.later))
            kind = _kind_of(self.labels.rows(index), truth.rows(index))
            seen = (first >= 0) & (later >= 0)  # a broken image may have been left out
            for place in _KINDS.values():
                chosen = seen & (kind == place)
                counts[place] += torch.stack((chosen.sum(), (chosen & (first >= later)).sum()))
        return {
            name: int(counts[place, 1]) / int(counts[place, 0]) for name, place in _KINDS.items() if counts[place, 0]
        }


@dataclass(frozen=True)
class LabelSummary:
    """How the labels of an epoch were treated; the fields of the same names of `EpochRecord`."""

    probabilities: dict[str, list[int]]
    unknown: UnknownTargets | None
    mean_loss: dict[str, float]
    highest_loss_in_first_epoch: dict[str, float]
    examples: list[Example]


def _soft_counts(targets: Tensor, labels: Tensor, truth: Tensor) -> Tensor:
    """2×20: of unknown labels whose truth is known, by target: how many, and the sum of target − truth."""
    judged = (labels == 0) & (truth != 0)
    values = torch.stack((judged.double(), (targets.double() - truth.clamp(min=0)) * judged)).flatten(1)
    place = bin_of(targets).long().flatten().expand(2, -1)
    return torch.zeros(2, BINS, dtype=torch.float64, device=values.device).scatter_add_(1, place, values)


def _unknown_targets(counts: list[list[int]], calibration: float | None) -> UnknownTargets:
    """Counts of unknown labels by target (absent, none, present) × truth (absent, unknown, present), summed up."""
    as_absent, left_out, as_present = (sum(by_truth) for by_truth in counts)

    def right(target: int, truth: int) -> float | None:
        judged = counts[target][0] + counts[target][2]
        return counts[target][truth] / judged if judged else None

    return UnknownTargets(as_absent, left_out, as_present, right(0, 0), right(1, 2), right(2, 2), calibration)


def bin_of(probabilities: Tensor) -> Tensor:
    """The bin of [0, 1] that each is in, from 0."""
    return (probabilities * BINS).floor().clamp(0, BINS - 1)


def validation_histogram(scores: Tensor, labels: Labels | NDArray[np.int8]) -> dict[str, list[int]]:
    """Histograms over [0, 1] of the predicted probabilities of known positives and negatives of N validation images.

    scores: N×C logits.
    """
    counts = label_histogram(scores, labels)
    return {"positives": counts["positives"], "negatives": counts["negatives"]}


def label_histogram(scores: Tensor, labels: Labels | NDArray[np.int8]) -> dict[str, list[int]]:
    """Histograms over [0, 1] of the predicted probabilities of labels of N images: positives, negatives, unknown.

    scores: N×C logits.
    """
    counts = torch.zeros(3, BINS, dtype=torch.int64)
    for start in range(0, len(scores), ROWS_AT_ONCE):
        rows = np.arange(start, min(start + ROWS_AT_ONCE, len(scores)))
        known = labels.rows(rows) if isinstance(labels, Labels) else torch.from_numpy(labels[rows])
        place = bin_of(torch.sigmoid(scores[start : start + len(rows)])).long() + BINS * (known.long() + 1)
        counts += torch.bincount(place.flatten(), minlength=3 * BINS).view(3, BINS)
    return dict(zip(("negatives", "unknown", "positives"), counts.tolist(), strict=True))


def _by_label_and_truth(bins: Tensor, labels: Tensor, truth: Tensor | None) -> Tensor:
    """B×C bins, further up by BINS for each truth and by 3·BINS for each label: from −4·BINS."""
    if truth is None:
        return torch.add(bins, labels, alpha=3 * BINS)
    return torch.add(bins, torch.add(truth, labels, alpha=3), alpha=BINS)


def _histogram(places: Tensor, lowest: int, count: int) -> Tensor:
    """How often each of `count` whole numbers from `lowest` occurs; `bincount` would wait for the device."""
    return torch.histc(places.float(), count, lowest, lowest + count - 1)


def _kind_of(labels: Tensor, truth: Tensor) -> Tensor:
    """B×C int8: 3 known present; 0 truly absent, 2 truly present but unknown; 1 none of these."""
    return torch.where(labels * truth < 0, 1, torch.where(labels > 0, 3, truth + 1))
