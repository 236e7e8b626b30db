"""The saliency head pools what the oracle pools, cell by cell."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import heads as oracle
from tests.support.head_checks import double_head, maps_with_ties
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.models import create_model
from trilabel.models.heads.saliency import SaliencyHead, SaliencySettings, saliency_logits


@given(maps_with_ties(), st.floats(0, 3), st.integers(1, 30))
def test_it_is_the_mean_and_a_multiple_of_the_mean_of_the_highest_cells(maps, alpha, k):
    expected = torch.tensor(oracle.saliency(maps.tolist(), alpha, k), dtype=torch.float64)
    torch.testing.assert_close(saliency_logits(maps, alpha, k), expected)
    torch.testing.assert_close(double_head(SaliencyHead, SaliencySettings(alpha, k)).pool(maps), expected)


def test_numbers_written_out():
    maps = torch.arange(20.0).reshape(1, 1, 4, 5)
    assert saliency_logits(maps).item() == 9.5 + 0.5 * 17  # the mean of 0…19, that of 15…19


@given(maps_with_ties())
def test_without_alpha_or_with_all_cells_it_is_average_pooling(maps):
    average = maps.mean((2, 3))
    torch.testing.assert_close(saliency_logits(maps, alpha=0), average)
    torch.testing.assert_close(saliency_logits(maps, alpha=1, k=1_000), 2 * average)


def test_the_chosen_cells_get_more_gradient():
    maps = torch.arange(20.0).reshape(1, 1, 4, 5).requires_grad_()
    saliency_logits(maps, 1, 5).sum().backward()
    assert maps.grad.flatten().tolist() == pytest.approx([0.05] * 15 + [0.25] * 5)
    tied = torch.zeros(1, 1, 4, 5, requires_grad=True)
    saliency_logits(tied, 1, 5).sum().backward()
    assert tied.grad.sum().item() == pytest.approx(2)  # five of twenty equal ones, whichever


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, r"saliency: k must be 1 or more and alpha 0 or more, not k=0 and alpha=0.5"),
        ({"alpha": -1}, r"not k=5 and alpha=-1"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(settings, message):
    with pytest.raises(TrilabelError, match=message) as caught:
        create_model(Config(head="saliency", head_settings=settings), 3)
    assert "\n" not in str(caught.value)


def test_settings_that_are_not_finite_are_refused():
    for value in (math.nan, math.inf):
        with pytest.raises(TrilabelError):
            SaliencySettings(alpha=value)
