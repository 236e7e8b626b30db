"""The graph of the classes: values and gradients edge by edge, its symmetries, its edges, and that it learns."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from tests.oracles import gnn as oracle
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.models import FeatureClassifier, create_model
from trilabel.models.label_gnn import GnnSettings, LabelGnn, mean_of_others

INF = math.inf


def made(classes, hidden=None, steps=3, seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    return LabelGnn(classes, GnnSettings(hidden, steps)).to(dtype)


def scores(images, classes, seed=0, dtype=torch.float64):
    draw = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(images, classes, generator=draw, dtype=torch.float64)).to(dtype)


def nodes_of(graph, classes):
    return torch.eye(classes, dtype=torch.float64) if graph.nodes is None else F.normalize(graph.nodes)


# ---- against the oracle


@settings(max_examples=60, deadline=None)
@given(
    images=st.integers(1, 3),
    classes=st.integers(1, 6),
    hidden=st.none() | st.integers(1, 7),
    steps=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_values_and_gradients_are_those_of_every_edge(images, classes, hidden, steps, seed):
    graph, x = made(classes, hidden, steps, seed), scores(images, classes, seed).requires_grad_()
    assert (graph.nodes is None) == (hidden in (None, classes))
    expected = oracle.gnn(x, nodes_of(graph, classes), graph.message, graph.gru, steps)
    found = graph(x)
    torch.testing.assert_close(found, expected)
    wanted = [x, *graph.parameters()]
    gradient = scores(images, classes, seed + 1)
    expected_gradients = torch.autograd.grad(expected, wanted, gradient, materialize_grads=True, allow_unused=True)
    for own, one in zip(torch.autograd.grad(found, wanted, gradient), expected_gradients, strict=True):
        torch.testing.assert_close(own, one)


def test_a_step_written_out():
    """Two classes, weights of 0 but for the messages' and those of the candidate state."""
    graph = made(2, steps=1)
    for weight in graph.parameters():
        weight.data.zero_()
    graph.message.weight.data.copy_(torch.eye(2))
    graph.gru.weight_ih.data[4:] = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    # a gets (0, ReLU(−3)) = 0; b gets (2, 0), whose candidate is tanh of (0, 2). Both gates stand at a half.
    expected = [[2 + 2 / 2, -3 - 3 / 2 + math.tanh(2) / 2]]
    torch.testing.assert_close(graph(torch.tensor([[2.0, -3.0]]).double()), torch.tensor(expected).double())


@given(images=st.integers(1, 3), classes=st.integers(1, 6), seed=st.integers(0, 99))
def test_the_mean_of_others_leaves_out_oneself(images, classes, seed):
    messages = scores(images * classes, 3, seed).view(images, classes, 3)
    found = mean_of_others(messages)
    for v in range(classes):
        others = [messages[:, u] for u in range(classes) if u != v]
        expected = sum(others) / len(others) if others else torch.zeros_like(messages[:, v])
        torch.testing.assert_close(found[:, v], expected)


# ---- symmetries

ORDER = [3, 0, 4, 1, 2]


def test_images_are_independent():
    graph, x = made(5), scores(4, 5)
    for row in range(4):
        torch.testing.assert_close(graph(x[row : row + 1]), graph(x)[row : row + 1])


def test_classes_may_come_in_any_order_if_their_vectors_do():
    graph, x = made(5, hidden=3), scores(2, 5)
    before = graph(x)
    graph.nodes.data = graph.nodes.data[ORDER]
    torch.testing.assert_close(graph(x[:, ORDER]), before[:, ORDER])


def test_classes_may_come_in_any_order_if_rows_and_columns_of_the_weights_do():
    graph, x = made(5), scores(2, 5)
    before = graph(x)
    for weight in graph.parameters():
        parts = weight.data.split(5)  # the three gates of the GRU, each in the order of classes
        weight.data = torch.cat([part[ORDER][:, ORDER] if part.ndim == 2 else part[ORDER] for part in parts])
    torch.testing.assert_close(graph(x[:, ORDER]), before[:, ORDER])


def test_the_length_of_a_learned_vector_means_nothing():
    graph, x = made(5, hidden=3), scores(2, 5)
    before = graph(x)
    graph.nodes.data *= torch.tensor([[0.1], [1], [2], [30], [4]])
    torch.testing.assert_close(graph(x), before)


def test_every_class_depends_on_every_other():
    for graph in (made(5), made(5, hidden=3)):
        gradients = torch.autograd.functional.jacobian(graph, scores(1, 5))[0, :, 0]
        assert gradients.shape == (5, 5) and (gradients.abs() > 1e-9).all()


# ---- edges


@pytest.mark.parametrize(("classes", "hidden"), [(20, None), (80, None), (80, 16), (600, 32)])
def test_it_starts_near_the_plain_scores(classes, hidden):
    for seed in range(3):
        x = scores(64, classes, seed, torch.float32)
        found = made(classes, hidden, seed=seed, dtype=torch.float32)(x).detach()
        assert torch.corrcoef(torch.stack((x.flatten(), found.flatten())))[0, 1] > 0.99
        assert 1 < (x * found).sum() / (x * x).sum() < 1.25


@pytest.mark.parametrize("hidden", [None, 3])
def test_infinite_scores_stay_and_spoil_no_other(hidden):
    graph, x = made(5, hidden, dtype=torch.float32), scores(3, 5, dtype=torch.float32)
    x[0, 1], x[1, 2], x[1, 3] = INF, -INF, INF
    x.requires_grad_()
    found = graph(x)
    infinite = x.detach().isinf()
    assert torch.equal(found[infinite], x[infinite]) and found[~infinite].isfinite().all()
    found[~infinite].sum().backward()
    assert x.grad.isfinite().all() and all(weight.grad.isfinite().all() for weight in graph.parameters())
    assert graph(torch.full((1, 5), 3e38)).isfinite().all()
    assert graph(torch.full((1, 5), math.nan)).isnan().all()


