"""Labels from dense arrays, sparse matrices and entries agree, and what is no label is refused."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import labels as oracle
from tests.support.label_cases import CLASSES, DENSE, IDS, any_labels, dense_labels, example
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

quick = settings(max_examples=50, deadline=None)
RULES = st.sampled_from(["error", "unknown", "majority"])


@quick
@given(dense_labels, st.sampled_from([np.int8, np.int64, np.float16, np.float32, np.float64]))
def test_every_way_in_leads_to_the_same_labels(dense, dtype):
    labels = Labels.from_signed(dense.astype(dtype))
    assert labels.shape == dense.shape and len(labels) == len(dense)
    assert np.array_equal(labels.to_signed(), dense) and labels.to_signed().dtype == np.int8
    assert labels == Labels.from_nan(np.where(dense == 0, np.nan, dense == 1))
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_array):
        assert labels == Labels.from_csr(kind(dense.astype(np.float32)))
    rows, columns = np.nonzero(dense)
    shuffled = np.random.default_rng(0).permutation(len(rows))
    rows, columns = rows[shuffled], columns[shuffled]
    assert labels == Labels.from_entries(rows, columns, dense[rows, columns], labels.classes, labels.ids)
    assert labels.csr.dtype == np.int8 and labels.csr.has_canonical_format


@quick
@given(any_labels())
def test_names_travel_with_the_labels(labels):
    again = Labels.from_csr(labels.csr, iter(list(labels.classes)), tuple(labels.ids))
    assert again == labels and again.classes == labels.classes and again.ids == labels.ids
    assert pickle.loads(pickle.dumps(labels)) == labels


def test_names_are_numbered_where_none_are_given():
    labels = Labels.from_signed(DENSE)
    assert labels.classes == ["class-0", "class-1", "class-2"] and labels.ids == ["image-0", "image-1"]


def test_lists_tensors_and_whole_numbered_nan_arrays_are_accepted():
    assert Labels.from_signed(DENSE.tolist(), CLASSES, IDS) == example()
    assert Labels.from_signed(torch.from_numpy(DENSE), CLASSES, IDS) == example()
    assert Labels.from_nan([[1, 0]]).to_signed().tolist() == [[1, -1]]
    assert Labels.from_nan(np.array([[True, False]])).to_signed().tolist() == [[1, -1]]


def test_from_csr_leaves_its_input_alone():
    csr = sp.csr_array((np.array([1, 0, -1, 1]), np.array([2, 1, 0, 0]), np.array([0, 3, 4])), shape=(2, 3))
    labels = Labels.from_csr(csr)
    assert labels.to_signed().tolist() == [[-1, 0, 1], [1, 0, 0]] and labels.known == 3
    assert csr.indices.tolist() == [2, 1, 0, 0] and csr.nnz == 4
    labels.csr.data[:] = 1
    assert csr.data.tolist() == [1, 0, -1, 1]


@pytest.mark.parametrize("value", [2, -2, 0.5, np.nan, np.inf, 127])
def test_from_signed_names_the_value_and_its_place(value):
    array = DENSE.astype(np.float64)
    array[1, 2] = value
    with pytest.raises(TrilabelError) as caught:
        Labels.from_signed(array, CLASSES, IDS)
    for part in (str(np.float64(value)), "'b.jpg'", "row 1", "'日本'", "column 2"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [-1, 2, 0.5, np.inf])
def test_from_nan_names_the_value_and_its_place(value):
    array = np.array([[1, np.nan, 0], [0, value, 1]])
    with pytest.raises(TrilabelError, match=rf"value {float(value)} at image 'b.jpg' .*class 'dog'.*1, 0 or NaN"):
        Labels.from_nan(array, CLASSES, IDS)


@pytest.mark.parametrize("value", [2, -3, 0.5, np.nan])
def test_from_csr_names_the_value_and_its_place(value):
    array = DENSE.astype(np.float64)
    array[1, 1] = value
    with pytest.raises(TrilabelError, match=rf"value {float(value)} at image 'b.jpg' \(row 1\), class 'dog'"):
        Labels.from_csr(sp.csr_array(array), CLASSES, IDS)


def test_unsigned_bytes_that_were_minus_one_are_refused():
    with pytest.raises(TrilabelError, match=r"value 255 at image 'a.jpg'"):
        Labels.from_signed(DENSE.astype(np.uint8), CLASSES, IDS)


@pytest.mark.parametrize("make", [Labels.from_signed, Labels.from_nan])
@pytest.mark.parametrize(
    ("array", "says"),
    [
        ([1, 0, -1], "1 dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (3, "0 dimensions"),
        ([["1", "0"]], "numbers"),
        ([[1, None]], "numbers"),
        ([[1j, 0]], "numbers"),
        ([[1, 0], [1]], "differ in length"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(make, array, says):
    with pytest.raises(TrilabelError, match=says):
        make(array)


def test_truth_values_cannot_say_unknown():
    with pytest.raises(TrilabelError, match="cannot express unknown"):
        Labels.from_signed(DENSE > 0)


@pytest.mark.parametrize("make", [Labels.from_signed, Labels.from_csr])
@pytest.mark.parametrize(
    ("classes", "ids", "says"),
    [
        (["cat", "dog", "cat"], IDS, "class 'cat' is listed twice, at positions 0 and 2"),
        (CLASSES, ["a.jpg", "a.jpg"], "image 'a.jpg' is listed twice, at positions 0 and 1"),
        (["cat"], IDS, "1 class names for 3"),
        (CLASSES, ["a", "b", "c"], "3 image names for 2"),
        ([], IDS, "0 class names for 3"),
        ("cat", IDS, "not one string"),
        (["cat", "dog", 3], IDS, "position 2 contains 3"),
    ],
)
def test_wrong_names_are_refused(make, classes, ids, says):
    with pytest.raises(TrilabelError, match=re.escape(says)):
        make(sp.csr_array(DENSE) if make == Labels.from_csr else DENSE, classes, ids)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array])
@pytest.mark.parametrize("values", [[1, -1], [1, 1], [-1, -1]])
def test_a_label_stored_twice_in_a_sparse_matrix_is_refused(kind, values):
    zeros = np.zeros(2, int)
    parts = (values, (zeros, zeros)) if kind == sp.coo_array else (values, zeros, np.array([0, 2]))
    with pytest.raises(TrilabelError, match="more than once"):
        Labels.from_csr(kind(parts, shape=(1, 1)))


@quick
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.sampled_from([-1, 1])), max_size=20), RULES)
def test_entries_match_a_dictionary(entries, conflict):
    rows, columns, values = np.array(entries, np.int64).reshape(-1, 3).T
    expected = oracle.from_entries(entries, 3, 2, conflict)
    if expected is None:
        with pytest.raises(TrilabelError, match="both present and absent"):
            Labels.from_entries(rows, columns, values, ["x", "y"], ["a", "b", "c"], conflict)
    else:
        labels = Labels.from_entries(rows, columns, values, ["x", "y"], ["a", "b", "c"], conflict)
        assert np.array_equal(labels.to_signed(), expected)
        assert labels.known == np.count_nonzero(expected) and labels.csr.dtype == np.int8


@pytest.mark.parametrize(("conflict", "expected"), [("majority", [[1, -1, 0]]), ("unknown", [[0, 0, 0]])])
def test_most_entries_decide_and_a_tie_is_unknown(conflict, expected):
    columns = np.array([0, 1, 0, 1, 0, 1, 2, 2])
    values = np.array([1, 1, 1, -1, -1, -1, 1, -1], np.int8)
    labels = Labels.from_entries(np.zeros(8, int), columns, values, CLASSES, ["a"], conflict)
    assert labels.to_signed().tolist() == expected and labels.known == np.count_nonzero(expected)


def test_contradictions_are_named_and_counted():
    rows, columns, values = np.array([[1, 1, 0, 1, 1], [2, 2, 0, 0, 0], [1, -1, 1, -1, 1]])
    with pytest.raises(TrilabelError, match=r"image 'b.jpg', class 'cat' is labelled both .* \(2 such labels\)"):
        Labels.from_entries(rows, columns, values, CLASSES, IDS)


@pytest.mark.parametrize("value", [0, 2, -3, np.nan])
def test_entries_that_are_no_known_label_are_refused(value):
    with pytest.raises(TrilabelError, match=f"value {float(value)} at image 'b.jpg', class 'dog'"):
        Labels.from_entries(np.array([0, 1]), np.array([0, 1]), np.array([1, float(value)]), CLASSES, IDS)


@pytest.mark.parametrize(("row", "column"), [(2, 0), (-1, 0), (0, 3), (0, -1)])
def test_entries_outside_the_matrix_are_refused(row, column):
    with pytest.raises(ValueError):
        Labels.from_entries(np.array([row]), np.array([column]), np.array([1]), CLASSES, IDS)


def test_unknown_rules_for_contradictions_are_refused():
    nothing = np.zeros(0, np.int64)
    with pytest.raises(TrilabelError, match=r"no rule named 'first'.* error, unknown, majority"):
        Labels.from_entries(nothing, nothing, nothing, CLASSES, IDS, conflict="first")
    with pytest.raises(TrilabelError, match=r"no rule named 'majority'.* error, unknown, first, second"):
        example().merge(example(), conflict="majority")
