"""What holds for all heads that pool class maps: gap, weldon and saliency."""

import math

import pytest
import torch
from torch import nn

from tests.oracles import heads as oracle
from tests.support.head_checks import double_head, random_features
from trilabel.models import HEADS
from trilabel.models.graphs import GraphHead
from trilabel.models.heads.gap import GapHead
from trilabel.models.heads.saliency import SaliencyHead, saliency_logits
from trilabel.models.heads.semantic import SemanticHead, SemanticSettings
from trilabel.models.heads.weldon import WeldonHead
from trilabel.testing import check_head

INF = math.inf
POOLING = (GapHead, WeldonHead, SaliencyHead)
every = pytest.mark.parametrize("kind", POOLING)


def test_no_two_heads_describe_themselves_alike():
    assert len({head.description for head in HEADS.values()}) == len(HEADS)


@pytest.mark.parametrize("name", [name for name in HEADS if name != "semantic"])
def test_what_holds_for_every_head(name):
    check_head(HEADS[name])


def test_what_holds_for_every_head_holds_for_the_largest():
    check_head(SemanticHead, SemanticSettings(size=4, channels=8))


@pytest.mark.parametrize(
    ("kind", "pool"),
    [
        (WeldonHead, lambda maps: oracle.weldon(maps, 3, 3)),  # a tenth of 5 × 6 cells
        (SaliencyHead, lambda maps: oracle.saliency(maps, 0.5, 5)),
    ],
)
def test_a_head_pools_the_class_maps_of_its_linear_layer(kind, pool):
    head, feature_map = double_head(kind), random_features(2, 4, 5, 6)
    weight, bias = head.linear.weight.tolist(), head.linear.bias.tolist()
    maps = oracle.class_maps(feature_map.tolist(), weight, bias)
    features = head.reduce_features(feature_map)
    assert torch.equal(features, feature_map)
    torch.testing.assert_close(head.maps(feature_map), torch.tensor(maps, dtype=torch.float64))
    torch.testing.assert_close(head(features), torch.tensor(pool(maps), dtype=torch.float64))


@pytest.mark.parametrize("kind", [WeldonHead, SaliencyHead])
def test_gradients_are_those_of_the_formula(kind):
    head, feature_map = double_head(kind), random_features(2, 4, 3, 4).requires_grad_()
    state = dict(head.named_parameters())

    def logits(feature_map, *values):
        return torch.func.functional_call(head, dict(zip(state, values, strict=True)), feature_map)

    assert torch.autograd.gradcheck(logits, (feature_map, *state.values()))


@every
def test_one_cell(kind):
    head, feature_map = double_head(kind), random_features(2, 4, 1, 1)
    score = head.maps(feature_map)[:, :, 0, 0]
    torch.testing.assert_close(head(head.reduce_features(feature_map)), (1.5 if kind is SaliencyHead else 1) * score)


def test_an_infinite_cell_is_an_infinite_logit():
    maps = torch.zeros(1, 3, 4, 5)
    maps[0, 0, 1, 1], maps[0, 1, 2, 2] = INF, -INF
    for logits in (saliency_logits(maps), double_head(WeldonHead).pool(maps)):
        assert logits.tolist() == [[INF, -INF, 0]]


@every
def test_nan_is_not_hidden(kind):
    head, feature_map = double_head(kind), random_features(1, 4, 5, 5)
    feature_map[0, 0, 2, 3] = math.nan
    assert head(head.reduce_features(feature_map)).isnan().all()


@pytest.mark.parametrize("kind", [WeldonHead, SaliencyHead])
def test_half_precision_is_pooled_in_single(kind):
    head, maps = double_head(kind), random_features(2, 3, 14, 14, dtype=torch.bfloat16)
    logits = head.pool(maps)
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits, head.pool(maps.double()).float())
    assert head.pool(maps.double()).dtype == torch.float64
    single, feature_map = kind(4, 3), random_features(2, 4, 14, 14, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = single(feature_map)
    torch.testing.assert_close(narrow, single(feature_map), atol=0.05, rtol=0.05)


@every
def test_no_value_is_read(kind):
    """Tensors on "meta" have no values: reading one, or a shape that depends on one, fails."""
    head, feature_map = kind(4, 3).to("meta"), torch.empty(2, 4, 5, 6, device="meta", requires_grad=True)
    head(head.reduce_features(feature_map)).sum().backward()
    assert feature_map.grad.shape == feature_map.shape


def test_any_layout_of_memory():
    maps = random_features(2, 3, 5, 6)
    channels_last = maps.contiguous(memory_format=torch.channels_last)
    for pool in (saliency_logits, double_head(WeldonHead).pool):
        torch.testing.assert_close(pool(channels_last), pool(maps))


def test_weights_of_one_are_weights_of_the_others():
    assert [HEADS[name] for name in ("gap", "weldon", "saliency")] == list(POOLING)
    one, feature_map = double_head(GapHead), random_features(2, 4, 5, 6)
    for kind in POOLING[1:]:
        other = kind(4, 3).double()
        other.load_state_dict(one.state_dict())
        one.load_state_dict(other.state_dict())
        assert torch.equal(other.maps(feature_map), one.maps(feature_map))


@pytest.mark.parametrize("name", HEADS)
def test_a_head_starts_at_the_logits_it_is_given_where_it_has_biases(name):
    """Heads that pool maps: exactly, without features. Others move by as much, or not at all."""
    torch.manual_seed(0)
    head, logits = HEADS[name](4, 3), torch.tensor([-2.0, 0.5, 1.0])
    before = {key: value.clone() for key, value in head.state_dict().items()}
    head.start_at(logits)
    changed = [key for key, value in head.state_dict().items() if not torch.equal(value, before[key])]
    if HEADS[name] in POOLING:
        empty = head.reduce_features(torch.zeros(2, 4, 5, 6))
        torch.testing.assert_close(head(empty), logits.expand(2, 3))
        graph = GraphHead(HEADS[name](4, 3), nn.Identity())
        graph.start_at(logits)
        torch.testing.assert_close(graph(empty), logits.expand(2, 3))
    else:
        assert changed == (["bias"] if name == "semantic" else [])
    assert all(parameter.grad is None and parameter.requires_grad for parameter in head.parameters())
