"""WARP: against plain loops over all pairs."""

import torch
from hypothesis import given, settings

from tests.oracles import losses as oracle
from tests.support.loss_cases import SPREAD, TIED, assert_same, batches
from trilabel.losses import warp

quick = settings(max_examples=80, deadline=None)


@quick
@given(batches(TIED | SPREAD))
def test_warp_is_the_plain_loop(batch):
    assert_same(warp, oracle.warp, batch, frozen=True)


def test_warp_of_many_classes_is_the_plain_loop():
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(3, 40, generator=generator, dtype=torch.float64).mul_(2)
    assert_same(warp, oracle.warp, (logits, torch.randint(-1, 2, (3, 40), generator=generator)), frozen=True)


def test_rounding_takes_warp_nowhere_below_zero():
    for level in range(30, 700, 10):  # 200 absent labels that violate the margin by next to nothing
        logits = torch.full((1, 201), level * torch.pi, dtype=torch.float64)
        logits[0, 0] = torch.nextafter(logits[0, 0] + 1, torch.zeros((), dtype=torch.float64))
        assert 0 <= warp(logits, torch.tensor([[1] + [-1] * 200])) < 1e-9
