"""Losses on pairs: against the released code, and against plain loops over all pairs."""

import doctest

import pytest
import torch
from hypothesis import given, settings

from tests.oracles import losses as oracle
from tests.support.loss_cases import SPREAD, TIED, assert_agrees, assert_same, batches, cases_of, value_and_gradient
from trilabel.losses import lsep, pairwise_ranking, ranking, ranknet, warp

quick = settings(max_examples=80, deadline=None)


@pytest.mark.parametrize("case", cases_of("pairwise_ranking"))
def test_pairwise_ranking_agrees_with_released_code(case):
    assert_agrees(pairwise_ranking, case, 1e-4)


@quick
@given(batches())
def test_pairwise_ranking_is_the_plain_loop(batch):
    assert_same(pairwise_ranking, oracle.pairwise_ranking, batch)


@quick
@given(batches())
def test_lsep_is_the_plain_loop(batch):
    assert_same(lsep, oracle.lsep, batch)


@quick
@given(batches(TIED | SPREAD))
def test_warp_is_the_plain_loop(batch):
    assert_same(warp, oracle.warp, batch, frozen=True)


@quick
@given(batches())
def test_ranknet_is_the_plain_loop(batch):
    assert_same(ranknet, oracle.ranknet, batch)


@pytest.mark.parametrize("at_once", [1, 3 * 40 * 7, 3 * 40 * 39, 3 * 40 * 40])
def test_ranknet_of_some_classes_at_a_time_is_the_plain_loop(at_once, monkeypatch):
    monkeypatch.setattr(ranking, "_PAIRS_AT_ONCE", at_once)
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(3, 40, generator=generator, dtype=torch.float64).mul_(2)
    assert_same(ranknet, oracle.ranknet, (logits, torch.randint(-1, 2, (3, 40), generator=generator)))


def test_warp_of_many_classes_is_the_plain_loop():
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(3, 40, generator=generator, dtype=torch.float64).mul_(2)
    assert_same(warp, oracle.warp, (logits, torch.randint(-1, 2, (3, 40), generator=generator)), frozen=True)


@pytest.mark.parametrize("loss", [pairwise_ranking, lsep, warp, ranknet])
@pytest.mark.parametrize("offset", [0, -30])
def test_single_precision_is_enough(loss, offset):
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(8, 2_000, generator=generator).mul_(3).add_(offset)
    labels = torch.randint(-1, 2, (8, 2_000), generator=generator)
    value, slope = value_and_gradient(loss, logits, labels)
    expected = value_and_gradient(loss, logits.double(), labels)
    torch.testing.assert_close(value.double(), expected[0], rtol=1e-5, atol=0)
    torch.testing.assert_close(slope.double(), expected[1], rtol=1e-4, atol=1e-7)


def test_rounding_takes_warp_nowhere_below_zero():
    for level in range(30, 700, 10):  # 200 absent labels that violate the margin by next to nothing
        logits = torch.full((1, 201), level * torch.pi, dtype=torch.float64)
        logits[0, 0] = torch.nextafter(logits[0, 0] + 1, torch.zeros((), dtype=torch.float64))
        assert 0 <= warp(logits, torch.tensor([[1] + [-1] * 200])) < 1e-9


@pytest.mark.parametrize("loss", [lsep, warp, ranknet])
def test_huge_gaps_of_thousands_of_classes_stay_finite(loss):
    logits = torch.tensor([-3e38, 3e38]).repeat(20, 2_500)
    value, slope = value_and_gradient(loss, logits, torch.tensor([1, -1]).repeat(20, 2_500))
    assert value.isfinite() and value > 1e20
    assert slope.isfinite().all() and (slope[:, 0::2] < 0).all() and (slope[:, 1::2] > 0).all()


@pytest.mark.parametrize("loss", [lsep, warp, ranknet])
@pytest.mark.parametrize("label", [1, -1])
def test_an_image_with_one_kind_of_label_adds_nothing(loss, label):
    logits, labels = torch.tensor([[0.3, -1.0, 2.0], [0.1, 0.2, 0.3]]), torch.tensor([[1, -1, -1], [label, label, 0]])
    value, slope = value_and_gradient(loss, logits, labels)
    alone, its_slope = value_and_gradient(loss, logits[:1], labels[:1])
    torch.testing.assert_close(value, alone / 2)
    torch.testing.assert_close(slope, torch.stack([its_slope[0] / 2, torch.zeros(3)]))


def test_examples_in_docstrings():
    result = doctest.testmod(ranking)
    assert result.attempted > 0 and result.failed == 0
