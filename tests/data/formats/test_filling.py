"""Tables written again with their holes filled: every layout, word and delimiter stays as it was."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel import data
from trilabel.data.formats import csv_table
from trilabel.data.provenance import LabelOrigins, provenance_writer, read_predicted
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=5)
CELLS = st.sampled_from(["1", "0", ""])


def fill(path: Path, out: Path, new: np.ndarray, **options: object) -> tuple[Labels, list[str]]:
    """Fills the unknown labels of a table; returns what it says then."""
    labels = data.read(path, **options).labels
    known = labels.to_signed()
    wanted = np.where(known != 0, known, new[: len(known), : known.shape[1]]).astype(np.int8)
    notes = csv_table.fill(path, out, labels, lambda rows: wanted[rows], options)
    return Labels.from_signed(wanted, labels.classes, labels.ids), notes


@settings(max_examples=30)
@given(
    st.lists(NAMES, min_size=2, max_size=4, unique=True),
    st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=5),
    st.lists(st.sampled_from([1, -1, 0]), min_size=20, max_size=20),
    st.sampled_from([",", ";", "\t"]),
)
def test_wide_tables_say_what_is_known_and_decided(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], cells: list[list[str]], new: list[int], mark: str
) -> None:
    classes = [f"c {name}" for name in names]
    folder = tmp_path_factory.mktemp("wide")
    table = pd.DataFrame([row[: len(classes)] for row in cells], columns=classes)
    table.insert(0, "image", [f"{name}, {mark}\"'.png" for name in range(len(table))])
    table.to_csv(folder / "labels.csv", sep=mark, index=False)
    options = {"delimiter": mark}
    wanted, notes = fill(folder / "labels.csv", folder / "out.csv", np.array(new).reshape(5, 4), **options)
    again = data.read(folder / "out.csv", **options).labels
    np.testing.assert_array_equal(again.to_signed(), wanted.to_signed())
    assert list(again.classes) == list(wanted.classes) and list(again.ids) == list(wanted.ids) and not notes
    if not wanted.known - data.read(folder / "labels.csv", **options).labels.known:
        assert (folder / "out.csv").read_bytes() == (folder / "labels.csv").read_bytes()


def test_words_columns_and_line_ends_stay(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_bytes(b'image,note,cat,dog\r\nx.png,"a, b",YES,?\r\ny.png,,?,NO\r\n')
    options = {"ignore": ["note"], "positive_values": ["YES"], "negative_values": ["NO"], "unknown_values": ["?"]}
    fill(path, out, np.array([[0, 1], [-1, 0]]), **options)
    assert out.read_bytes() == b'image,note,cat,dog\r\nx.png,"a, b",YES,YES\r\ny.png,,NO,NO\r\n'


def test_signed_tables_stay_signed(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("image,cat,dog\nx.png,1,0\ny.png,0,-1\n")
    fill(path, out, np.array([[0, -1], [1, 0]]), values="signed")
    assert out.read_text() == "image,cat,dog\nx.png,1,-1\ny.png,1,-1\n"


def test_long_tables_get_rows_and_tag_lists_get_tags(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("image,label,value\nx.png,cat,1\nx.png,dog,\ny.png,dog,0\n")
    fill(path, out, np.array([[0, -1], [1, 0]]))
    assert out.read_text() == "image,label,value\nx.png,cat,1\nx.png,dog,0\ny.png,dog,0\ny.png,cat,1\n"
    path.write_text("image,tags\nx.png,cat;dog\ny.png,dog\n")
    _, notes = fill(path, out, np.array([[0, 0], [1, 0]]))
    assert out.read_text() == "image,tags\nx.png,cat;dog\ny.png,dog;cat\n" and not notes
    _, notes = fill(path, out, np.array([[0, 0], [-1, 0]]))
    assert out.read_text() == path.read_text()
    assert notes[0].startswith(
        "1 labels that are absent are not in it, so that it says what the table that came in says"
    )
    assert "--to csv" in notes[0]
    path.write_text("image,tags\nx.png,cat;dog\ny.png,dog\nz.png,dog\n")
    _, notes = fill(path, out, np.array([[0, 0], [1, 0], [-1, 0]]))
    assert notes[0].startswith("1 labels that are absent are not in it: such a table")


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_provenance_is_read_back(tmp_path: Path, kind: str) -> None:
    labels = Labels.from_signed(np.zeros((3, 2), np.int8), ['a,"b"', "=c"], ["x", "y,z", "ü"])
    path, random = tmp_path / f"p.{kind}", np.random.default_rng(0)
    values = random.choice([-1, 0, 1], (3, 2)).astype(np.int8)
    chances = random.random((3, 2)).astype(np.float32)
    chances[2, 1] = np.nan
    sources = np.array([[0, 0], [0, 1], [2, 0]], np.int8)
    with provenance_writer(path, labels.classes, "run", "now") as writer:
        writer.add(labels.ids.take(np.arange(3)), LabelOrigins(values, sources, chances))
    found = read_predicted(path, labels)
    rows, columns = np.nonzero(sources == 0)
    np.testing.assert_array_equal((found.rows, found.columns), (rows, columns))
    np.testing.assert_array_equal(found.values, values[rows, columns])
    np.testing.assert_allclose(found.probabilities, chances[rows, columns], atol=6e-5)
    with pytest.raises(TrilabelError, match="no predicted label"):
        read_predicted(path, Labels.from_signed(np.zeros((1, 2), np.int8), ['a,"b"', "=c"], ["other"]))
    with pytest.raises(TrilabelError, match="is none of these labels"):
        read_predicted(path, Labels.from_signed(np.zeros((1, 2), np.int8), ["a", "b"], ["x"]))
    with pytest.raises(TrilabelError, match="no such provenance table"):
        read_predicted(tmp_path / f"none.{kind}", labels)
