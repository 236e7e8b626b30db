"""IMCL's memory holds the most recent images."""

import numpy as np
import pytest
import torch

from trilabel.methods.imcl.memory import Memory


@pytest.mark.parametrize("size", [1, 4, 6, 20])
def test_the_memory_is_a_queue(size):
    memory, queue, draw = Memory(size, 2, 3), [], np.random.default_rng(0)
    for _ in range(12):
        rows = torch.from_numpy(draw.permutation(50)[: draw.integers(1, 7)])
        labels, features = torch.rand(len(rows), 2), torch.rand(len(rows), 3)
        memory.add(rows, labels, features)
        queue = [*queue, *zip(rows.tolist(), labels.tolist(), features.tolist(), strict=True)][-size:]
        held = zip(memory.rows.tolist(), memory.labels.tolist(), memory.features.tolist(), strict=True)
        assert sorted(entry for entry in held if entry[0] >= 0) == sorted(queue)
