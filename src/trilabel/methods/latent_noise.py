"""Latent noise: what is there and what is reported are learned apart (Misra 2016), a baseline of Huynh 2020."""

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trilabel.labels import Labels
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import require_positives
from trilabel.models import FeatureClassifier
from trilabel.models.heads.latent_noise import Beliefs, LatentNoiseHead


class LatentNoise(Method):
    """A label is unknown because nobody reported it: that is what is learned, and what is there behind it.

    The paper knows positives only. A known absent says more than that nobody reported the class: it is not there.
    """

    summary = "learns what is there apart from what people report of it; with --head latent-noise"
    suits = "positives known, and negatives perhaps; what is missing depends on what the image looks like"
    heads = ("latent-noise",)

    @classmethod
    def check(cls, settings: Any, labels: Labels) -> None:
        """Needs positives."""
        require_positives("latent-noise", labels)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        parts = cast(FeatureClassifier, model)
        summary = parts.reduce_features(batch.images)
        head = cast(LatentNoiseHead, parts.head)
        beliefs = head.beliefs(summary)
        return {"loss": reporting_loss(beliefs, batch.labels), "logits": head.scores(beliefs).detach()}


def reporting_loss(beliefs: Beliefs, labels: Tensor) -> Tensor:
    """Mean over B·C labels of −log of the probability of what is known of each.

    present: p(reported) = r(1|1)·v + r(1|0)·(1 − v). unknown: 1 − p(reported).
    absent: not there, and so not reported either, (1 − v)·(1 − r(1|0)).
    """
    reported, unreported = beliefs.log_reported()
    absent = F.logsigmoid(-beliefs.present.float()) + F.logsigmoid(-beliefs.reported_if_absent.float())
    return -torch.where(labels > 0, reported, torch.where(labels < 0, absent, unreported)).mean()
