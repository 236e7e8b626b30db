"""A problem that a linear layer can solve, small enough to be learned in a second."""

import numpy as np
import torch
from torch import nn

from trilabel.labels import Labels
from trilabel.methods import Batch, Method
from trilabel.models import FeatureClassifier
from trilabel.models.heads.basic import GapHead

FEATURES, CLASSES = 16, 6


def linear_problem(count: int = 600, seed: int = 0) -> tuple[torch.Tensor, np.ndarray]:
    """(N×D features, N×C truth of +1/−1): about a third present, each class a half-space."""
    draw = np.random.default_rng(seed)
    features = draw.standard_normal((count, FEATURES)).astype(np.float32)
    directions = np.random.default_rng(99).standard_normal((FEATURES, CLASSES)) / np.sqrt(FEATURES)
    return torch.from_numpy(features), np.where(features @ directions > 0.4, 1, -1).astype(np.int8)


def learned(method: Method, features: torch.Tensor, labels: Labels, steps: int = 150) -> nn.Module:
    """A linear layer trained by the method on all images at once."""
    torch.manual_seed(0)
    model = FeatureClassifier(GapHead(features.shape[1], labels.shape[1]))
    optimizer = torch.optim.Adam([*model.parameters(), *method.parameters()], lr=0.05)
    rows = torch.arange(len(features))
    batch = Batch(features, None, labels.rows(rows.numpy()), rows, 1)
    for _ in range(steps):
        optimizer.zero_grad()
        method.step(model, batch)["loss"].backward()
        optimizer.step()
    return model


def share_ranked_right(scores: np.ndarray, present: np.ndarray, absent: np.ndarray) -> float:
    """Of all pairs (positive, negative) of a class, the share in which the positive scores higher."""
    right = [
        (scores[present[:, column], column][:, None] > scores[absent[:, column], column]).mean()
        for column in range(scores.shape[1])
    ]
    return float(np.mean(right))