def test_large_scores_are_not_cut_before_the_skip():
    x = torch.tensor([[3e6, -5.0, 0.0]])
    change = made(3, dtype=torch.float32)(x) - x
    assert change[0, 0].abs() <= 1e4  # what came through the graph


@pytest.mark.parametrize("hidden", [None, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_half_precision(hidden, dtype):
    graph, x = made(40, hidden, dtype=torch.float32), scores(4, 40, dtype=dtype)
    x.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        found = graph(x)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, graph(x.float()), atol=0.05, rtol=0.01)
    found.sum().backward()
    assert x.grad.isfinite().all() and all(weight.grad.isfinite().all() for weight in graph.parameters())


@pytest.mark.parametrize("hidden", [None, 3])
def test_half_precision_does_not_round_the_scores(hidden):
    graph, x = made(4, hidden, dtype=torch.float32), torch.tensor([[1.0001, 100.0001, -7.123456, 0.0]])
    for weight in graph.gru.parameters():
        weight.data.zero_()
    width = graph.gru.hidden_size
    graph.gru.bias_ih.data[width : 2 * width] = -100  # all forget, so that nothing but the scores is left
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(graph(x), x) and not torch.equal(x, x.bfloat16().float())


@pytest.mark.parametrize(("classes", "hidden"), [(5, None), (5, 3), (1, None)])
def test_no_value_is_read(classes, hidden):
    """Tensors on "meta" have no values: reading one, or a shape that depends on one, fails."""
    graph = made(classes, hidden).to("meta")
    x = torch.empty(2, classes, device="meta", dtype=torch.float64, requires_grad=True)
    graph(x).sum().backward()
    assert x.grad.shape == (2, classes) and all(weight.grad is not None for weight in graph.parameters())


def test_thousands_of_classes_need_no_square():
    """On "meta" nothing is computed, but every tensor that is made has a size."""
    sizes = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                sizes.append(result.numel())
            return result

    graph = LabelGnn(5_000, GnnSettings(64)).to("meta")
    with Watch():
        graph(torch.empty(16, 5_000, device="meta"))
    assert max(sizes) == 16 * 5_000 * 64
    assert sum(weight.numel() for weight in graph.parameters()) == 5_000 * 64 + 7 * 64 * 65


# ---- as a part of a model


def test_it_sits_on_any_head():
    for head in ("gap", "weldon"):
        model = create_model(Config(head=head, graph="gnn", graph_settings={"hidden": "3", "steps": "2"}), 5).eval()
        graph = model.head.graph
        assert graph.settings == GnnSettings(3, 2) and graph.nodes.shape == (5, 3)
        batch = torch.randn(2, 3, 32, 32)
        with torch.no_grad():
            feature_map = model.backbone(batch)
            reduced, plain = model.head.reduce_features(feature_map), model.head.head
            assert torch.equal(model(batch, maps=True).maps, plain.maps(feature_map))
            assert torch.equal(FeatureClassifier(model.head)(reduced).logits, graph(plain(reduced)))
            assert torch.equal(model(batch).logits, graph(plain(reduced)))
    assert create_model(Config(graph="gnn", graph_settings={"hidden": "none"}), 5).head.graph.nodes is None


def test_it_is_drawn_by_torchs_generator():
    one, two, other = made(5, 3, seed=1), made(5, 3, seed=1), made(5, 3, seed=2)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize(
    ("given_settings", "message"),
    [
        ({"hidden": 0}, "gnn: hidden and steps must be 1 or more, not hidden=0 and steps=3"),
        ({"steps": 0}, "not hidden=None and steps=0"),
        ({"hidden": -1, "steps": 2}, "not hidden=-1 and steps=2"),
        ({"size": 3}, "graph 'gnn' has no setting 'size'; it has: hidden, steps"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(given_settings, message):
    with pytest.raises(TrilabelError, match=message) as caught:
        create_model(Config(graph="gnn", graph_settings=given_settings), 3)
    assert "\n" not in str(caught.value)


# ---- learning


def loss_of(x, present):
    return F.binary_cross_entropy_with_logits(x, present)


@pytest.mark.parametrize("hidden", [None, 4])
def test_a_class_that_cannot_be_seen_is_told_by_one_that_can(hidden):
    """Class 1 is there exactly when class 0 is, and its own score is noise: the best without others is ln 2."""
    draw = torch.Generator().manual_seed(4)
    classes, a, b = 6, 0, 1

    def batch(images):
        present = (torch.rand(images, classes, generator=draw) < 0.5).float()
        present[:, b] = present[:, a]
        x = 4 * present - 2 + torch.randn(images, classes, generator=draw)
        x[:, b] = torch.randn(images, generator=draw)
        return x, present

    graph = made(classes, hidden, seed=1, dtype=torch.float32)
    optimizer = torch.optim.Adam(graph.parameters(), 0.02)
    for _ in range(300):
        x, present = batch(64)
        loss_of(graph(x), present).backward()
        optimizer.step()
        optimizer.zero_grad()
    x, present = batch(1_000)
    with torch.no_grad():
        found = graph(x)
    # The noise is not taken out, as the score itself is always part of the result.
    assert loss_of(x[:, b], present[:, b]) > math.log(2) and loss_of(found[:, b], present[:, b]) < 0.7 * math.log(2)
    rest = [v for v in range(classes) if v != b]
    assert loss_of(found[:, rest], present[:, rest]) < 1.1 * loss_of(x[:, rest], present[:, rest])
