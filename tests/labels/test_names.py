"""Names behave like a list of strings, whatever the strings are, and never mix two of them up."""

import copy
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import labels as oracle
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names

quick = settings(max_examples=50, deadline=None)
# Few letters make repetitions, NUL and multi-byte characters are hard, lengths cross the 8-byte words of the hash.
words = st.text(st.sampled_from("ab\0é日🐈"), max_size=3) | st.text(max_size=40) | st.integers(0, 70).map("x".__mul__)
lists = st.lists(words, max_size=30)
distinct_lists = st.lists(words, max_size=30, unique=True)


@pytest.fixture
def colliding(monkeypatch):
    """Every name has the same hash."""
    monkeypatch.setattr(Names, "hashes", lambda names: np.zeros(len(names), np.uint64))


@quick
@given(lists)
def test_reads_like_the_list_it_was_made_of(strings):
    names = Names(iter(strings))
    assert len(names) == len(strings)
    assert list(names) == strings
    assert [names[i] for i in range(-len(strings), len(strings))] == strings * 2
    assert names.nbytes == len("".join(strings).encode()) + 8 * (len(strings) + 1)


@quick
@given(lists, st.slices(30))
def test_slices_are_those_of_a_list(strings, some):
    assert Names(strings)[some] == strings[some]


def test_an_index_beyond_the_end_is_refused():
    for index in (2, -3):
        with pytest.raises(IndexError):
            Names(["a", "b"])[index]


@quick
@given(lists, lists)
def test_equality_is_that_of_lists(one, two):
    for others in (Names(two), two, tuple(two)):
        assert (Names(one) == others) is (one == two)
        assert (others == Names(one)) is (one == two)
    assert Names(one) == Names(one) and Names(one) == one and Names(one) == tuple(one)


def test_equality_sees_where_names_end():
    assert Names(["ab", "c"]) != Names(["a", "bc"])
    assert Names(["ab", ""]) != Names(["ab"])
    assert Names(["a"]) != "a" and Names([]) != 0
    with pytest.raises(TypeError):
        hash(Names(["a"]))


@quick
@given(lists, st.data())
def test_take_gives_any_positions_in_any_order(strings, data):
    index = data.draw(st.lists(st.integers(0, len(strings) - 1), max_size=40)) if strings else []
    found = Names(strings).take(np.array(index, np.int64))
    assert found == [strings[i] for i in index]
    assert found.take(np.arange(len(index))[::-1]) == [strings[i] for i in index[::-1]]


@quick
@given(st.lists(lists, max_size=4))
def test_join_strings_lists_together(parts):
    assert Names.join([Names(part) for part in parts]) == [name for part in parts for name in part]


def test_names_of_part_of_a_buffer_join_and_compare_like_others():
    part = Names.from_buffer(np.frombuffer(b"xxabcxx", np.uint8), np.array([2, 3, 5]))
    assert part == ["a", "bc"] and part == Names(["a", "bc"])
    assert Names.join([part, Names(["d"]), part]) == ["a", "bc", "d", "a", "bc"]
    assert part.take(np.array([1])) == ["bc"]
    assert part.positions(Names(["bc", "x"])).tolist() == [1, -1]


@quick
@given(lists)
def test_factorize_matches_a_dictionary(strings):
    codes, first = Names(strings).factorize()
    assert (codes.tolist(), first.tolist()) == oracle.factorize(strings)
    again, distinct = Names(strings).distinct()
    assert again.tolist() == codes.tolist() and distinct == list(dict.fromkeys(strings))
    assert codes.dtype == first.dtype == np.int64


def test_factorize_survives_hash_collisions(colliding):
    strings = ["b", "a", "b", "", "日", "a", "bb", ""]
    codes, first = Names(strings).factorize()
    assert (codes.tolist(), first.tolist()) == oracle.factorize(strings)
    assert Names(["x", "y", "z"]).positions(Names(["z", "w", "x"])).tolist() == [2, -1, 0]
    Names(["x", "y", "z"]).require_unique("image")
    with pytest.raises(TrilabelError, match="'y' is listed twice, at positions 1 and 3"):
        Names(["x", "y", "z", "y"]).require_unique("image")


