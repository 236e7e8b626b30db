"""What an image shows and what people report of it, as two separate answers (Misra 2016)."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trilabel.labels import Labels
from trilabel.models.heads.base import Head

# Where reports start, the same for all images: most of what is there is named, little of what is not.
_REPORTED_IF_PRESENT, _REPORTED_IF_ABSENT = 0.9, 0.05
# The features reach the reports scaled by this, so that these learn more slowly than what is seen.
_REPORT_SCALE = 0.1


@dataclass(frozen=True)
class LatentNoiseSettings:
    """Which of its two answers counts."""

    score: Literal["visual", "relevance"] = "visual"
    """visual: whether the class is there. relevance: whether people would report it."""


class Beliefs(NamedTuple):
    """What the head predicts for B images, B×C logits each."""

    present: Tensor  # v: that the class is there
    reported_if_present: Tensor  # r(1|1)
    reported_if_absent: Tensor  # r(1|0)

    def log_reported(self) -> tuple[Tensor, Tensor]:
        """(log p, log(1 − p)) of being reported, p = r(1|1)·v + r(1|0)·(1 − v), in float32."""
        present, if_present, if_absent = (logits.float() for logits in self)
        log_present, log_absent = F.logsigmoid(present), F.logsigmoid(-present)
        return (
            torch.logaddexp(log_present + F.logsigmoid(if_present), log_absent + F.logsigmoid(if_absent)),
            torch.logaddexp(log_present + F.logsigmoid(-if_present), log_absent + F.logsigmoid(-if_absent)),
        )


class LatentNoiseHead(Head[LatentNoiseSettings]):
    """Global average pooling and three linear layers: class there, reported if so, reported if not.

    p(reported) is a product of two functions of the image, and the labels alone do not show which of them is the class
    being there. So reports start at 0.9 and 0.05 for all images and learn slowly: what both could explain goes to the
    class being there. If both learned equally fast, every other class would end up inverted.
    """

    Settings = LatentNoiseSettings
    description = "whether a class is there, and whether it would be reported, separately (for method latent-noise)"

    def __init__(
        self,
        features: int,
        classes: int,
        settings: LatentNoiseSettings | None = None,
        labels: Labels | None = None,
    ) -> None:
        super().__init__(features, classes, settings, labels)
        self.visual = nn.Linear(features, classes)
        self.if_present = _constant(features, classes, _REPORTED_IF_PRESENT)
        self.if_absent = _constant(features, classes, _REPORTED_IF_ABSENT)

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×D."""
        return feature_map.mean((2, 3))

    def beliefs(self, features: Tensor) -> Beliefs:
        """B×D -> all that the method needs."""
        scaled = _REPORT_SCALE * features
        return Beliefs(self.visual(features), self.if_present(scaled), self.if_absent(scaled))

    def forward(self, features: Tensor) -> Tensor:
        """B×D -> B×C logits."""
        return self.scores(self.beliefs(features))

    def scores(self, beliefs: Beliefs) -> Tensor:
        """B×C logits of the answer that counts."""
        if self.settings.score == "visual":
            return beliefs.present
        reported, unreported = beliefs.log_reported()
        return (reported - unreported).to(beliefs.present.dtype)

    def maps(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×C×h×w: the scores of every cell; the mean of the visual ones is the logit."""
        return self.forward(feature_map.movedim(1, -1)).movedim(-1, 1)


def _constant(features: int, classes: int, probability: float) -> nn.Linear:
    """A linear layer that starts with this probability for every image."""
    linear = nn.Linear(features, classes)
    nn.init.zeros_(linear.weight)
    nn.init.constant_(linear.bias, math.log(probability / (1 - probability)))
    return linear
