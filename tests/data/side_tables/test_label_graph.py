"""The neighbors of a label are those it is seen with most, its weights are shares of what could be seen."""

import csv

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from trilabel.data.side_tables.label_graph import co_occurrence, edges, from_file, identity, nearest, write
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

CLASSES = ["cat", "dog", "ball"]
dense_labels = hnp.arrays(
    np.int8, st.tuples(st.integers(0, 12), st.integers(1, 6)), elements=st.sampled_from([-1, 0, 1, 1])
)


def neighbors(graph):
    """[{neighbor: weight} of each label], in order."""
    rows = zip(graph.index.tolist(), graph.weight.tolist(), graph.used.tolist(), strict=True)
    return [{n: w for n, w, u in zip(*row, strict=True) if u} for row in rows]


def counted(dense, k):
    """The same by plain counting."""
    result = []
    classes = range(len(dense[0]) if dense else 0)
    for j in classes:
        both = {o: sum(row[j] == 1 and row[o] == 1 for row in dense) for o in classes if o != j}
        asked = {o: sum(row[j] != 0 and row[o] == 1 for row in dense) for o in both}
        chosen = sorted((o for o in both if both[o]), key=lambda o: (-both[o], o))[: k - 1]
        shares = {j: 1.0} | {o: both[o] / (asked[o] + 1) for o in chosen}
        result.append({o: share / sum(shares.values()) for o, share in shares.items()})
    return result


@settings(max_examples=100, deadline=None)
@given(dense_labels, st.integers(1, 7))
def test_it_is_what_a_plain_count_says(dense, k):
    if not len(dense):
        dense = np.zeros((1, dense.shape[1]), np.int8)
    graph, expected = co_occurrence(Labels.from_signed(dense), k), counted(dense.tolist(), k)
    found = neighbors(graph)
    assert [list(row) for row in found] == [list(row) for row in expected]
    for row, expected_row in zip(found, expected, strict=True):
        assert row == pytest.approx(expected_row)
        assert sum(row.values()) == pytest.approx(1)
    assert graph.index.dtype == torch.int64 and graph.weight.dtype == torch.float32 and graph.used.dtype == torch.bool
    assert graph.index.shape == graph.weight.shape == graph.used.shape and graph.index.shape[1] <= k
    assert not graph.weight[~graph.used].any() and graph.index.max() < dense.shape[1]


def test_it_does_not_depend_on_how_much_is_known():
    draw = np.random.default_rng(0)
    first = draw.random(40_000) < 0.3
    truth = np.stack([first, np.where(first, draw.random(40_000) < 0.8, draw.random(40_000) < 0.1)], 1)
    dense = np.where(truth, 1, -1)
    some = np.where(draw.random(dense.shape) < 0.1, dense, 0)
    for signed in (dense, some):
        weights = neighbors(co_occurrence(Labels.from_signed(signed), 5))
        assert weights[1][0] / weights[1][1] == pytest.approx(
            0.8, abs=0.04
        )  # of images with the first, have the second
        assert weights[0][1] / weights[0][0] == pytest.approx(0.24 / 0.31, abs=0.04)


def test_what_all_images_have_says_little_of_a_rare_label():
    dense = np.full((1000, 2), -1)
    dense[:, 0] = 1  # person
    dense[:10, 1] = 1  # slam dunk
    weights = neighbors(co_occurrence(Labels.from_signed(dense), 2))
    assert weights[1][0] < 0.02 and weights[0][1] > 0.45


def test_thousands_of_labels_stay_sparse():
    draw = np.random.default_rng(0)
    images, classes = 20_000, 5_000
    columns = (draw.zipf(1.3, (images, 8)) - 1) % classes
    values = np.where(draw.random(columns.shape) < 0.6, 1, -1).astype(np.int8)
    matrix = sp.coo_array((values.ravel(), (np.repeat(np.arange(images), 8), columns.ravel())), shape=(images, classes))
    csr = sp.csr_array(matrix)
    csr.data = np.sign(csr.data).astype(np.int8)
    graph = co_occurrence(Labels.from_csr(csr), 50)
    assert graph.index.shape == (classes, 50)
    assert torch.equal(graph.index[:, 0], torch.arange(classes)) and graph.used[:, 0].all()
    torch.testing.assert_close(graph.weight.sum(1), torch.ones(classes))


def test_identity():
    assert neighbors(identity(3)) == [{0: 1}, {1: 1}, {2: 1}]


