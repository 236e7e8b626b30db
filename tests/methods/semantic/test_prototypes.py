"""Prototypes of each class are made from its own known positives."""

import numpy as np
import torch

from trilabel.labels import Labels
from trilabel.methods.semantic import prototypes
from trilabel.methods.semantic.prototypes import Prototypes


def test_each_class_gets_the_centers_of_its_own_positives(monkeypatch):
    monkeypatch.setattr(prototypes, "_MOST_OF_A_CLASS", 3)
    dense = np.array([[1, 0, -1, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 0, 1, -1], [1, 0, 0, 0]], np.int8)
    made = Prototypes(Labels.from_signed(dense), 3, 2)
    features = torch.arange(40.0).view(5, 4, 2)
    readable = [0, 1, 3, 4]  # an image that could not be read is in no batch
    batches = [(torch.tensor([row]), features[[row]], None) for row in readable]
    made.renew(batches, lambda value, how: value)
    assert made.made.tolist() == [True, False, True, False]
    assert set(made.vectors[0, :, 0].tolist()) == {0, 32}  # of images 0, 2 and 4, spread over all; 2 is missing
    assert set(made.vectors[2, :, 0].tolist()) == {12, 28}
    assert not made.vectors[[1, 3]].any()


def test_memory():
    labels = Labels.from_signed(np.random.default_rng(0).choice(np.array([-1, 0, 1], np.int8), (50, 4)))
    made = Prototypes(labels, 3, 8)
    examples = 4 * 8 * (labels.to_signed() > 0).sum()
    assert Prototypes.memory_needed(labels, 3, 8) == made.vectors.nbytes + examples
