"""The graph of the classes edge by edge, as Durand 2019 writes it (algorithm 2)."""

import torch
from torch import Tensor, nn


def gnn(x: Tensor, nodes: Tensor, message: nn.Linear, gru: nn.GRUCell, steps: int) -> Tensor:
    """B×C scores, C×H vectors of length 1 -> B×C scores."""
    classes = x.shape[1]
    images = []
    for scores in x:
        first = [scores[v] * nodes[v] for v in range(classes)]
        states = first
        for _ in range(steps):
            heard = []
            for v in range(classes):
                total = torch.zeros_like(nodes[v])
                for u in range(classes):
                    if u != v:
                        total = total + torch.relu(message.weight @ states[u] + message.bias) / (classes - 1)
                heard.append(total)
            states = [gru(heard[v], states[v]) for v in range(classes)]
        images.append(torch.stack([nodes[v] @ (first[v] + states[v]) for v in range(classes)]))
    return torch.stack(images)
