"""Label RNN: the positives of an image as a list, each label given those before it (CNN-RNN, Wang 2016)."""

from typing import cast

import torch
from torch import Tensor, nn

from trilabel.labels import Labels
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import require_positives
from trilabel.models import FeatureClassifier
from trilabel.models.heads.label_rnn import LabelRnnHead
from trilabel.settings import NoSettings


class LabelRnn(Method[NoSettings]):
    """Learns to list the known positives of an image, frequent classes first; unknown counts as absent."""

    description = "names the positives of an image one after the other (CNN-RNN); needs --head label-rnn"
    suits = "almost all positives known; every other label counts as absent"
    cost = "as plain BCE, and a step of a small network per positive"
    heads = ("label-rnn",)

    @classmethod
    def check(cls, settings: NoSettings, labels: Labels) -> None:
        """Needs positives."""
        require_positives("label-rnn", labels)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """The cross-entropy of the next label at each step of the known list; logits are computed without that list."""
        classifier = cast(FeatureClassifier, model)
        features = classifier.reduce_features(batch.images)
        head = cast(LabelRnnHead, classifier.head)
        lists, counted = head.lists_of(batch.labels)
        likelihood = head.unroll(features, lists).gather(2, lists.unsqueeze(2)).squeeze(2)
        loss = -torch.where(counted, likelihood, 0).sum() / counted.sum()
        with torch.no_grad():
            logits = head(features)
        return {"loss": loss, "logits": logits}
