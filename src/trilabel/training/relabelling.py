"""Curriculum labelling (Durand 2019, section 3.3): between epochs the model fills in the unknown labels it finds easy.

What it fills in are weak labels: kept apart from the known ones, which never change, and chosen anew each time.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.labels import Labels, bits
from trilabel.labels.bits import ROWS_AT_ONCE, packed, unpacked
from trilabel.methods import AllReduce
from trilabel.settings import settings_of


class Strategy(NamedTuple):
    """What is easy, the threshold that Durand 2019 gives it, and settings that only it has."""

    what: str
    threshold: float | None
    settings: tuple[str, ...] = ()


STRATEGIES: dict[str, Strategy] = {
    "score": Strategy("[a] scores (logits) of at least the threshold, or at most its negative", 2.0),
    "proportion": Strategy("[b] of a batch's unknown labels the threshold's share, by |score|", 0.8),
    "positive": Strategy("[c] scores of at least the threshold: positives only", 5.0),
    "ensemble": Strategy("[d] as score, with the mean score of this model and those of other runs", 2.0, ("runs",)),
    "uncertainty": Strategy(
        "[e] scores whose variance is at most the threshold when features are dropped at random",
        0.3,
        ("passes", "dropout"),
    ),
    "all": Strategy("every label at once, by the sign of its score (2 steps)", None),
}
_SETTINGS_OF_ONE = {name for strategy in STRATEGIES.values() for name in strategy.settings}


@dataclass(frozen=True)
class RelabelSettings:
    """When, and how easy a label must be."""

    epochs: tuple[int, ...] | None = None
    """Before which epochs of a stage; none: half-way and at three quarters (10 and 15 of 20)."""
    threshold: float | None = None
    """What counts as easy; none: as published (2, 0.8, 5, 2 and 0.3, in the order of the strategies)."""
    passes: int = 10
    """Of uncertainty: passes with features dropped at random."""
    dropout: float = 0.5
    """Of uncertainty: the share of features that a pass drops."""
    runs: tuple[str, ...] = ()
    """Of ensemble: folders of finished runs on the same classes and image size."""


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

    def due(self, epoch: int, epochs: int) -> bool:
        """Whether to choose anew before this epoch of a stage of so many."""
        return epoch in (relabel_epochs(epochs) if self.settings.epochs is None else self.settings.epochs)

    def scores(self, model: nn.Module, images: Tensor) -> Tensor:
        """S×B×C logits of a batch: one set, or with uncertainty one for each pass."""
        summary = model.reduce_features(images)  # type: ignore[operator]
        head: Any = model.head
        if self.strategy != "uncertainty":
            return torch.stack([head(summary)])
        # Of a map whole channels: dropping single cells would hardly change what is pooled.
        drop = F.dropout if summary.ndim == 2 else F.dropout2d
        passes = [head(drop(summary, self.settings.dropout, training=True)) for _ in range(self.settings.passes)]
        return torch.stack(passes)

    def fill(self, labels: Tensor, rows: Tensor) -> Tensor:
        """B×C labels of these rows with the weak ones in the place of unknown ones."""
        classes = labels.shape[1]
        present, absent = (unpacked(plane[rows], classes).to(labels.dtype) for plane in (self.present, self.absent))
        return torch.where(labels == 0, present - absent, labels)

    def forget(self) -> None:
        """No weak label is left."""
        self.present.zero_()
        self.absent.zero_()

    def choose(self, scores: Tensor, labels: Tensor, rows: Tensor) -> None:
        """Keeps the easy ones of a batch: S×B×C logits, B×C known labels, B rows."""
        weak = easy(self.strategy, self.threshold, scores, labels)
        self.present[rows], self.absent[rows] = packed(weak > 0), packed(weak < 0)

    def sync(self, all_reduce: AllReduce) -> None:
        """Brings together what the processes chose, each for its own images; the others were forgotten before."""
        for plane in (self.present, self.absent):
            plane.copy_(all_reduce(plane, "sum"))

    def summary(self, truth: Labels | None) -> dict[str, Any]:
        """How many labels there are to learn from now and, against the truth, how right the weak ones are (table 2).

        present_right and absent_right: of the weak positives and negatives, the share that is right. The true-positive
        rate is over the weakly labelled that are in truth present, the true-negative rate over those in truth absent;
        a strategy that adds no negatives has neither.
        """
        counts = np.zeros((2, 3), np.int64)  # weak absent, weak present × in truth absent, unknown, present
        for start in range(0, len(self.labels), ROWS_AT_ONCE):
            rows = np.arange(start, min(start + ROWS_AT_ONCE, len(self.labels)))
            chosen = self._weak(rows)
            against = torch.zeros_like(chosen) if truth is None else truth.rows(rows)
            places = (3 * (chosen > 0) + against + 1)[chosen != 0]
            counts += torch.bincount(places, minlength=6).view(2, 3).numpy()
        (right_absent, _, missed), (wrong, _, right_present) = counts.tolist()
        found: dict[str, Any] = {"present": int(counts[1].sum()), "absent": int(counts[0].sum())}
        found["used_share"] = self.labels.known_share + int(counts.sum()) / max(1, math.prod(self.labels.shape))
        if truth is not None:
            both = self.strategy != "positive"
            found["present_right"] = _share(right_present, right_present + wrong)
            found["absent_right"] = _share(right_absent, right_absent + missed)
            found["true_positive_rate"] = _share(right_present, right_present + missed) if both else None
            found["true_negative_rate"] = _share(right_absent, right_absent + wrong) if both else None
        return found

    def count(self) -> int:
        """How many weak labels there are."""
        found = self.summary(None)
        return int(found["present"] + found["absent"])

    def weak_labels(self) -> sp.csr_array:
        """N×C of +1/−1."""
        chunks = np.array_split(np.arange(len(self.labels)), -(-len(self.labels) // ROWS_AT_ONCE))
        return sp.vstack([sp.csr_array(self._weak(rows).numpy()) for rows in chunks], format="csr")

    def _weak(self, rows: np.ndarray[Any, Any]) -> Tensor:
        """The weak labels of these rows on the CPU, B×C int8."""
        planes = (plane[rows[0] : rows[-1] + 1].cpu() for plane in (self.present, self.absent))
        present, absent = (unpacked(plane, self.labels.shape[1]).to(torch.int8) for plane in planes)
        return present - absent


def easy(strategy: str, threshold: float | None, scores: Tensor, labels: Tensor) -> Tensor:
    """B×C of +1/−1 where an unknown label is easy and 0 elsewhere, from S×B×C logits of S passes or models."""
    mean, limit = scores.float().mean(0), threshold or 0.0
    match strategy:
        case "score" | "ensemble":
            chosen = mean.abs() >= limit
        case "proportion":
            chosen = _largest(mean.abs(), labels == 0, limit)
        case "positive":
            chosen = mean >= limit
        case "uncertainty":
            chosen = scores.float().var(0, correction=0) <= limit
        case "all":
            chosen = torch.ones_like(labels, dtype=torch.bool)
        case _:
            raise unknown_name_error("relabelling", strategy, STRATEGIES)
    sign = (mean > 0).to(torch.int8) - (mean < 0).to(torch.int8)  # 0 for a score of 0 or NaN: it says nothing
    return torch.where(chosen & (labels == 0), sign, 0)


def _largest(sizes: Tensor, among: Tensor, share: float) -> Tensor:
    """Which of the entries `among` all are in the given share of the largest; of equal ones the first."""
    order = torch.where(among, sizes, -1.0).flatten().argsort(descending=True, stable=True)
    count = round(share * int(among.sum()))
    chosen = torch.zeros_like(among).flatten()
    chosen[order[:count]] = True
    return chosen.view_as(among)


def describe(summary: Mapping[str, Any], known_share: float, epoch: int) -> str:
    """One line on a relabelling for a person."""
    if not summary["present"] + summary["absent"]:
        return f"relabelled before epoch {epoch}: no unknown label was easy enough; relabel.threshold decides"
    added = []
    for what, things in (("present", "positives"), ("absent", "negatives")):
        right = summary.get(f"{what}_right")
        added.append(f"{summary[what]:,} {things}" + ("" if right is None else f" ({right:.1%} right)"))
    used = f"{summary['used_share']:.1%} of labels used now ({known_share:.1%} known)"
    return f"relabelled before epoch {epoch}: {' and '.join(added)} added, {used}"


def relabel_epochs(epochs: int) -> tuple[int, ...]:
    """Half-way and at three quarters of a stage: 10 and 15 of 20; never before the first, when nothing is learned."""
    return tuple(sorted({max(2, epochs // 2), max(2, 3 * epochs // 4)}))


def check_relabel(strategy: str, settings: Mapping[str, Any], stages: Sequence[int] = ()) -> RelabelSettings:
    """The settings of relabelling; refuses what makes no sense. `stages` are the epochs of each stage, if known."""
    if strategy not in STRATEGIES:
        raise unknown_name_error("relabelling", strategy, ("none", *STRATEGIES))
    chosen: RelabelSettings = settings_of(RelabelSettings, settings, strategy, "relabelling")
    _check_threshold(strategy, chosen.threshold)
    if chosen.passes < 2:
        raise TrilabelError(f"relabelling: passes is 2 or more, or nothing varies, not {chosen.passes}")
    if not 0 < chosen.dropout < 1:
        raise TrilabelError(f"relabelling: dropout is a share of features, above 0 and below 1, not {chosen.dropout}")
    if others := sorted(_SETTINGS_OF_ONE & set(settings) - set(STRATEGIES[strategy].settings)):
        owner = next(name for name, other in STRATEGIES.items() if others[0] in other.settings)
        raise TrilabelError(f"relabel.{others[0]} goes with relabelling by {owner}, not by {strategy}")
    if strategy == "ensemble" and not chosen.runs:
        raise TrilabelError("relabelling by ensemble takes the mean with other runs: name them, relabel.runs=RUN,RUN")
    if chosen.epochs is not None and (not chosen.epochs or min(chosen.epochs) < 1):
        raise TrilabelError(f"relabelling: epochs count from 1, not {chosen.epochs}")
    first = min(chosen.epochs or (2,))
    if stages and first > max(stages):
        raise TrilabelError(
            f"relabelling before epoch {first} never happens in {max(stages)} epochs; name others, such as "
            "relabel.epochs=2,3, or train for longer"
        )
    return chosen


def _check_threshold(strategy: str, threshold: float | None) -> None:
    if threshold is None:
        return
    highest = 1 if strategy == "proportion" else math.inf
    if strategy == "all" or not 0 <= threshold <= highest:
        what = "has no threshold" if strategy == "all" else f"has a threshold from 0 to {highest:g}"
        raise TrilabelError(f"relabelling by {strategy} {what}, not {threshold}")


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
