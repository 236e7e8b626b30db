"""Label RNN: the positives of an image as a list, each label given those before it (CNN-RNN, Wang 2016)."""

from typing import Any, cast

import torch
from torch import Tensor, nn

from trilabel.labels import Labels
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import require_positives
from trilabel.models import FeatureClassifier
from trilabel.models.heads.label_rnn import LabelRnnHead


class LabelRnn(Method):
    """The known positives of an image, frequent classes first, are the list to continue; unknown counts as absent."""

    summary = "names the positives of an image one after the other (CNN-RNN); with --head label-rnn"
    suits = "positives known, next to all of them; every other label counts as absent"
    cost = "as plain BCE, and a step of a small network for each label of a list"
    heads = ("label-rnn",)

    @classmethod
    def check(cls, settings: Any, labels: Labels) -> None:
        """Needs positives."""
        require_positives("label-rnn", labels)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """The cross-entropy of the next label, at each step of the known list; the scores are those without it."""
        parts = cast(FeatureClassifier, model)
        summary = parts.reduce_features(batch.images)
        head = cast(LabelRnnHead, parts.head)
        lists, counted = head.lists_of(batch.labels)
        likelihood = head.unroll(summary, lists).gather(2, lists.unsqueeze(2)).squeeze(2)
        loss = -torch.where(counted, likelihood, 0).sum() / counted.sum()
        with torch.no_grad():
            logits = head(summary)
        return {"loss": loss, "logits": logits}
