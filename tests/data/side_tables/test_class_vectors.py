"""Word vectors of class names: against a reader that keeps the whole file, and files with something wrong in them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import class_vectors as oracle
from trilabel.data.side_tables import class_vectors
from trilabel.data.side_tables.class_vectors import read_vectors
from trilabel.errors import TrilabelError

LINES = """the 0.1 0.2 0.3
dog 1 2 3
traffic 10 20 30
light 30 40 50
Hot_Dog -1 -2 -3
fire hydrant\t5e-1 6 7
DOG 9 9 9
"""


def written(folder, text):
    path = folder / "vectors.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(path, classes, size=3):
    with pytest.raises(TrilabelError) as caught:
        read_vectors(path, classes, size)
    message = str(caught.value)
    assert "\n" not in message and message.startswith(str(path))
    return message


def test_names_words_and_their_means(tmp_path):
    classes = ["Dog", "hot dog", "fire_hydrant", "Traffic light", "the  Dog"]
    got = read_vectors(written(tmp_path, LINES), classes, 3)
    assert got.dtype == np.float32
    expected = [[1, 2, 3], [-1, -2, -3], [0.5, 6, 7], [20, 30, 40], [0.55, 1.1, 1.65]]
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("header", ["", "7 3\n", "400000 3\r\n"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", " \n"])
def test_headers_and_line_ends(tmp_path, header, ends):
    text = header + LINES.replace("\n", ends)
    np.testing.assert_array_equal(read_vectors(written(tmp_path, text), ["light"], 3), [[30, 40, 50]])


WORDS = ["a", "B", "c", "a_b", "b  a", "7", "é"]


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(
        st.tuples(st.sampled_from(WORDS), st.lists(st.sampled_from(["1", "-2.5", "3e1"]), min_size=2, max_size=2))
    ),
    classes=st.lists(st.sampled_from([*WORDS, "A b c", "zz", "C_7"]), min_size=1),
)
def test_any_file_is_read_as_if_it_were_in_memory(tmp_path_factory, lines, classes):
    text = "".join(f"{name} {' '.join(numbers)}\n" for name, numbers in lines)
    path = written(tmp_path_factory.mktemp("vectors"), text)
    expected = oracle.read_vectors(text, classes, 2)
    if isinstance(expected, str):
        assert f"no vector for class {expected!r}" in refused(path, classes, 2)
    else:
        np.testing.assert_allclose(read_vectors(path, classes, 2), expected, rtol=1e-6)


def test_a_missing_class_is_named_with_what_to_do(tmp_path):
    path = written(tmp_path, LINES)
    assert refused(path, ["dog", "zebra"]) == (
        f"{path}: no vector for class 'zebra'; add a line for it or rename the class after words in the file"
    )
    assert "no vector for class 'Traffic cone' (or its word 'cone')" in refused(path, ["Traffic cone"])
    for empty in ("", " ", "_"):
        assert f"no vector for class {empty!r}" in refused(path, [empty])
    assert "no vector for class 'dog'" in refused(written(tmp_path, ""), ["dog"])


def test_a_wrong_size_says_which_is_right(tmp_path):
    path = written(tmp_path, LINES)
    assert "the vector of line 2 has 3 numbers, not 4; set head.size=3" in refused(path, ["dog"], 4)
    assert "the vector of line 2 has 3 numbers, not 300; set head.size=3" in refused(path, ["dog"], 300)
    assert "the vector of line 2 has 3 numbers, not 2; set head.size=3" in refused(path, ["dog"], 2)
    assert "the vector of line 3 has 3 numbers, not 2; set head.size=3" in refused(path, ["traffic light"], 2)
    path = written(tmp_path, "7 300\ndog" + 300 * " 1")
    assert "contains vectors of 300 numbers, not 50; set head.size=300" in refused(path, ["dog"], 50)
    assert read_vectors(path, ["dog"], 300).shape == (1, 300)
    assert "line 1 has 0 numbers, not 3; correct or remove the line" in refused(
        written(tmp_path, "dog one two"), ["dog"]
    )


def test_a_name_may_end_in_numbers(tmp_path):
    path = written(tmp_path, "route 66 1 2\nroute 5 6\nformula 1 7 8\n")
    np.testing.assert_array_equal(read_vectors(path, ["Route 66", "route", "formula_1"], 2), [[1, 2], [5, 6], [7, 8]])


@pytest.mark.parametrize("number", ["nan", "inf", "-Infinity", "1e39", "1e999"])
def test_numbers_that_are_not_finite_are_refused(tmp_path, number):
    path = written(tmp_path, f"cat nan 1\ndog 1 {number}\n")
    assert "line 2 contains a number that is not finite" in refused(path, ["dog"], 2)


def test_broken_text_harms_only_its_own_line(tmp_path):
    text = b"\xff\xfe 1 2\ncaf\xc3 1 2\n\n   \n\x00\x01\nd\xf6g 3 4\n" + "café 5 6\nİ 7 8".encode()
    np.testing.assert_array_equal(read_vectors(written(tmp_path, text), ["Café", "İ"], 2), [[5, 6], [7, 8]])
    assert "no vector for class 'dög'" in refused(written(tmp_path, text), ["dög"], 2)


def test_what_is_no_file_of_vectors_is_refused(tmp_path):
    assert "cannot be read as a file of word vectors" in refused(tmp_path / "missing.txt", ["dog"])
    assert "not a regular file (a folder)" in refused(tmp_path, ["dog"])
    assert "line 2 does not end" in refused(written(tmp_path, b"7 3\n" + b"x" * (1 << 21)), ["dog"])


def test_no_more_is_read_than_needed(tmp_path, monkeypatch):
    read = []
    lines = class_vectors._lines

    def watched(path):
        for number, line in lines(path):
            read.append(number)
            yield number, line

    monkeypatch.setattr(class_vectors, "_lines", watched)
    path = written(tmp_path, LINES)
    read_vectors(path, ["dog", "the"], 3)
    assert read == [1, 2]
    read.clear()
    read_vectors(path, ["traffic light"], 3)  # its own line may still come
    assert read == list(range(1, 8))
