"""Tables of numbers for classes: read whole, in the order of the classes, and refused by row."""

import pytest

from trilabel.data.side_tables.class_numbers import read_class_numbers
from trilabel.errors import TrilabelError

HEADERS = ("class,share", "class,positives,negatives")


def read(tmp_path, text, name="rates.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_class_numbers(tmp_path / name, ["cat", "dog"], HEADERS)


def test_columns_are_in_the_order_of_the_classes(tmp_path):
    found = read(tmp_path, "class,positives,negatives\ndog,0.25,0\nbird,1,1\ncat,1,0.5\n")
    assert {name: column.tolist() for name, column in found.items()} == {"positives": [1, 0.25], "negatives": [0.5, 0]}
    assert read(tmp_path, "Class\tShare\ncat\t0.1\ndog\t0.2\n", "shares.tsv")["share"].tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("class,rate\ncat,0.1\n", r"row 1: the columns must be class,share or class,positives,negatives"),
        ("class,share\ncat,0.1\ndgo,0.2\n", r"no row for class 'dog' \('dgo' is no class here\); add one"),
        ("class,share\ncat,0.1\n", r"no row for class 'dog'; add one"),
        ("class,share\ncat,0.1\ncat,0.1\n", r"row 3: class 'cat' is listed twice"),
        ("class,share\ncat,1.5\n", r"row 2: a share is a number from 0 to 1, not '1.5'"),
        ("class,share\ncat,nan\n", r"row 2: a share"),
        ("class,share\ncat,much\n", r"not 'much'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, match):
    with pytest.raises(TrilabelError, match=match) as caught:
        read(tmp_path, text)
    assert "rates.csv" in str(caught.value) and "\n" not in str(caught.value)
