"""Labels agree with dense arrays: counts, rows, parts, equality."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import labels as oracle
from tests.support.label_cases import any_labels, dense_labels, example
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names

quick = settings(max_examples=50, deadline=None)


@quick
@given(dense_labels)
def test_counts_and_shares_match_the_dense_array(dense):
    labels = Labels.from_signed(dense)
    for fast, slow in ((labels.counts_per_class(), 0), (labels.counts_per_image(), 1)):
        for one, other in zip(fast, oracle.counts(dense, slow), strict=True):
            assert one.dtype == np.int64 and one.tolist() == other.tolist()
    assert labels.known == np.count_nonzero(dense)
    assert labels.known_share == (np.count_nonzero(dense) / dense.size if dense.size else 0)
    together = labels.co_occurrence()
    assert sp.issparse(together) and np.array_equal(together.toarray(), oracle.co_occurrence(dense))


@quick
@given(dense_labels.filter(len), st.data())
def test_rows_come_in_any_order_and_any_number_of_times(dense, data):
    index = data.draw(st.lists(st.integers(0, len(dense) - 1), max_size=12))
    labels = Labels.from_signed(dense)
    for given_index in (index, np.array(index, np.int32), torch.tensor(index, dtype=torch.int64), tuple(index)):
        rows = labels.rows(given_index)
        assert rows.dtype == torch.int8 and rows.shape == (len(index), dense.shape[1])
        assert np.array_equal(rows.numpy(), dense[index] if index else dense[:0])


def test_rows_of_one_image_and_rows_that_are_not_there():
    assert example().rows(1).tolist() == [[-1, 1, 0]]
    for index in ([2], [-1], [0, 1, 5]):
        with pytest.raises(IndexError, match="out of range for 2 images"):
            example().rows(index)
    for index in (np.array([True, False]), [0.7]):
        with pytest.raises(IndexError, match="whole numbers"):
            example().rows(index)


def test_rows_may_be_written_to_without_touching_the_labels():
    labels = example()
    labels.rows([0, 1]).fill_(1)
    assert labels == example()


def test_repr_and_shares():
    assert repr(example()) == "Labels(2 images × 3 classes, 66.67% known)"
    assert example().nbytes < 200


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_no_images_or_no_classes(shape, tmp_path):
    labels = Labels.from_signed(np.zeros(shape))
    assert labels.shape == shape and labels.known == 0 and labels.known_share == 0
    assert labels.co_occurrence().shape == (shape[1], shape[1])
    assert labels.rows([]).shape == (0, shape[1])
    assert labels[:, :] == labels == labels.merge(labels) == Labels.from_csr(sp.csr_array(shape))
    labels.save(tmp_path / "empty.npz")
    assert Labels.load(tmp_path / "empty.npz") == labels


@quick
@given(any_labels(), st.data())
def test_equality_sees_every_difference(labels, data):
    assert labels == labels[:]
    assert labels != "labels"
    dense = labels.to_signed()
    if dense.size:
        i, j = data.draw(st.integers(0, len(dense) - 1)), data.draw(st.integers(0, dense.shape[1] - 1))
        dense[i, j] = {1: 0, 0: -1, -1: 1}[dense[i, j]]
        assert labels != Labels.from_signed(dense, labels.classes, labels.ids)
    if len(labels):
        renamed = [*list(labels.ids)[:-1], labels.ids[-1] + "x" * 9]
        assert labels != Labels.from_signed(labels.to_signed(), labels.classes, renamed)


def index_of(count):
    """Any index along an axis of that length."""
    some = st.lists(st.integers(-count, count - 1), unique_by=lambda i: i % count) if count else st.just([])
    masks = st.lists(st.booleans(), min_size=count, max_size=count)
    single = st.integers(-count, count - 1) if count else st.just(slice(0))
    return st.one_of(
        st.slices(count),
        some,
        some.map(tuple),
        some.map(lambda index: np.array(index, np.int64)),
        some.map(lambda index: torch.tensor(index, dtype=torch.int64)),
        masks.map(lambda index: np.array(index, bool)),
        single,
    )


def positions(index, count):
    """What such an index means."""
    return np.atleast_1d(np.arange(count)[list(index) if isinstance(index, tuple) else index])


@quick
@given(any_labels(), st.data())
def test_parts_match_dense_indexing(labels, data):
    rows, columns = data.draw(index_of(len(labels))), data.draw(index_of(labels.shape[1]))
    row_positions, column_positions = positions(rows, len(labels)), positions(columns, labels.shape[1])
    part = labels[rows, columns]
    assert np.array_equal(part.to_signed(), labels.to_signed()[row_positions][:, column_positions])
    assert part.ids == [labels.ids[int(i)] for i in row_positions]
    assert part.classes == [labels.classes[int(j)] for j in column_positions]
    assert part.csr.has_canonical_format
    if not isinstance(rows, tuple):
        assert labels[rows] == labels[rows, :]


@quick
@given(any_labels(), st.data())
def test_classes_by_name(labels, data):
    places = data.draw(st.permutations(range(labels.shape[1])))[:3]
    names = [labels.classes[j] for j in places]
    for wanted in (names, tuple(names), labels.classes.take(np.array(places, np.int64)), np.array(names, object)):
        assert labels[:, wanted] == labels[:, places]
    if names:
        assert labels[:, names[0]] == labels[:, places[:1]]


def test_classes_that_are_not_there_are_named():
    with pytest.raises(TrilabelError, match="no class named 'cow'"):
        example()[:, ["cat", "cow", "dog"]]
    with pytest.raises(TrilabelError, match="no class named 'c' "):
        example()[:, "c"]
    with pytest.raises(TrilabelError, match="no class named 'ca' "):
        example()[:, np.array(["cat", "ca"])]


@pytest.mark.parametrize("key", [5, [0, 5], -3, np.array([True]), np.array([[0]]), None, 0.5, (slice(None), 3)])
def test_indices_that_mean_nothing_are_refused(key):
    with pytest.raises(IndexError):
        example()[key]


@pytest.mark.parametrize(
    "key", [[0, 0], [1, -1], (slice(None), [2, 0, 2]), (slice(None), ["cat", "dog", "cat"]), (slice(None), ["cat"] * 2)]
)
def test_nothing_is_chosen_twice(key):
    with pytest.raises(TrilabelError, match="twice"):
        example()[key]


def test_memory_follows_what_is_known():
    images, classes, known = 1_000_000, 5_000, 2_000_000
    rng = np.random.default_rng(0)
    columns = rng.integers(0, classes // 2, known, np.int32)
    columns[1::2] += classes // 2
    values = np.where(rng.random(known) < 0.5, 1, -1).astype(np.int8)
    csr = sp.csr_array((values, columns, np.arange(0, known + 1, 2, np.int32)), shape=(images, classes))
    ids = Names.numbered(images)
    tracemalloc.start()
    labels = Labels.from_csr(csr, ids=ids)
    part = labels[::2]
    batch = labels.rows(np.arange(288))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert labels.nbytes < 5 * known + 4 * (images + 1) + ids.nbytes + 200_000
    assert peak < 250e6, "dense labels would take 5 GB"
    assert part.known == known // 2 and batch.shape == (288, classes)


def test_as_an_array_and_as_a_table_of_pandas():
    labels = Labels.from_signed([[1, 0, -1], [0, 0, 1]], classes=["a", "b", "c"], ids=["x.jpg", "y.jpg"])
    assert np.asarray(labels).tolist() == [[1, 0, -1], [0, 0, 1]] and np.asarray(labels, float).dtype == float
    with pytest.raises(ValueError, match="a dense array is a copy"):
        np.asarray(labels, copy=False)
    table = labels.to_frame()
    assert list(table.columns) == ["a", "b", "c"] and list(table.index) == ["x.jpg", "y.jpg"]
    assert table.loc["x.jpg", "c"] == 0 and table["b"].isna().all() and table.loc["y.jpg", "c"] == 1
    assert Labels.from_frame(table) == labels
    assert Labels.from_frame(table.convert_dtypes()) == labels  # whole numbers, missing ones <NA>