def test_labels_with_near_vectors_are_related():
    vectors = np.array([[2, 0, 0], [3, 4, 0], [0, 5, 0], [0, 0, 0], [-1, 0, 0]], np.float32)
    first, second, third, fourth, fifth = neighbors(nearest(vectors, 3))
    assert first == pytest.approx({0: 1 / 1.6, 1: 0.6 / 1.6})
    assert second == pytest.approx({1: 1 / 2.4, 2: 0.8 / 2.4, 0: 0.6 / 2.4})
    assert third == pytest.approx({2: 1 / 1.8, 1: 0.8 / 1.8})
    assert (fourth, fifth) == ({3: 1}, {4: 1})
    assert neighbors(nearest(vectors, 2))[1] == pytest.approx({1: 1 / 1.8, 2: 0.8 / 1.8})


def table(tmp_path, text, name="graph.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_a_table_with_weights_is_taken_as_it_is(tmp_path):
    path = table(tmp_path, "label,neighbor,weight\ncat,dog,0.25\ncat,cat,2\nball,cat,-1e-1\n")
    assert neighbors(from_file(path, CLASSES)) == [{1: 0.25, 0: 2}, {1: 1}, {2: 1, 0: pytest.approx(-0.1)}]


def test_both_spellings_of_neighbor_are_read(tmp_path):
    for spelling in ("neighbor", "neighbour"):
        path = table(tmp_path, f"label,{spelling},weight\ncat,dog,0.25\n")
        assert neighbors(from_file(path, CLASSES)) == [{0: 1, 1: 0.25}, {1: 1}, {2: 1}]


def test_a_table_without_weights_gives_half_to_the_label_itself(tmp_path):
    path = table(tmp_path, "Label,Neighbor\ncat,dog\n cat , ball\n\ndog,ball\ndog,dog\nball,ball\n")
    found = neighbors(from_file(path, CLASSES))
    assert found == [{0: 0.5, 1: 0.25, 2: 0.25}, {1: 0.5, 2: 0.5}, {2: 1}]
    tabs = table(tmp_path, "label\tneighbor\ncat\tdog\n", "graph.tsv")
    assert neighbors(from_file(str(tabs), CLASSES))[0] == {0: 0.5, 1: 0.5}


@settings(max_examples=50, deadline=None)
@given(dense=dense_labels)
def test_what_is_written_is_read_again(dense, tmp_path_factory):
    if not len(dense):
        return
    classes = [f"a, {number}" for number in range(dense.shape[1])]
    graph = co_occurrence(Labels.from_signed(dense, classes), 3)
    path = tmp_path_factory.mktemp("graph") / "graph.csv"
    write(graph, classes, path)
    again = from_file(path, classes)
    assert torch.equal(graph.index, again.index) and torch.equal(graph.used, again.used)
    torch.testing.assert_close(graph.weight, again.weight, rtol=1e-5, atol=0)
    with path.open(newline="") as file:
        assert [row[:2] for row in csv.reader(file)][1:] == [list(edge[:2]) for edge in edges(graph, classes)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label,neighbor\ncat,dgo\n", "row 2: no class is called 'dgo'; did you mean 'dog'?"),
        ("label,neighbor\ncat,dog\n\nxylophone,dog\n", "row 4: no class is called 'xylophone'"),
        ("label,neighbor,weight\ncat,dog,heavy\n", "row 2: a weight is a finite number, not 'heavy'"),
        ("label,neighbor,weight\ncat,dog,nan\n", "row 2: a weight is a finite number, not 'nan'"),
        ("label,neighbor,weight\ncat,dog,\n", "row 2: a weight is a finite number, not ''"),
        ("label,neighbor\ncat,dog\ncat,dog\n", "row 3: 'dog' is listed twice as a neighbor of 'cat'; remove one"),
        ("label,neighbor\ncat\n", "row 2: 1 cells, but the first row has 2"),
        ("cat,dog\n", "row 1: the columns must be label,neighbor or label,neighbor,weight, not 'cat,dog'"),
        ("", ": the table is empty; its first row must name the columns, label,neighbor or label,neighbor,weight"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(tmp_path, text, message):
    path = table(tmp_path, text)
    with pytest.raises(TrilabelError) as caught:
        from_file(path, CLASSES)
    assert str(caught.value).startswith(str(path)) and str(caught.value).endswith(message)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(
        TrilabelError, match=r"none\.csv: no such file; give a table with the columns label,neighbor or"
    ):
        from_file(tmp_path / "none.csv", CLASSES)
