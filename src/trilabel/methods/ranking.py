"""Ranking losses: every positive of an image should score higher than every negative."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from trilabel import losses
from trilabel.labels import Labels
from trilabel.losses import unknown_as_absent
from trilabel.methods.base import PureLoss
from trilabel.methods.checks import require_both, require_positives


@dataclass(frozen=True)
class RankingSettings:
    """Which ranking loss, and which labels rank below the positives."""

    loss: Literal["pairwise", "lsep", "warp", "ranknet"] = "pairwise"
    """pairwise: hinge on probabilities (PR of Cole 2021). lsep: smooth, on logits (Li 2017). warp: hinge on logits,
    weighted by the rank (Gong 2014; with --head embedding WSABIE). ranknet: mean of all pairs, smooth, on logits (Zhang
    2016; with --head embedding, layers=2 and word vectors Fast0Tag)."""
    unknown: Literal["absent", "ignore"] = "absent"
    """Whether an unknown label ranks below the positives as an absent one does, or takes no part."""


class Ranking(PureLoss[RankingSettings]):
    """Pairs of a positive and a negative of an image cost something where they are in the wrong order.

    Its scores rank the classes of an image; they are no probabilities.
    """

    Settings = RankingSettings
    description = "positives rank above negatives in every image: pairwise hinge (PR), LSEP, WARP or RankNet"
    suits = "positives known; with unknown=ignore positives and negatives known"

    @classmethod
    def check(cls, settings: RankingSettings, labels: Labels) -> None:
        """Needs positives, and negatives to rank them above."""
        super().check(settings, labels)
        if settings.unknown == "ignore":
            require_both("ranking with unknown=ignore", labels, "unknown=absent")
        else:
            require_positives("ranking", labels)

    @classmethod
    def loss(cls, settings: RankingSettings, logits: Tensor, labels: Tensor) -> Tensor:
        """The ranking loss that the settings name."""
        labels = labels if settings.unknown == "ignore" else unknown_as_absent(labels)
        match settings.loss:
            case "pairwise":
                # That loss ranks positives above unknown labels; so the negatives are passed as unknown.
                return losses.pairwise_ranking(logits, (labels > 0).to(labels.dtype) - (labels == 0).to(labels.dtype))
            case "lsep":
                return losses.lsep(logits, labels)
            case "warp":
                return losses.warp(logits, labels)
            case "ranknet":
                return losses.ranknet(logits, labels)