def test_some_collisions_among_many_names(monkeypatch):
    real = Names.hashes
    monkeypatch.setattr(Names, "hashes", lambda names: real(names) & np.uint64(63))
    strings = [f"name {i % 700}" for i in range(1000)]
    codes, first = Names(strings).factorize()
    assert (codes.tolist(), first.tolist()) == oracle.factorize(strings)


def test_many_names_of_many_lengths():
    rng = np.random.default_rng(0)
    lengths, kinds = rng.integers(0, 40, 50_000), rng.integers(0, 9000, 50_000)
    strings = [str(kind) * (1 + length % 3) + "é" * (length % 5) for kind, length in zip(kinds, lengths, strict=True)]
    codes, first = Names(strings).factorize()
    seen = {}
    assert codes.tolist() == [seen.setdefault(name, len(seen)) for name in strings]
    assert [strings[i] for i in first] == list(seen)
    assert Names(strings).take(first[codes]) == strings


def test_hashes_tell_apart_what_differs_in_padding_or_length_only():
    strings = ["", "\0", "\0\0", "a", "a\0", "a" * 8, "a" * 8 + "\0", "a" * 16, "ab", "ba"]
    assert len(set(Names(strings).hashes().tolist())) == len(strings)


@quick
@given(distinct_lists, lists)
def test_positions_match_a_search(strings, wanted):
    found = Names(strings).positions(Names(wanted))
    assert found.tolist() == [strings.index(name) if name in strings else -1 for name in wanted]


@quick
@given(lists)
def test_repeats_are_refused_and_named(strings):
    later = next((i for i, name in enumerate(strings) if name in strings[:i]), None)
    if later is None:
        Names(strings).require_unique("class")
    else:
        first = strings.index(strings[later])
        says = f"class {strings[later]!r} is listed twice, at positions {first} and {later}; "
        with pytest.raises(TrilabelError, match=re.escape(says)):
            Names(strings).require_unique("class")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["a", 3], "position 1 contains 3 (int)"),
        ([None], "position 0 contains None (NoneType)"),
        (["a", b"b"], "position 1 contains b'b' (bytes)"),
        (["ok", "bad\udcff.jpg"], r"'bad\udcff.jpg' at position 1"),
    ],
)
def test_what_is_no_text_is_refused(wrong, says):
    with pytest.raises(TrilabelError, match=re.escape(says)):
        Names(wrong)


def test_numbered_and_repr():
    assert Names.numbered(3, "class-") == ["class-0", "class-1", "class-2"]
    assert Names.numbered(0) == []
    assert repr(Names.numbered(4)) == "Names(['0', '1', '2', …], 4 in all)"
    assert repr(Names([])) == "Names([], 0 in all)"


@quick
@given(lists)
def test_copies_and_pickles(strings):
    names = Names(strings)
    assert pickle.loads(pickle.dumps(names)) == strings and copy.deepcopy(names) == strings
    assert Names.from_stored(names.buffer, names.offsets) == strings


@pytest.mark.parametrize(
    ("buffer", "offsets"),
    [
        (b"abc", [0, 2]),
        (b"abc", [1, 3]),
        (b"abc", [0, 2, 1, 3]),
        (b"abc", [0, 9, 3]),
        (b"abc", [0, -1, 3]),
        (b"abc", []),
        (b"abc", [0.0, 3.0]),
        (b"abc", [[0, 3]]),
        (b"\xff\xfe", [0, 2]),
        ("éa".encode(), [0, 1, 3]),
    ],
)
def test_damaged_stored_names_are_refused(buffer, offsets):
    with pytest.raises(TrilabelError, match="damaged"):
        Names.from_stored(np.frombuffer(buffer, np.uint8), np.array(offsets, dtype=None if offsets else np.int64))
    with pytest.raises(TrilabelError, match="damaged"):
        Names.from_stored(np.zeros(3, np.int16), np.array([0, 3]))
