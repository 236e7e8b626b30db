"""Maps of class names, as tables."""

import gzip

import pytest

from trilabel.data.merge.class_map import read_class_map
from trilabel.errors import TrilabelError


def test_maps_of_classes(tmp_path):
    file = tmp_path / "map.csv"
    file.write_text('\ufefffrom,to\r\nchien,dog\r\n"a, b",\r\n', encoding="utf-8")
    assert read_class_map(file) == {"": {"chien": "dog", "a, b": ""}}
    file.write_text("set,from,to\nvoc,tv,television\n,été,summer\n", encoding="utf-8")
    assert read_class_map(file) == {"voc": {"tv": "television"}, "": {"été": "summer"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: a class map needs the columns from and to, and optionally set"),
        ("old,new\na,b\n", "row 1: a class map needs the columns from and to, and optionally set"),
        ("from,to\na\n", "row 2: 1 cells, but the header has 2"),
        ("from,to\n,b\n", "row 2: the cell 'from' is empty; name the class to rename"),
        ("from,to\na,b\na,c\n", "row 3: class 'a' is renamed differently in an earlier row"),
    ],
)
def test_mistaken_maps(tmp_path, text, message):
    file = tmp_path / "map.csv"
    file.write_text(text)
    with pytest.raises(TrilabelError) as caught:
        read_class_map(file)
    assert str(caught.value) == f"{file}, {message}"


def test_a_map_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(TrilabelError, match=r"map\.csv: no such file"):
        read_class_map(tmp_path / "map.csv")


def test_a_packed_map_with_other_delimiters(tmp_path):
    file = tmp_path / "map.csv.gz"
    file.write_bytes(gzip.compress(b"from;to\na;b\n"))
    assert read_class_map(file) == {"": {"a": "b"}}
