"""Which unknown labels are easy enough to be filled in (Durand 2019, section 3.3), by name, with their settings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.settings import settings_of


class Strategy(NamedTuple):
    """Which labels are easy, the threshold of Durand 2019, and settings that only this strategy has."""

    what: str
    threshold: float | None
    settings: tuple[str, ...] = ()


STRATEGIES: dict[str, Strategy] = {
    "score": Strategy("[a] scores (logits) of at least the threshold, or at most its negative", 2.0),
    "proportion": Strategy("[b] the share (threshold) of a batch's unknown labels with the largest |score|", 0.8),
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
    """When to relabel, and how easy a label must be."""

    epochs: tuple[int, ...] | None = None
    """Epochs of a stage before which to relabel; none: half-way and at three quarters (10 and 15 of 20)."""
    threshold: float | None = None
    """What counts as easy; none: as published (2, 0.8, 5, 2 and 0.3, in the order of the strategies)."""
    accumulate: bool = True
    """Whether what one round added stays, and the next chooses among what is still unknown; else each begins anew."""
    passes: int = 50
    """Of uncertainty: passes with features dropped at random."""
    dropout: float = 0.2
    """Of uncertainty: the share of features that is dropped, in these passes and in training."""
    runs: tuple[str, ...] = ()
    """Of ensemble: folders of finished runs on the same classes and image size."""


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
    sign = (mean > 0).to(torch.int8) - (mean < 0).to(torch.int8)  # 0 for a score of 0 or NaN, which has no sign
    return torch.where(chosen & (labels == 0), sign, 0)


def _largest(sizes: Tensor, among: Tensor, share: float) -> Tensor:
    """Which of the entries `among` all are in the given share of the largest; of equal ones the first."""
    order = torch.where(among, sizes, -1.0).flatten().argsort(descending=True, stable=True)
    count = round(share * int(among.sum()))
    chosen = torch.zeros_like(among).flatten()
    chosen[order[:count]] = True
    return chosen.view_as(among)


def relabel_epochs(epochs: int) -> tuple[int, ...]:
    """Half-way and at three quarters of a stage: 10 and 15 of 20; never before the first epoch."""
    return tuple(sorted({max(2, epochs // 2), max(2, 3 * epochs // 4)}))


def check_relabel(strategy: str, settings: Mapping[str, Any], stages: Sequence[int] = ()) -> RelabelSettings:
    """The settings of relabelling; an error if they are invalid. `stages` are the epochs of each stage, if known."""
    if strategy not in STRATEGIES:
        raise unknown_name_error("relabelling", strategy, ("none", *STRATEGIES))
    chosen: RelabelSettings = settings_of(RelabelSettings, settings, strategy, "relabelling")
    _check_threshold(strategy, chosen.threshold)
    if chosen.passes < 2:
        raise TrilabelError(f"relabelling: passes must be 2 or more, or nothing varies, not {chosen.passes}")
    if not 0 < chosen.dropout < 1:
        raise TrilabelError(
            f"relabelling: dropout must be a share of features, above 0 and below 1, not {chosen.dropout}"
        )
    if others := sorted(_SETTINGS_OF_ONE & set(settings) - set(STRATEGIES[strategy].settings)):
        owner = next(name for name, other in STRATEGIES.items() if others[0] in other.settings)
        raise TrilabelError(f"relabel.{others[0]} is a setting of relabelling by {owner}, not by {strategy}")
    if strategy == "ensemble" and not chosen.runs:
        raise TrilabelError("relabelling by ensemble averages with other runs: give them, relabel.runs=RUN,RUN")
    if chosen.epochs is not None and (not chosen.epochs or min(chosen.epochs) < 1):
        raise TrilabelError(f"relabelling: epochs must be 1 or more, not {chosen.epochs}")
    first = min(chosen.epochs or (2,))
    if stages and first > max(stages):
        raise TrilabelError(
            f"relabelling before epoch {first} never happens in {max(stages)} epochs; choose others, such as "
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
