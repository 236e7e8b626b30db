"""Label RNN: the presents of an image as a list, each label given those before it (CNN-RNN, Wang 2016)."""

from typing import Any, cast

import torch
from torch import Tensor, nn

from trilabel.labels import Labels
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import require_presents
from trilabel.models import HeadOnly
from trilabel.models.label_rnn import LabelRnnHead


class LabelRnn(Method):
    """The known presents of an image, frequent classes first, are the list to continue; unknown counts as absent."""

    summary = "names the presents of an image one after the other (CNN-RNN); with --head label-rnn"
    suits = "presents known, next to all of them; every other label counts as absent"
    cost = "as plain BCE, and a step of a small network for each label of a list"
    heads = ("label-rnn",)

    @classmethod
    def check(cls, settings: Any, labels: Labels) -> None:
        """Needs presents."""
        require_presents("label-rnn", labels)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """The cross-entropy of the next label, at each step of the known list; the scores are those without it."""
        parts = cast(HeadOnly, model)
        summary = parts.summarise(batch.images)
        head = cast(LabelRnnHead, parts.head)
        lists, counted = head.lists_of(batch.labels)
        likelihood = head.unroll(summary, lists).gather(2, lists.unsqueeze(2)).squeeze(2)
        loss = -torch.where(counted, likelihood, 0).sum() / counted.sum()
        with torch.no_grad():
            logits = head(summary)
        return {"loss": loss, "logits": logits}
