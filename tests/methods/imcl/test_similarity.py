"""Similar images and related labels against plain loops and matrix products."""

import numpy as np
import pytest
import torch

from tests.oracles import omp as oracle
from tests.oracles.omp import dense_graph
from trilabel.data.side_tables.label_graph import co_occurrence
from trilabel.labels import Labels
from trilabel.methods.imcl.similarity import group_vectors, related_labels, similar_images

CLASSES = 5
LABELS = Labels.from_signed(np.random.default_rng(2).choice([-1, 0, 0, 1], (9, CLASSES)).astype(np.int8))


def test_related_labels_are_a_product_with_the_graph_whose_terms_are_never_all_in_memory():
    labels = Labels.from_signed(np.random.default_rng(0).choice([-1, 0, 1, 1], (60, 80)).astype(np.int8))
    graph = co_occurrence(labels, 50)
    assert graph.index.shape == (80, 50)
    y = torch.rand(7, 80, requires_grad=True)
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()) or x, lambda x: x):
        found = related_labels(y, graph.index, graph.weight.clone().requires_grad_())
    torch.testing.assert_close(found, y @ torch.tensor(dense_graph(graph)).float().T)
    assert sizes and max(sizes) <= 80 * 50


def test_groups_are_orthogonal_whatever_their_number():
    groups = torch.tensor([4_000, -1, 7, 4_000, -1, 7, 0])
    found = group_vectors(groups)
    assert found.shape == (7, 7)
    same = (groups[:, None] == groups) & (groups >= 0)[:, None]
    assert torch.equal(found @ found.T, same.float())


@pytest.mark.parametrize("at_once", [4, 100])
def test_similar_images_of_many(monkeypatch, at_once):
    monkeypatch.setattr("trilabel.methods.imcl.similarity._IMAGES_AT_ONCE", at_once)
    draw = np.random.default_rng(0)
    features, scores = draw.random((11, 6)).astype(np.float32), draw.random((11, CLASSES)).astype(np.float32)
    graph = co_occurrence(LABELS, 3)
    found = similar_images(torch.from_numpy(features), torch.from_numpy(scores), graph, 3, (1.0, 2.0))
    y = 1.5 * scores.astype(float) - 0.5
    atoms = [y @ dense_graph(graph).T, features.astype(float)]
    chosen_atoms, coefficients = oracle.joint_omp([y, atoms[1]], atoms, [1.0, 2.0], 3, own=list(range(11)))
    assert found.index.shape == (11, 3) and all(of.dtype == torch.float32 for of in found.coefficients)
    for row, chosen in enumerate(chosen_atoms):
        assert found.index[row, : len(chosen)].tolist() == chosen
        for of, expected in zip(found.coefficients, coefficients, strict=True):
            padded = expected[row] + [0.0] * (3 - len(chosen))
            assert of[row].tolist() == pytest.approx(padded, rel=1e-4, abs=1e-6)
