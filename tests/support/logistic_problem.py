"""Labels drawn from known probabilities that a linear layer can learn, and of which some are hidden at known rates."""

import numpy as np
import torch

from trilabel.labels import Labels

FEATURES, CLASSES = 12, 8


def logistic_problem(count: int = 1200, seed: int = 0) -> tuple[torch.Tensor, np.ndarray]:
    """(N×D features, N×C truth of +1/−1): each class is drawn with a probability that depends on the features."""
    draw = np.random.default_rng(seed)
    directions = np.random.default_rng(99).standard_normal((FEATURES, CLASSES))
    features = draw.standard_normal((count, FEATURES)).astype(np.float32)
    logits = 3 * features @ directions / np.sqrt(FEATURES) - np.linspace(1.0, 3.0, CLASSES)
    return torch.from_numpy(features), np.where(draw.random(logits.shape) < 1 / (1 + np.exp(-logits)), 1, -1)


def observed(truth: np.ndarray, positives: object, negatives: object, seed: int = 1) -> Labels:
    """The truth with positives known at these rates (one, or one for each class), and negatives at theirs."""
    known = np.random.default_rng(seed).random(truth.shape) < np.where(truth > 0, positives, negatives)
    return Labels.from_signed(np.where(known, truth, 0).astype(np.int8))


def one_named(truth: np.ndarray, seed: int = 1) -> Labels:
    """One of each image's positives, drawn at random; nothing of an image without."""
    chance = np.random.default_rng(seed).random(truth.shape) * (truth > 0)
    named = (chance == chance.max(1, keepdims=True)) & (truth > 0)
    return Labels.from_signed(named.astype(np.int8))
