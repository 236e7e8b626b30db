"""Parquet tables: read as tables of text are, where pyarrow is installed, and refused in one line where it is not."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import trilabel as tl
from trilabel.data.formats import format_of
from trilabel.errors import TrilabelError


def refusal(path: Path, **options) -> str:
    with pytest.raises(TrilabelError) as caught:
        tl.data.read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), "FILE")


def test_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert refusal(tmp_path / "t.parquet") == (
        "FILE: needs pyarrow to be read; install it (pip install 'trilabel[parquet]'), or save it as CSV"
    )


@pytest.fixture
def path(tmp_path) -> Path:
    pytest.importorskip("pyarrow")
    return tmp_path / "labels.parquet"


@pytest.mark.interop
def test_wide(path):
    frame = pd.DataFrame(
        {
            "image": ["1.jpg", "2.jpg", "3.jpg"],
            "cat": [1.0, np.nan, 0.0],
            "dog": [True, False, None],
            "bird": pd.array([1, 0, None], "Int8"),
            "split": pd.Categorical(["train", "valid", "train"]),
        }
    )
    frame.index = [7, 8, 9]
    frame.to_parquet(path)
    dataset = tl.data.read(path)
    assert format_of(path, None) == "csv" and dataset.classes == ["cat", "dog", "bird"]
    assert dataset.labels.to_signed().tolist() == [[1, 1, 1], [0, -1, -1], [-1, 0, 0]]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0, 2], "val": [1]}
    assert tl.data.read(path, class_columns=["dog"]).classes == ["dog"]


@pytest.mark.interop
def test_lists_of_tags_long_tables_and_boxes(path):
    pd.DataFrame({"image": ["1.jpg", "2.jpg"], "tags": [["cat", "hot, dog"], []]}).to_parquet(path)
    assert tl.data.read(path).classes == ["cat", "hot, dog"]
    pd.DataFrame({"image": ["1.jpg", "1.jpg"], "label": ["cat", "dog"], "value": [1, 0]}).to_parquet(path)
    assert tl.data.read(path).labels.to_signed().tolist() == [[1, -1]]
    corners = {"xmin": [0.1], "ymin": [0.1], "xmax": [0.5], "ymax": [0.5]}
    pd.DataFrame({"filename": ["1.jpg"], "class": ["cat"], **corners}).to_parquet(path)
    assert format_of(path, None) == "box-table" and len(tl.data.read(path).boxes.cls) == 1


@pytest.mark.interop
def test_faults(path, monkeypatch):
    pd.DataFrame({"image": ["1.jpg", "2.jpg"], "cat": [1, 7]}).to_parquet(path)
    assert refusal(path).startswith("FILE, row 2: value '7' for image '2.jpg', class 'cat': use 1 present")
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    assert refusal(path).startswith("FILE: cannot be read as a table (")
    pd.DataFrame({"image": [{"bytes": b"x", "path": "1.jpg"}], "cat": [1]}).to_parquet(path)
    told = refusal(path, format="csv")
    assert told == "FILE: column 'image' contains the images themselves; pass format='huggingface'"
    pd.DataFrame({"image": ["1.jpg"] * 100_000, "cat": 1}).to_parquet(path)
    monkeypatch.setenv("TRILABEL_MAX_TEXT_BYTES", "1000000")
    assert "1,600,000 bytes in memory, more than the 1,000,000 allowed" in refusal(path)


@pytest.mark.interop
def test_broken_bytes(path):
    rows = range(300)
    pd.DataFrame({"image": [f"{row}.jpg" for row in rows], "cat": [row % 2 for row in rows]}).to_parquet(path)
    content, draw = path.read_bytes(), np.random.default_rng(0)
    for _ in range(100):
        broken = bytearray(content)
        for place in draw.integers(len(content), size=2):
            broken[place] = draw.integers(256)
        path.write_bytes(bytes(broken))
        try:
            tl.data.read(path)
        except TrilabelError as error:
            assert "\n" not in str(error)


@pytest.mark.interop
def test_a_hundred_thousand_rows_in_chunks(path, monkeypatch):
    monkeypatch.setattr("trilabel.data.formats._shared.arrow_table._ROWS", 30_000)
    count = 100_000
    frame = pd.DataFrame({"image": [f"{row:06}.jpg" for row in range(count)], "cat": np.arange(count) % 2})
    frame.to_parquet(path)
    labels = tl.data.read(path).labels
    assert labels.shape == (count, 1) and labels.counts_per_class()[0].tolist() == [count // 2]


@pytest.mark.interop
@pytest.mark.parametrize("end", ["feather", "arrow"])
def test_arrow_and_feather(path, end):
    file = path.with_suffix(f".{end}")
    frame = pd.DataFrame(
        {"image": ["1.jpg", "2.jpg"], "cat": [1, None], "dog": [False, True], "split": ["train", "test"]}
    )
    frame.to_feather(file)
    dataset = tl.data.read(file)
    assert dataset.labels.to_signed().tolist() == [[1, -1], [0, 1]] and set(dataset.splits) == {"train", "test"}
    content, draw = file.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        broken = bytearray(content)
        for place in draw.integers(len(content), size=2):
            broken[place] = draw.integers(256)
        file.write_bytes(bytes(broken))
        try:
            tl.data.read(file)
        except TrilabelError as error:
            assert "\n" not in str(error)
    frame.head(0).to_feather(file)
    assert refusal(file).endswith("the table has no rows")
