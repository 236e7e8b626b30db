"""Cells that a spreadsheet would run as a formula are counted, and written as text on request."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trilabel.data import Dataset, write
from trilabel.data.spreadsheet_cells import count_formulas, formula_note, is_formula, safe_cell
from trilabel.labels import Labels
from trilabel.labels.names import Names

FORMULAS = ["=1+1", "+cat", "-dog", "@SUM(A1)", "\t=1", "\r=1", "=", "--1", "-"]
PLAIN = ["cat", "", "-1", "+1.5", "-1e-3", "a=b", "1-2", "'=1", " =1", "é"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_get_an_apostrophe(text):
    assert is_formula(text) and safe_cell(text) == "'" + text


@pytest.mark.parametrize("text", PLAIN)
def test_other_cells_and_numbers_stay(text):
    assert not is_formula(text) and safe_cell(text) == text


@given(st.lists(st.text("=+-@\t\r1ae.é", max_size=4)))
def test_names_are_counted_as_one_by_one(texts):
    expected = sum(map(is_formula, texts))
    assert count_formulas(Names(texts)) == expected
    longer = Names(["=", *texts])
    part = Names.from_buffer(longer.buffer, longer.offsets[1:])
    assert count_formulas(part) == expected, "names that are a part of a longer buffer"
    assert count_formulas(texts) == expected


@pytest.fixture
def dataset(tmp_path) -> Dataset:
    labels = Labels.from_signed([[1, -1], [0, 1]], ["=HYPERLINK(1)", "dog"], ["@a.jpg", "b.jpg"])
    paths = [str(tmp_path / name) for name in ("-a.jpg", "b.jpg")]
    return Dataset(labels.ids, paths, labels, {"+train": np.array([0]), "val": np.array([1])})


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_a_table_warns_or_writes_text(dataset, tmp_path, layout):
    file = tmp_path / "table.csv"
    expected = formula_note(4)
    assert "4 names begin with = + - or @" in expected and "--safe-cells" in expected
    assert write(dataset, file, layout=layout) == [expected]
    plain = [cell for row in csv.reader(file.open(newline="")) for cell in row]
    assert write(dataset, file, layout=layout, safe_cells=True) == []
    safe = [cell for row in csv.reader(file.open(newline="")) for cell in row]
    assert [cell.removeprefix("'") for cell in safe] == plain
    assert not any(map(is_formula, safe))
    assert {"'=HYPERLINK(1)", "'@a.jpg", "'-a.jpg", "'+train", "dog", "1", "0"} <= set(safe)


def test_other_tables_warn_too(dataset, tmp_path):
    (note,) = [note for note in write(dataset, tmp_path / "folder", "huggingface") if "begin with" in note]
    assert "--safe-cells" not in note and "import it as text" in note
