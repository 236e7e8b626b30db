"""RankNet: against plain loops over all pairs, however many are made at once."""

import pytest
import torch
from hypothesis import given, settings

from tests.oracles import losses as oracle
from tests.support.loss_cases import assert_same, batches
from trilabel.losses import ranknet

quick = settings(max_examples=80, deadline=None)


@quick
@given(batches())
def test_ranknet_is_the_plain_loop(batch):
    assert_same(ranknet, oracle.ranknet, batch)


@pytest.mark.parametrize("at_once", [1, 3 * 40 * 7, 3 * 40 * 39, 3 * 40 * 40])
def test_ranknet_of_some_classes_at_a_time_is_the_plain_loop(at_once):
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(3, 40, generator=generator, dtype=torch.float64).mul_(2)
    labels = torch.randint(-1, 2, (3, 40), generator=generator)
    assert_same(lambda x, z: ranknet(x, z, at_once), oracle.ranknet, (logits, labels))
