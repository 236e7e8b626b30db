"""The linear problem with one known positive per image, and a loop over batches for methods that remember images."""

import numpy as np
import torch
from torch import nn

from tests.support.linear_problem import linear_problem
from trilabel.labels import Labels
from trilabel.methods import Batch, Method
from trilabel.models import FeatureClassifier
from trilabel.models.heads.gap import GapHead


def one_positive_problem(seed: int = 0) -> tuple[torch.Tensor, np.ndarray, Labels, Labels]:
    """(features, truth, labels with one positive per image, full labels of 60 further images)."""
    features, truth = linear_problem(660, seed)
    some = np.flatnonzero((truth > 0).any(1))
    features, truth = features[some], truth[some]
    draw = np.random.default_rng(5)
    dense = np.zeros_like(truth)
    dense[np.arange(len(truth)), [draw.choice(np.flatnonzero(row > 0)) for row in truth]] = 1
    return features[60:], truth[60:], Labels.from_signed(dense[60:]), Labels.from_signed(truth[:60])


def batches(count: int, epochs: int, size: int = 32) -> list[tuple[int, torch.Tensor]]:
    """(epoch, rows) of every step."""
    draw = torch.Generator().manual_seed(0)
    shuffled = [(epoch, torch.randperm(count, generator=draw)) for epoch in range(1, epochs + 1)]
    return [(epoch, rows) for epoch, order in shuffled for rows in torch.split(order, size)]


def linear_model(features: int, classes: int) -> nn.Module:
    torch.manual_seed(0)
    return FeatureClassifier(GapHead(features, classes))


def train(
    method: Method,
    model: nn.Module,
    features: torch.Tensor,
    labels: Labels,
    epochs: int = 20,
    lr: float = 0.01,
    model_scale: float = 1.0,
) -> None:
    """Trains as the loop does: Adam over model and method, in batches. model_scale: as `Config.head_lr_scale`."""
    groups = [(list(model.parameters()), model_scale), *method.parameter_groups(lr)]
    optimizer = torch.optim.Adam([{"params": own, "lr": lr * scale} for own, scale in groups])
    started = 0
    for epoch, rows in batches(len(features), epochs):
        if epoch > started:
            method.start_epoch(epoch)
            started = epoch
        optimizer.zero_grad()
        method.step(model, Batch(features[rows], None, labels.rows(rows.numpy()), rows, epoch, lr))["loss"].backward()
        optimizer.step()


def found(model: nn.Module, features: torch.Tensor, truth: np.ndarray, labels: Labels) -> tuple[float, float]:
    """(share of the hidden positives that are called present, share of unknown labels that are called right)."""
    called, unknown = model(features).logits.detach().numpy() > 0, labels.to_signed() == 0
    return float(called[(truth > 0) & unknown].mean()), float((called == (truth > 0))[unknown].mean())
