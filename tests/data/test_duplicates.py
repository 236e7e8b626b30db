"""The same content under two names."""

import numpy as np
import pytest

from trilabel.data import Dataset
from trilabel.data.duplicates import content_codes, find_duplicates
from trilabel.errors import TrilabelError
from trilabel.labels import Labels


@pytest.fixture
def files(tmp_path) -> list[str]:
    contents = {"a": b"one", "b": b"two", "c": b"one", "d": b"longer", "e": b"two", "f": b"one", "g": b"six"}
    for name, content in contents.items():
        (tmp_path / f"{name}.jpg").write_bytes(content)
    return [str(tmp_path / f"{name}.jpg") for name in "abcdefgh"]


def test_equal_codes_for_equal_files(files):
    assert content_codes(files).tolist() == [0, 1, 0, 3, 1, 0, 6, -1]
    assert content_codes([]).tolist() == []


def test_groups_of_a_data_set(files):
    signed = np.array([[1], [1], [-1], [0], [0], [0], [1], [1]], np.int8)
    labels = Labels.from_signed(signed, ["cat"], list("abcdefgh"))
    splits = {"train": np.array([0, 2, 5]), "test": np.array([1]), "val": np.array([4])}
    assert find_duplicates(Dataset(labels.ids, files, labels, splits)) == {
        "images_without_file": 1,
        "groups": [["a", "c", "f"], ["b", "e"]],
        "across_splits": 1,
        "contradicting": 1,
    }


def test_nothing_to_compare(small_scenes, tmp_path):
    with pytest.raises(TrilabelError, match="there are no files to compare"):
        find_duplicates(small_scenes)
    labels = Labels.from_signed([[1]])
    found = find_duplicates(Dataset(labels.ids, [str(tmp_path / "none.jpg")], labels))
    assert found["groups"] == [] and found["images_without_file"] == 1
