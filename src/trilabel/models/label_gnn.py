"""A graph neural network over the classes (Durand 2019, algorithm 2), which refines each score by the others."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from trilabel.errors import TrilabelError

_LARGEST = 1e4  # scores beyond it are clamped for the graph: an infinite one times a closed gate would be NaN


@dataclass(frozen=True)
class GnnSettings:
    """Size of the graph's states, and how far messages travel."""

    hidden: int | None = None
    """Numbers in the state of a class; none: as many as there are classes. Thousands of classes need fewer."""
    steps: int = 3
    """Rounds of messages."""

    def __post_init__(self) -> None:
        if self.steps < 1 or (self.hidden is not None and self.hidden < 1):
            raise TrilabelError(
                f"gnn: hidden and steps must be 1 or more, not hidden={self.hidden} and steps={self.steps}"
            )


class LabelGnn(nn.Module):
    """One node per class; in each step every node gets the mean message of all others and updates its state by a GRU.

    h⁰_v = x_v·e_v;  m_v = mean over u≠v of ReLU(Linear(h_u));  h_v <- GRU(m_v, h_v), T times;
    output_v = ⟨e_v, h⁰_v + h^T_v⟩ = x_v + ⟨e_v, h^T_v⟩

    e_v is the v-th unit vector where a state has as many numbers as there are classes, else learned, of length 1.
    Infinite scores come out infinite, and the others stay finite.
    """

    Settings: ClassVar[type[GnnSettings]] = GnnSettings
    description: ClassVar[str] = "classes exchange messages, so that sure ones help to decide unsure ones"

    def __init__(self, classes: int, settings: GnnSettings | None = None) -> None:
        super().__init__()
        self.settings = settings or GnnSettings()
        hidden = self.settings.hidden or classes
        self.nodes = None if hidden == classes else nn.Parameter(torch.randn(classes, hidden))
        self.message = nn.Linear(hidden, hidden)
        self.gru = nn.GRUCell(hidden, hidden)

    def forward(self, logits: Tensor) -> Tensor:
        """B×C logits -> B×C logits, in float32 or wider."""
        images, classes = logits.shape
        scores = logits.clamp(-_LARGEST, _LARGEST)
        nodes = None if self.nodes is None else F.normalize(self.nodes)
        states = (scores.diag_embed() if nodes is None else scores[..., None] * nodes).flatten(0, 1)
        for _ in range(self.settings.steps):
            messages = F.relu(self.message(states)).view(images, classes, -1)
            states = self.gru(mean_of_others(messages).flatten(0, 1), states)
        states = states.view(images, classes, -1)
        change = states.diagonal(dim1=1, dim2=2) if nodes is None else (states * nodes).sum(2)
        return logits + change.to(torch.promote_types(logits.dtype, torch.float32))


def mean_of_others(messages: Tensor) -> Tensor:
    """B×C×H -> B×C×H: for each class the mean over all other classes, 0 where there is none."""
    classes = messages.shape[1]
    if classes == 1:
        return 0 * messages
    # (C·mean − own) / (C − 1), as one step from own past the mean: no loop over C² pairs, and one kernel.
    return torch.lerp(messages, messages.mean(1, keepdim=True), classes / (classes - 1))
