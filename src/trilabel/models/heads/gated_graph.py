"""A gated graph network: each class has a state, which the states of related classes change (Li 2016)."""

import torch
from torch import Tensor, nn


class GatedGraph(nn.Module):
    """T rounds of messages over a weighted graph G of the classes, the same weights in every round.

    message m = [G·h ; Gᵀ·h];  update z = σ(Wz·m + Uz·h);  reset r = σ(Wr·m + Ur·h);
    candidate c = tanh(Wc·m + Uc·(r∘h));  h <- (1 − z)∘h + z∘c
    """

    def __init__(self, size: int, steps: int) -> None:
        super().__init__()
        self.steps = steps
        if not steps:  # layers that are not used would have no gradients, which several processes wait for
            return
        self.of_message = nn.Linear(2 * size, 3 * size)  # Wz, Wr and Wc in one product
        self.of_state = nn.Linear(size, 2 * size)  # Uz and Ur
        self.of_reset = nn.Linear(size, size)  # Uc

    def forward(self, states: Tensor, graph: Tensor) -> Tensor:
        """B×C×D states and a C×C graph -> B×C×D states."""
        graph = graph.to(states.dtype)
        for _ in range(self.steps):
            message = self.of_message(torch.cat((graph @ states, graph.t() @ states), 2))
            gates, candidate = message.split((2 * states.shape[2], states.shape[2]), 2)
            update, reset = torch.sigmoid(gates + self.of_state(states)).chunk(2, 2)
            states = torch.lerp(states, torch.tanh(candidate + self.of_reset(reset * states)), update)
        return states
