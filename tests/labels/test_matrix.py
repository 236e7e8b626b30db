"""Labels agree with dense arrays, refuse what is no label, and survive damaged files."""

import pickle
import re
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.oracles import labels as oracle
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names

quick = settings(max_examples=50, deadline=None)
shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=7)
dense_labels = hnp.arrays(np.int8, shapes, elements=st.sampled_from([-1, 0, 1]))

CLASSES, IDS = ["cat", "dog", "日本"], ["a.jpg", "b.jpg"]
DENSE = np.array([[1, 0, -1], [-1, 1, 0]], np.int8)


def example():
    return Labels.from_signed(DENSE, CLASSES, IDS)


def distinct_names(count):
    return st.lists(st.text(max_size=5), min_size=count, max_size=count, unique=True)


@st.composite
def any_labels(draw):
    dense = draw(dense_labels)
    return Labels.from_signed(dense, draw(distinct_names(dense.shape[1])), draw(distinct_names(len(dense))))


# ---- in and out


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


def test_lists_tensors_and_whole_numbered_nan_arrays_are_taken():
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


# ---- what is refused


@pytest.mark.parametrize("value", [2, -2, 0.5, np.nan, np.inf, 127])
def test_from_signed_names_the_value_and_where_it_stands(value):
    array = DENSE.astype(np.float64)
    array[1, 2] = value
    with pytest.raises(TrilabelError) as caught:
        Labels.from_signed(array, CLASSES, IDS)
    for part in (str(np.float64(value)), "'b.jpg'", "row 1", "'日本'", "column 2"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [-1, 2, 0.5, np.inf])
def test_from_nan_names_the_value_and_where_it_stands(value):
    array = np.array([[1, np.nan, 0], [0, value, 1]])
    with pytest.raises(TrilabelError, match=rf"value {float(value)} at image 'b.jpg' .*class 'dog'.*1, 0 or NaN"):
        Labels.from_nan(array, CLASSES, IDS)


@pytest.mark.parametrize("value", [2, -3, 0.5, np.nan])
def test_from_csr_names_the_value_and_where_it_stands(value):
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
    with pytest.raises(TrilabelError, match="cannot say unknown"):
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
        (["cat", "dog", 3], IDS, "position 2 holds 3"),
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


# ---- entries


RULES = st.sampled_from(["error", "unknown", "majority"])


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
    with pytest.raises(TrilabelError, match=r"no rule 'first'.* error, unknown, majority"):
        Labels.from_entries(nothing, nothing, nothing, CLASSES, IDS, conflict="first")
    with pytest.raises(TrilabelError, match=r"no rule 'majority'.* error, unknown, first, second"):
        example().merge(example(), conflict="majority")


# ---- looking at it


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


# ---- parts and unions


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
def test_nothing_is_taken_twice(key):
    with pytest.raises(TrilabelError, match="twice"):
        example()[key]


@st.composite
def overlapping(draw):
    """Two sets of labels over few names, so that images, classes and labels meet."""
    pair = []
    for _ in range(2):
        ids = draw(st.lists(st.sampled_from("abcd"), unique=True))
        classes = draw(st.lists(st.sampled_from("xyz"), unique=True))
        dense = draw(hnp.arrays(np.int8, (len(ids), len(classes)), elements=st.sampled_from([-1, 0, 1])))
        pair.append(Labels.from_signed(dense, classes, ids))
    return pair


@settings(max_examples=150, deadline=None)
@given(overlapping(), st.sampled_from(["error", "unknown", "first", "second"]))
def test_merge_matches_dictionaries(pair, conflict):
    one, two = pair
    known = [oracle.as_dict(each.to_signed(), each.ids, each.classes) for each in pair]
    expected = oracle.merge(*known, conflict)
    if expected is None:
        with pytest.raises(TrilabelError, match="present in one set and absent in the other"):
            one.merge(two, conflict)
    else:
        merged = one.merge(two, conflict)
        assert merged.ids == list(dict.fromkeys([*one.ids, *two.ids]))
        assert merged.classes == list(dict.fromkeys([*one.classes, *two.classes]))
        assert oracle.as_dict(merged.to_signed(), merged.ids, merged.classes) == expected
        assert merged.known == len(expected) and merged.csr.dtype == np.int8 and merged.csr.has_canonical_format


def test_a_clash_is_named_and_counted():
    other = Labels.from_signed([[-1, 1], [1, 1]], ["cat", "dog"], ["b.jpg", "a.jpg"])
    with pytest.raises(TrilabelError, match=r"image 'a.jpg', class 'cat' .*\(1 such labels\)"):
        example().merge(Labels.from_signed([[-1]], ["cat"], ["a.jpg"]))
    assert example().merge(other).to_signed().tolist() == [[1, 1, -1], [-1, 1, 0]]


# ---- on disk


