"""The labels of an image one after the other, each given those before it (CNN-RNN, Wang 2016)."""

from dataclasses import dataclass, fields

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.models.heads.base import Head

_SURE = -(2.0**-24)  # log of the largest probability below 1; logits end at 16.6


@dataclass(frozen=True)
class LabelRnnSettings:
    """Sizes of the network."""

    size: int = 64
    """Length of a label's vector."""
    hidden: int = 512
    """Length of the LSTM's state, which remembers the labels so far."""
    longest: int = 10
    """Most steps of a list, its end included; further positives of an image take no part."""


class LabelRnnHead(Head[LabelRnnSettings]):
    """Global average pooling, and an LSTM that names the positives of an image, frequent classes first, then "end".

    At each step: scores of all labels and "end" = vectors of the labels · ReLU(U·output of the LSTM + W·features), the
    vector of the last label being the LSTM's next input. A label is named once: those named already are left out of
    the softmax.
    """

    Settings = LabelRnnSettings
    description = "labels one after the other, each given those before it (CNN-RNN, for method label-rnn)"
    order: Tensor  # C: the classes, most frequent first

    def __init__(
        self,
        features: int,
        classes: int,
        settings: LabelRnnSettings | None = None,
        labels: Labels | None = None,
    ) -> None:
        super().__init__(features, classes, settings, labels)
        chosen = self.settings
        for field in fields(chosen):
            if getattr(chosen, field.name) < 1:
                raise TrilabelError(
                    f"head label-rnn: {field.name} must be at least 1, not {getattr(chosen, field.name)}"
                )
        self.classes, self.steps = classes, min(chosen.longest, classes + 1)
        # The last vector is that of "end", which also stands for the label before the first.
        self.vectors = nn.Embedding(classes + 1, chosen.size)
        nn.init.normal_(self.vectors.weight, std=chosen.size**-0.5)
        self.of_image = nn.Linear(features, chosen.size)
        self.of_output = nn.Linear(chosen.hidden, chosen.size, bias=False)
        self.gates = nn.Linear(chosen.size + chosen.hidden, 4 * chosen.hidden)
        counts = np.zeros(classes) if labels is None else labels.counts_per_class()[0]
        self.register_buffer("order", torch.from_numpy(np.argsort(-counts, kind="stable")))

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """B×D×h×w -> B×D."""
        return feature_map.mean((2, 3))

    def forward(self, features: Tensor) -> Tensor:
        """B×D -> B×C logits of the highest probability that a label had at any step of the greedy walk.

        The walk names the best label left at every step and never ends; each step is weighted by the probability that
        the list had not ended before it. So scores are comparable between images, whatever was named in them.
        """
        image = self.of_image(features)
        steps = self._walk(image)
        alive = F.pad(_log_complement(steps[:, :-1, -1]).cumsum(1), (1, 0))
        highest = (steps[:, :, :-1] + alive[:, :, None]).amax(1)
        return (highest - _log_complement(highest)).to(image.dtype)

    def unroll(self, features: Tensor, lists: Tensor) -> Tensor:
        """B×D -> B×steps×(C+1): the log-probability of each label, and of the end, at each step.

        lists: B×steps, what is named at each step (see `lists_of`).
        """
        return self._walk(self.of_image(features), lists)

    def _walk(self, image: Tensor, lists: Tensor | None = None) -> Tensor:
        """The same for projected features, B×size; without lists each step names the best label left."""
        images = image.shape[0]  # len() would be a constant where the model is exported
        output, memory = (torch.zeros(images, self.settings.hidden, device=image.device) for _ in range(2))
        named = torch.zeros(images, self.classes + 1, dtype=torch.bool, device=image.device)
        label = torch.full((images,), self.classes, device=image.device)
        steps = []
        for step in range(self.steps):
            output, memory = self._cell(label, output, memory)
            scores = F.linear(torch.relu(self.of_output(output) + image), self.vectors.weight).float()
            steps.append(scores.masked_fill(named, -torch.inf).log_softmax(1))
            label = steps[-1][:, :-1].argmax(1) if lists is None else lists[:, step]
            named = named.scatter(1, label[:, None], True)
        return torch.stack(steps, 1)

    def _cell(self, label: Tensor, output: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """A step of the LSTM, written out because torch's own does not run in half precision everywhere."""
        gates = self.gates(torch.cat([self.vectors(label), output], 1)).float()
        write, keep, show, content = gates.chunk(4, 1)
        memory = torch.sigmoid(keep) * memory + torch.sigmoid(write) * torch.tanh(content)
        return torch.sigmoid(show) * torch.tanh(memory), memory

    def lists_of(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """B×C labels -> (B×steps: positives in order, then "end" repeated; B×steps: True up to the first "end")."""
        present = labels[:, self.order] > 0
        place = present.cumsum(1) - 1
        # Labels that are not present or do not fit are written to an extra place after the list, which is cut off.
        place = torch.where(present, place, self.steps).clamp(max=self.steps)
        lists = torch.full((len(labels), self.steps + 1), self.classes, device=labels.device)
        lists = lists.scatter(1, place, self.order.expand_as(place))[:, :-1]
        step = torch.arange(self.steps, device=labels.device)
        return lists, step <= present.sum(1, keepdim=True)

    def maps(self, feature_map: Tensor) -> Tensor:
        """Raises an error: this head has no class maps."""
        raise TrilabelError("head label-rnn has no class maps: its scores depend on each other; use another head")


def _log_complement(log_probability: Tensor) -> Tensor:
    """log(1 − p) of log p."""
    return torch.log(-torch.expm1(log_probability.clamp(max=_SURE)))
