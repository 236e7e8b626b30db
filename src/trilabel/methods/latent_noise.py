"""Latent noise: what is there and what is reported are learned separately (Misra 2016), a baseline of Huynh 2020."""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trilabel.labels import Labels
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import require_positives
from trilabel.models import FeatureClassifier
from trilabel.models.heads.latent_noise import Beliefs, LatentNoiseHead
from trilabel.settings import NoSettings


class LatentNoise(Method[NoSettings]):
    """A label is unknown because nobody reported it: the method learns both what is there and what is reported.

    The paper has positives only. A known negative means more than that nobody reported the class: it is not there.
    """

    description = "learns separately what is there and what people report of it; with --head latent-noise"
    suits = "positives known, negatives perhaps; what goes unreported depends on the image"
    heads = ("latent-noise",)

    @classmethod
    def check(cls, settings: NoSettings, labels: Labels) -> None:
        """Needs positives."""
        require_positives("latent-noise", labels)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        classifier = cast(FeatureClassifier, model)
        features = classifier.reduce_features(batch.images)
        head = cast(LatentNoiseHead, classifier.head)
        beliefs = head.beliefs(features)
        return {"loss": reporting_loss(beliefs, batch.labels), "logits": head.scores(beliefs).detach()}


def reporting_loss(beliefs: Beliefs, labels: Tensor) -> Tensor:
    """Mean over B·C labels of −log of the probability of what is known about it.

    present: p(reported) = r(1|1)·v + r(1|0)·(1 − v). unknown: 1 − p(reported).
    absent: not there, and so not reported either, (1 − v)·(1 − r(1|0)).
    """
    reported, unreported = beliefs.log_reported()
    absent = F.logsigmoid(-beliefs.present.float()) + F.logsigmoid(-beliefs.reported_if_absent.float())
    return -torch.where(labels > 0, reported, torch.where(labels < 0, absent, unreported)).mean()
