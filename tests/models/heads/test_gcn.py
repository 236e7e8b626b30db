"""The GCN head: its graph and its scores number by number, and that classes learn from their neighbors."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import baselines as oracle
from tests.support.linear_problem import linear_problem
from tests.support.one_positive import train
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import create_method
from trilabel.models import FeatureClassifier, create_model
from trilabel.models.heads.gcn import GcnHead, GcnSettings, class_graph
from trilabel.testing import check_head
from trilabel.testing.heads import FEATURES, drawn_labels

SMALL = GcnSettings(size=3, hidden=5)


@pytest.mark.parametrize("pool", ["max", "mean"])
def test_it_is_a_head(pool):
    check_head(GcnHead, GcnSettings(size=3, hidden=5, pool=pool))


def test_it_is_a_head_with_vectors_from_a_file(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("".join(f"{name} 2 1 -0.5\n" for name in drawn_labels().classes), encoding="utf-8")
    chosen = GcnSettings(str(file), 3, 5)
    check_head(GcnHead, chosen)
    assert "vectors" in dict(GcnHead(FEATURES, 4, chosen, drawn_labels()).named_buffers())


def test_the_graph_of_an_example():
    # a  b  c  d: b is in 2 of a's 4 images that say so, a in both of b's; c is never with another, d never there
    dense = [[1, 1, -1, 0], [1, 1, 0, 0], [1, -1, 0, -1], [1, -1, 0, 0], [1, 0, 0, 0], [0, -1, 1, 0]]
    graph = class_graph(Labels.from_signed(dense), 0.6, 0.25)
    # Before the normalization: a (3/4, 0, 0, 0), b (1/4, 3/4, 0, 0), c and d themselves with 3/4.
    root = 0.75**0.5
    expected = [[1, 0, 0, 0], [0.25 / root, 0.75, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    torch.testing.assert_close(graph, torch.tensor(expected))
    both = class_graph(Labels.from_signed(dense), 0.5, 0.25)
    torch.testing.assert_close(both[:2, :2], torch.tensor([[0.75, 0.25], [0.25, 0.75]]))


def test_holes_in_the_labels_do_not_thin_the_graph_out():
    draw = np.random.default_rng(0)
    first = draw.random(3000) < 0.4
    dense = np.where(np.stack((first, first & (draw.random(3000) < 0.9)), 1), 1, -1).astype(np.int8)
    holes = np.where(draw.random(dense.shape) < 0.2, dense, 0)
    for labels in (dense, holes):
        assert class_graph(Labels.from_signed(labels), 0.4, 0.2)[0, 1] > 0


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_the_graph_is_the_plain_loop(data):
    images, classes = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 5))
    row = st.lists(st.sampled_from([1, -1, 0, 1]), min_size=classes, max_size=classes)
    dense = data.draw(st.lists(row, min_size=images, max_size=images))
    threshold, weight = data.draw(st.sampled_from([0.25, 0.4, 0.5, 1.0])), data.draw(st.sampled_from([0.0, 0.2, 0.9]))
    graph = class_graph(Labels.from_signed(np.array(dense, np.int8)), threshold, weight)
    assert graph.dtype == torch.float32 and graph.isfinite().all()
    np.testing.assert_allclose(graph, oracle.class_graph(dense, threshold, weight), rtol=1e-5)


def test_the_scores_are_written_out():
    labels = drawn_labels()
    head = GcnHead(FEATURES, 4, SMALL, labels)
    graph = oracle.class_graph(labels.to_signed().tolist(), 0.4, 0.2)
    assert sum(value > 0 for row in graph for value in row) > 4, "some have neighbors"

    def layer(nodes, weight):
        outputs = range(len(weight[0]))
        mixed = [[sum(g * n[k] for g, n in zip(row, nodes, strict=True)) for k in range(len(weight))] for row in graph]
        return [[sum(row[k] * weight[k][o] for k in range(len(weight))) for o in outputs] for row in mixed]

    hidden = layer(head.vectors.tolist(), head.first.tolist())
    weights = layer([[max(x, 0.2 * x) for x in row] for row in hidden], head.second.tolist())
    features = torch.randn(2, FEATURES)
    expected = [[sum(w * x for w, x in zip(row, image, strict=True)) for row in weights] for image in features.tolist()]
    np.testing.assert_allclose(head(features).detach(), expected, rtol=1e-4, atol=1e-6)


def test_pooling_and_maps():
    feature_map = torch.randn(2, FEATURES, 3, 4)
    for pool in ("max", "mean"):
        head = GcnHead(FEATURES, 4, GcnSettings(size=3, hidden=5, pool=pool), drawn_labels())
        for b in range(2):
            for d in range(FEATURES):
                values = feature_map[b, d].flatten().tolist()
                expected = max(values) if pool == "max" else sum(values) / 12
                assert head.reduce_features(feature_map)[b, d].item() == pytest.approx(expected, abs=1e-6)
        maps = head.maps(feature_map)
        for y in range(3):
            for x in range(4):
                torch.testing.assert_close(maps[:, :, y, x], head(feature_map[:, :, y, x]))


def test_the_graph_is_kept_and_not_learned():
    labels = drawn_labels()
    head = GcnHead(FEATURES, 4, SMALL, labels)
    names = {name for name, _ in head.named_parameters()}
    assert names == {"vectors", "first", "second"} and "graph" in head.state_dict()
    assert torch.equal(head.graph, class_graph(labels, 0.4, 0.2))


def test_what_cannot_be_is_refused():
    for chosen in ({"threshold": 0}, {"threshold": 1.5}, {"neighbor_weight": 1}, {"neighbor_weight": -0.1}):
        with pytest.raises(TrilabelError, match="threshold must be a share above 0, neighbor_weight a share below 1"):
            create_model(Config(head="gcn", head_settings=chosen), 4)
    with pytest.raises(TrilabelError, match="hidden must be at least 1, not 0"):
        create_model(Config(head="gcn", head_settings={"hidden": 0}), 4)
    with pytest.raises(TrilabelError, match=r"10001 classes are too many for its graph \(at most 10,000\)"):
        GcnHead(2, 10_001, GcnSettings(size=1, hidden=1))


def test_it_learns():
    features, truth = linear_problem()
    labels = Labels.from_signed(truth)
    torch.manual_seed(0)
    model = FeatureClassifier(GcnHead(16, 6, GcnSettings(size=8, hidden=32), labels))
    train(create_method("known-only", {}, labels), model, features, labels, 10)
    test_features, test_truth = linear_problem(seed=1)
    assert ((model(test_features).logits.detach().numpy() > 0) == (test_truth > 0)).mean() > 0.8
    assert model.head.vectors.grad.abs().max() > 0
