"""Predictions come back from what is written."""

import json

import numpy as np
import pandas as pd

from tests.support.models_by_hand import CLASSES
from trilabel.inference.predictions import Predictions

ODD = Predictions(
    ["a,b.jpg", 'quo"te', "日本.png"],
    ["image", "with, comma", "ünï"],
    np.array([[0.5, 0.25, 1.0], [0.49999997, 0.75, 0.9], [1e-9, 0.123456789, 0.0]], np.float32),
)


def test_csv_comes_back(tmp_path):
    ODD.to_csv(tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv", header=None, encoding="utf-8")
    assert table.iloc[0].tolist() == ["image", *ODD.classes]
    assert table.iloc[1:, 0].tolist() == ODD.ids
    np.testing.assert_allclose(table.iloc[1:, 1:].astype(float), ODD.scores, rtol=1e-5)


def test_records_name_what_is_present_best_first():
    records = ODD.to_records()
    assert [record["image"] for record in records] == ODD.ids
    assert [record["present"] for record in records] == [["ünï", "image"], ["ünï", "with, comma"], []]
    assert records[2]["scores"] == {"image": 0.0, "with, comma": 0.123457, "ünï": 0.0}
    assert [record["present"] for record in ODD.to_records(0.9)] == [["ünï"], [], []], "0.9 in float32 is a bit less"
    assert ODD.to_records(0.0)[0]["present"] == ["ünï", "image", "with, comma"]
    assert Predictions([], CLASSES, np.zeros((0, 3), np.float32)).to_records() == []


def test_json_is_the_records(tmp_path):
    ODD.to_json(tmp_path / "out.json", threshold=0.7)
    text = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert json.loads(text) == ODD.to_records(0.7) and "日本" in text


def test_a_table_of_pandas_and_one_line_about_it():
    table = ODD.to_frame()
    assert list(table.index) == ODD.ids and list(table.columns) == list(ODD.classes)
    np.testing.assert_array_equal(table.to_numpy(), ODD.scores)
    assert repr(ODD) == "Predictions(3 images × 3 classes)"
    no_text = Predictions(["caf\udce9.png"], CLASSES, ODD.scores[:1])  # a file whose name is not UTF-8
    assert list(no_text.to_frame().index) == no_text.ids
