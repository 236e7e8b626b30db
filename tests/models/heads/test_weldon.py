"""WELDON pools what the oracle pools, cell by cell."""

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
from trilabel.models.heads.weldon import WeldonHead, WeldonSettings

shares = st.floats(0.001, 1)


def pooled(maps, *settings):
    return double_head(WeldonHead, WeldonSettings(*settings)).pool(maps)


@given(maps_with_ties(), shares, shares)
def test_it_is_the_mean_of_its_highest_and_lowest_cells(maps, top, bottom):
    cells = maps[0, 0].numel()
    expected = oracle.weldon(maps.tolist(), max(1, round(top * cells)), max(1, round(bottom * cells)))
    torch.testing.assert_close(pooled(maps, top, bottom), torch.tensor(expected, dtype=torch.float64))


def test_numbers_written_out():
    maps = torch.arange(20.0).reshape(1, 1, 4, 5)
    assert pooled(maps).item() == (18.5 + 0.5) / 2  # two cells each
    assert pooled(maps, 0.25, 0.01).item() == (17 + 0) / 2  # five cells; less than half a cell is still one
    odd = torch.arange(25.0).reshape(1, 1, 5, 5)
    assert pooled(odd, 0.1, 0.14).item() == (23.5 + 1.5) / 2  # 2.5 and 3.5 cells, rounded to even


@given(maps_with_ties())
def test_all_cells_are_average_pooling(maps):
    torch.testing.assert_close(pooled(maps, 1, 1), maps.mean((2, 3)))


def test_only_the_chosen_cells_get_a_gradient():
    maps = torch.arange(20.0).reshape(1, 1, 4, 5).requires_grad_()
    pooled(maps).sum().backward()
    assert maps.grad.flatten().tolist() == [0.25] * 2 + [0] * 16 + [0.25] * 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top": 0}, r"weldon: top and bottom must be shares, above 0 and up to 1, not 0.0 and 0.1"),
        ({"bottom": 1.1}, r"not 0.1 and 1.1"),
        ({"top": -0.1}, r"not -0.1 and 0.1"),
        ({"k": 3}, r"head 'weldon' has no setting 'k'; it has: top, bottom"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(settings, message):
    with pytest.raises(TrilabelError, match=message) as caught:
        create_model(Config(head="weldon", head_settings=settings), 3)
    assert "\n" not in str(caught.value)


def test_settings_that_are_not_finite_are_refused():
    for settings in ({"top": math.nan}, {"top": math.inf}, {"bottom": math.nan}, {"bottom": math.inf}):
        with pytest.raises(TrilabelError):
            WeldonSettings(**settings)
