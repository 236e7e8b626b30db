"""The contrastive loss; its numbers are compared with the released ones in tests/methods/semantic."""

import torch

from trilabel.losses.contrastive import contrastive
from trilabel.methods.semantic.steps import likeness


def test_half_precision_around_it_changes_nothing():
    torch.manual_seed(0)
    features, labels = torch.randn(6, 5, 40), torch.randint(-1, 2, (6, 5))
    examples, draws = torch.randn(5, 7, 40), torch.rand(15, 5)
    inside = []
    for half in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            inside.append((contrastive(features, labels, draws), likeness(features, examples)))
    torch.testing.assert_close(inside[1], inside[0], rtol=0, atol=1e-6)