@quick
@given(any_labels())
def test_what_was_saved_is_loaded(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("labels") / "sub" / "labels.npz"
    labels.save(path)
    loaded = Labels.load(str(path))
    assert loaded == labels and loaded.csr.dtype == np.int8
    assert [each.name for each in path.parent.iterdir()] == ["labels.npz"]


@pytest.fixture
def saved(tmp_path):
    example().save(tmp_path / "labels.npz")
    return tmp_path / "labels.npz"


def refused(path, says="."):
    """Loads, which must end in one clear line that names the file."""
    with pytest.raises(TrilabelError, match=says) as caught:
        Labels.load(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def tampered(path, **changes):
    with np.load(path) as file:
        arrays = {**file, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def test_a_file_cut_short_anywhere_is_refused(saved):
    whole = saved.read_bytes()
    for length in {*range(0, len(whole), 11), *range(len(whole) - 30, len(whole))}:
        saved.write_bytes(whole[:length])
        refused(saved, "not a labels file, or cut short")


def test_a_changed_byte_is_refused_or_changes_nothing(saved):
    whole = saved.read_bytes()
    survived = 0
    for place in range(0, len(whole), 5):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            assert Labels.load(saved) == example()
            survived += 1
        except TrilabelError:
            pass
    assert survived < len(whole) / 10, "most bytes matter"


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,0\n", b"\x89PNG\r\n", pickle.dumps({"values": 1}), b"PK\x05\x06" + bytes(18)]
)
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    refused(tmp_path / "other", "not a labels file")


def test_other_arrays_and_archives_are_refused(tmp_path):
    np.save(tmp_path / "one.npy", DENSE)
    np.savez(tmp_path / "other.npz", values=DENSE)
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("format.npy", "1, 2, 3")
    for name in ("one.npy", "other.npz", "text.npz"):
        refused(tmp_path / name, "not a labels file")
    refused(tmp_path / "missing.npz", "no such labels file")
    refused(tmp_path, "no such labels file")


def test_another_version_says_so(saved):
    tampered(saved, format=np.array([2, 2, 3, 99]))
    refused(saved, "labels format 2, this trilabel reads 1")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"values": np.array([1, -1, 5, 1], np.int8)}, "value 5 at image 'b.jpg' .*class 'cat'"),
        ({"values": np.array([1, -1, 0.5, 1])}, "value 0.5 at image 'b.jpg'"),
        ({"values": np.array([1, -1], np.int8)}, "."),
        ({"values": np.array(["1", "1", "1", "1"])}, "."),
        ({"columns": np.array([0, 2, 0, 3])}, "."),
        ({"columns": np.array([0, 2, 0, -1])}, "."),
        ({"columns": np.array([0, 0, 0, 1])}, "more than once"),
        ({"row_ends": np.array([0, 9, 4])}, "."),
        ({"row_ends": np.array([0, 2, 4, 4])}, "."),
        ({"row_ends": np.array([0, 4, 2])}, "."),
        ({"format": np.array([1, -2, 3])}, "."),
        ({"format": np.array([1, 2])}, "."),
        ({"format": np.array(1)}, "."),
        ({"format": np.array([], int)}, "."),
        ({"classes": np.frombuffer(b"dogdog\xff\xff\xff\xff\xff\xff", np.uint8)}, "damaged"),
        ({"classes": np.frombuffer(b"dogdogabcdef", np.uint8)}, "class 'dog' is listed twice"),
        ({"class_ends": np.array([0, 3, 6, 99])}, "damaged"),
        ({"class_ends": np.array([0, 7, 6, 12])}, "damaged"),
        ({"class_ends": np.array([0, 3, 12])}, "2 class names for 3"),
        ({"id_ends": np.array([0.0, 5.0, 10.0])}, "damaged"),
        ({"ids": None}, "."),
        ({"values": None}, "."),
    ],
)
def test_tampered_arrays_are_refused(saved, change, says):
    tampered(saved, **change)
    refused(saved, says)


class Trap:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return open, (str(self.trace), "w")


@pytest.mark.parametrize("name", ["format", "values", "ids"])
def test_nothing_is_unpickled(saved, name, tmp_path):
    tampered(saved, **{name: np.array([Trap(tmp_path / "trace")], object)})
    refused(saved, "not a labels file")
    assert not (tmp_path / "trace").exists()
    with np.load(saved, allow_pickle=True) as file:
        file[name][0].close()
    assert (tmp_path / "trace").exists(), "the trap does not work, so this test shows nothing"


def test_a_save_that_ends_half_way_leaves_the_old_file(saved, monkeypatch):
    def half(file, **arrays):
        file.write(b"PK half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(KeyboardInterrupt):
        example()[:1].save(saved)
    assert Labels.load(saved) == example()
    assert list(saved.parent.iterdir()) == [saved]


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
