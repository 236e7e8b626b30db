"""Pairwise ranking: against the released code, and against plain loops over all pairs."""

import pytest
from hypothesis import given, settings

from tests.oracles import losses as oracle
from tests.support.loss_cases import assert_agrees, assert_same, batches, cases_of
from trilabel.losses import pairwise_ranking

quick = settings(max_examples=80, deadline=None)


@pytest.mark.parametrize("case", cases_of("pairwise_ranking"))
def test_pairwise_ranking_agrees_with_released_code(case):
    assert_agrees(pairwise_ranking, case, 1e-4)


@quick
@given(batches())
def test_pairwise_ranking_is_the_plain_loop(batch):
    assert_same(pairwise_ranking, oracle.pairwise_ranking, batch)
