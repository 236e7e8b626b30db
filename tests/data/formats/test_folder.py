"""Folders with one sub-folder per class."""

from pathlib import Path

import pytest

import trilabel as tl
from tests.support.seen import rows
from trilabel.data.formats.folder import detect, read
from trilabel.errors import TrilabelError


def grow(root: Path, *files: str) -> Path:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return root


def test_a_folder_a_class(tmp_path):
    grow(tmp_path, "dog/1.jpg", "cat/2.png", "cat/deep/1.jpg", "loose.jpg", "empty/readme.txt")
    dataset = read(tmp_path)
    assert dataset.ids == ["cat/2.png", "cat/deep/1.jpg", "dog/1.jpg", "loose.jpg"]
    assert dataset.classes == ["cat", "dog"]
    assert dataset.labels.to_signed().tolist() == [[1, 0], [1, 0], [0, 1], [0, 0]]
    assert dataset.paths[0] == str(tmp_path / "cat/2.png")
    assert dataset.splits == {}
    assert dataset.notes == (
        "images have the class of their folder; every other class is unknown",
        "1 file that is no image is left out (1 .txt)",
        "1 image is in no class folder: its labels are unknown",
    )


def test_folders_called_like_splits_are_splits(tmp_path):
    dataset = read(grow(tmp_path, "train/dog/1.jpg", "train/cat/1.jpg", "valid/dog/2.jpg", "Test/3.jpg"))
    assert dataset.ids == ["Test/3.jpg", "train/cat/1.jpg", "train/dog/1.jpg", "valid/dog/2.jpg"]
    assert dataset.classes == ["cat", "dog"]
    assert rows(dataset) == {"test": [0], "train": [1, 2], "val": [3]}
    assert dataset.labels.to_signed().tolist() == [[0, 0], [1, 0], [0, 1], [0, 1]]


def test_folders_called_like_splits_among_others_are_classes(tmp_path):
    assert read(grow(tmp_path / "one", "train/1.jpg", "bus/2.jpg")).classes == ["bus", "train"]
    assert read(grow(tmp_path / "two", "train/1.jpg", "test/2.jpg")).classes == ["test", "train"]


def test_what_is_no_such_folder(tmp_path):
    grow(tmp_path, "flat/1.jpg", "flat/table.csv", "deep/a/1.txt", "good/a/1.jpg")
    assert [detect(tmp_path / name) for name in ("flat", "deep", "good", "flat/1.jpg", "no")] == [0, 0, 1, 0, 0]
    with pytest.raises(TrilabelError, match="flat: this folder has no sub-folders with images"):
        read(tmp_path / "flat")
    with pytest.raises(TrilabelError, match="leave out the option images"):
        read(tmp_path / "good", images=tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        ["labels.csv", "images/1.jpg"],
        ["export.json", "cat/1.jpg"],
        ["images/1.jpg", "labels/1.txt"],
        ["JPEGImages/1.jpg", "Annotations/1.xml"],
        ["train/1.jpg", "valid/2.jpg"],
        ["images/cat/1.jpg", "images/dog/2.jpg"],
        ["train/images/1.jpg", "val/images/2.jpg"],
        ["data-set/train/cat/1.jpg", "data-set/train/dog/1.jpg"],
        ["2023/cat/1.jpg", "2023/dog/1.jpg", "2024/cat/1.jpg"],
    ],
)
def test_folders_that_are_no_classes(tmp_path, files):
    assert not detect(grow(tmp_path, *files))
    assert len(read(tmp_path)) >= 1  # if told so


def test_what_may_be_meant(tmp_path):
    grow(tmp_path, "labels.csv", "old.csv", "images/1.jpg")
    with pytest.raises(
        TrilabelError,
        match=r"pass format=NAME; it contains labels.csv, old.csv: give the path of that file; if sub-folders are",
    ):
        tl.data.read(tmp_path)


def test_one_class_an_image(tmp_path):
    grow(tmp_path, "dog/1.jpg", "cat/2.png", "loose.jpg")
    dataset = read(tmp_path, unlisted="absent")
    assert dataset.labels.to_signed().tolist() == [[1, -1], [-1, 1], [0, 0]]
    assert dataset.notes[0] == "images have the class of their folder; every other class is absent"


def test_folders_that_are_classes_all_the_same(tmp_path):
    assert detect(grow(tmp_path / "a", "data/1.jpg", "images/1.jpg", "cat/1.jpg", ".hidden.csv"))
    assert detect(grow(tmp_path / "b", "train/cat/1.jpg", "val/cat/deep/2.jpg", "val/dog/2.jpg"))
    assert detect(grow(tmp_path / "c", "cat/1.jpg"))
