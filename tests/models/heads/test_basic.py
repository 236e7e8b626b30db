"""weldon and saliency pool what the oracle pools, cell by cell, and share their weights with gap."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import heads as oracle
from trilabel.errors import TrilabelError
from trilabel.models import HEADS, create_model
from trilabel.models.heads.basic import (
    GapHead,
    SaliencyHead,
    SaliencySettings,
    WeldonHead,
    WeldonSettings,
    saliency_logits,
)

INF = math.inf
POOLING = (GapHead, WeldonHead, SaliencyHead)


def features(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype)


def made(kind, settings=None, classes=3, channels=4):
    torch.manual_seed(2)
    return kind(channels, classes, settings).double()


sizes = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5), st.integers(1, 5))
shares = st.floats(0.001, 1)


@st.composite
def maps_with_ties(draw):
    shape = draw(sizes)
    values = st.lists(st.integers(-4, 4), min_size=math.prod(shape), max_size=math.prod(shape))
    return torch.tensor(draw(values), dtype=torch.float64).reshape(shape) / 4


# ---- values


@given(maps_with_ties(), shares, shares)
def test_weldon_is_the_mean_of_its_highest_and_lowest_cells(maps, top, bottom):
    cells = maps[0, 0].numel()
    expected = oracle.weldon(maps.tolist(), max(1, round(top * cells)), max(1, round(bottom * cells)))
    logits = made(WeldonHead, WeldonSettings(top, bottom)).pool(maps)
    torch.testing.assert_close(logits, torch.tensor(expected, dtype=torch.float64))


@given(maps_with_ties(), st.floats(0, 3), st.integers(1, 30))
def test_saliency_is_the_mean_and_a_share_of_the_highest_cells(maps, alpha, k):
    expected = torch.tensor(oracle.saliency(maps.tolist(), alpha, k), dtype=torch.float64)
    torch.testing.assert_close(saliency_logits(maps, alpha, k), expected)
    torch.testing.assert_close(made(SaliencyHead, SaliencySettings(alpha, k)).pool(maps), expected)


@pytest.mark.parametrize(
    ("kind", "pool"),
    [
        (WeldonHead, lambda maps: oracle.weldon(maps, 3, 3)),  # a tenth of 5 × 6 cells
        (SaliencyHead, lambda maps: oracle.saliency(maps, 0.5, 5)),
    ],
)
def test_a_head_pools_the_class_maps_of_its_linear_layer(kind, pool):
    head, feature_map = made(kind), features(2, 4, 5, 6)
    weight, bias = head.linear.weight.tolist(), head.linear.bias.tolist()
    maps = oracle.class_maps(feature_map.tolist(), weight, bias)
    summary = head.reduce_features(feature_map)
    assert torch.equal(summary, feature_map)
    torch.testing.assert_close(head.maps(feature_map), torch.tensor(maps, dtype=torch.float64))
    torch.testing.assert_close(head(summary), torch.tensor(pool(maps), dtype=torch.float64))


def test_numbers_written_out():
    maps = torch.arange(20.0).reshape(1, 1, 4, 5)
    assert saliency_logits(maps).item() == 9.5 + 0.5 * 17  # the mean of 0…19, that of 15…19
    assert made(WeldonHead).pool(maps).item() == (18.5 + 0.5) / 2  # two cells each
    uneven = made(WeldonHead, WeldonSettings(top=0.25, bottom=0.01))  # five cells; less than half of one is still one
    assert uneven.pool(maps).item() == (17 + 0) / 2
    odd = torch.arange(25.0).reshape(1, 1, 5, 5)
    assert made(WeldonHead, WeldonSettings(0.1, 0.14)).pool(odd).item() == (23.5 + 1.5) / 2  # 2.5 and 3.5 to the even


@given(maps_with_ties())
def test_all_cells_are_average_pooling(maps):
    average = maps.mean((2, 3))
    torch.testing.assert_close(made(WeldonHead, WeldonSettings(1, 1)).pool(maps), average)
    torch.testing.assert_close(saliency_logits(maps, alpha=0), average)
    torch.testing.assert_close(saliency_logits(maps, alpha=1, k=1_000), 2 * average)


# ---- gradients


@pytest.mark.parametrize("kind", [WeldonHead, SaliencyHead])
def test_gradients_are_those_of_the_formula(kind):
    head, feature_map = made(kind), features(2, 4, 3, 4).requires_grad_()
    state = dict(head.named_parameters())

    def logits(feature_map, *values):
        return torch.func.functional_call(head, dict(zip(state, values, strict=True)), feature_map)

    assert torch.autograd.gradcheck(logits, (feature_map, *state.values()))


def test_only_the_chosen_cells_are_pulled():
    maps = torch.arange(20.0).reshape(1, 1, 4, 5).requires_grad_()
    made(WeldonHead).pool(maps).sum().backward()
    assert maps.grad.flatten().tolist() == [0.25] * 2 + [0] * 16 + [0.25] * 2
    maps.grad = None
    saliency_logits(maps, 1, 5).sum().backward()
    assert maps.grad.flatten().tolist() == pytest.approx([0.05] * 15 + [0.25] * 5)
    tied = torch.zeros(1, 1, 4, 5, requires_grad=True)
    saliency_logits(tied, 1, 5).sum().backward()
    assert tied.grad.sum().item() == pytest.approx(2)  # five of twenty equal ones, whichever


# ---- edges


@pytest.mark.parametrize("kind", POOLING)
def test_one_cell(kind):
    head, feature_map = made(kind), features(2, 4, 1, 1)
    score = head.maps(feature_map)[:, :, 0, 0]
    torch.testing.assert_close(head(head.reduce_features(feature_map)), (1.5 if kind is SaliencyHead else 1) * score)


def test_an_infinite_cell_is_an_infinite_logit():
    maps = torch.zeros(1, 3, 4, 5)
    maps[0, 0, 1, 1], maps[0, 1, 2, 2] = INF, -INF
    for logits in (saliency_logits(maps), made(WeldonHead).pool(maps)):
        assert logits.tolist() == [[INF, -INF, 0]]


@pytest.mark.parametrize("kind", POOLING)
def test_what_is_not_a_number_is_not_hidden(kind):
    head, feature_map = made(kind), features(1, 4, 5, 5)
    feature_map[0, 0, 2, 3] = math.nan
    assert head(head.reduce_features(feature_map)).isnan().all()


@pytest.mark.parametrize("kind", [WeldonHead, SaliencyHead])
def test_half_precision_is_pooled_in_single(kind):
    head, maps = made(kind), features(2, 3, 14, 14, dtype=torch.bfloat16)
    logits = head.pool(maps)
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits, head.pool(maps.double()).float())
    assert head.pool(maps.double()).dtype == torch.float64
    single, feature_map = kind(4, 3), features(2, 4, 14, 14, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = single(feature_map)
    torch.testing.assert_close(narrow, single(feature_map), atol=0.05, rtol=0.05)


@pytest.mark.parametrize("kind", POOLING)
def test_no_value_is_looked_at(kind):
    """Tensors on "meta" have no values: reading one, or a shape that depends on one, fails."""
    head, feature_map = kind(4, 3).to("meta"), torch.empty(2, 4, 5, 6, device="meta", requires_grad=True)
    head(head.reduce_features(feature_map)).sum().backward()
    assert feature_map.grad.shape == feature_map.shape


def test_any_layout_of_memory():
    maps = features(2, 3, 5, 6)
    turned = maps.contiguous(memory_format=torch.channels_last)
    for pool in (saliency_logits, made(WeldonHead).pool):
        torch.testing.assert_close(pool(turned), pool(maps))


# ---- as parts of a model


def test_weights_of_one_are_weights_of_the_others():
    assert [HEADS[name] for name in ("gap", "weldon", "saliency")] == list(POOLING)
    one, feature_map = made(GapHead), features(2, 4, 5, 6)
    for kind in POOLING[1:]:
        other = kind(4, 3).double()
        other.load_state_dict(one.state_dict())
        one.load_state_dict(other.state_dict())
        assert torch.equal(other.maps(feature_map), one.maps(feature_map))


def test_settings_reach_the_head():
    model = create_model("tiny", "weldon", 3, head_settings={"top": "0.25", "bottom": "1"})
    assert model.head.settings == WeldonSettings(0.25, 1.0)
    model = create_model("tiny", "saliency", 3, head_settings={"alpha": "2", "k": "3"})
    assert model.head.settings == SaliencySettings(2.0, 3)
    assert create_model("tiny", "saliency", 3).head.settings == SaliencySettings()


@pytest.mark.parametrize(
    ("head", "settings", "message"),
    [
        ("weldon", {"top": 0}, r"weldon: top and bottom are shares, in \(0, 1\], not 0.0 and 0.1"),
        ("weldon", {"bottom": 1.1}, r"not 0.1 and 1.1"),
        ("weldon", {"top": -0.1}, r"not -0.1 and 0.1"),
        ("weldon", {"k": 3}, r"head 'weldon' has no setting 'k'; it has: top, bottom"),
        ("saliency", {"k": 0}, r"saliency: k is 1 or more and alpha a number from 0, not k=0 and alpha=0.5"),
        ("saliency", {"alpha": -1}, r"not k=5 and alpha=-1"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(head, settings, message):
    with pytest.raises(TrilabelError, match=message) as caught:
        create_model("tiny", head, 3, head_settings=settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, INF])
def test_what_is_no_number_is_refused(value):
    for make in (
        lambda: WeldonSettings(top=value),
        lambda: WeldonSettings(bottom=value),
        lambda: SaliencySettings(alpha=value),
    ):
        with pytest.raises(TrilabelError):
            make()
