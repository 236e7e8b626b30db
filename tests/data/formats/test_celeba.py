"""CelebA's attributes and partition, and their faults."""

from pathlib import Path

import pytest

import trilabel as tl
from tests.data.formats.layouts import celeba as layout
from trilabel.data.formats.celeba import detect, read
from trilabel.errors import TrilabelError


def refusal(path: Path) -> str:
    with pytest.raises(TrilabelError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), "PATH")


def test_reads_attributes_and_splits(tmp_path):
    root = layout.write(tmp_path)
    dataset = tl.data.read(root)
    assert dataset.classes == ["5_o_Clock_Shadow", "Bald", "Wavy_Hair"]
    assert dataset.labels.to_signed().tolist() == [[-1, 1, 1], [-1, -1, -1], [1, -1, 1]]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0], "val": [2], "test": [1]}
    assert Path(dataset.paths[0]).is_file() and dataset.notes == ("1 is present, -1 is absent",)
    assert tl.data.read(root / "Anno/list_attr_celeba.txt").labels == dataset.labels
    (root / "Eval/list_eval_partition.txt").unlink()
    assert read(root).notes[-1] == "no list_eval_partition.txt: there are no splits"


def test_a_file_of_another_name(tmp_path):
    (tmp_path / "attributes.txt").write_text("1\nred round\na.png 1 0\n")
    dataset = tl.data.read(tmp_path / "attributes.txt")
    assert dataset.labels.to_signed().tolist() == [[1, 0]] and "0 is unknown" in dataset.notes[0]


def test_faults(tmp_path):
    path = tmp_path / "list_attr_celeba.txt"
    for text, message in (
        ("2\na b\n1.jpg 1 -1\n", "PATH: line 1 says 2 images, but 1 are listed; get the file again"),
        ("1\na b\n1.jpg 1\n", "PATH, line 3: 1 values, but line 2 names 2 attributes"),
        ("1\na b\n1.jpg 1 x\n", "PATH, line 3: 'x' is neither 1 (present) nor -1 (absent)"),
        ("2\na\n1.jpg 1\n1.jpg 1\n", "PATH, line 4: image '1.jpg' is also in line 3; remove one"),
        ("1\na a\n1.jpg 1 1\n", "PATH, line 2: attribute 'a' is named twice; rename one"),
        ("x\na\n", "PATH: its first line must be the number of images, its second the names of attributes"),
        ("0\na\n", "PATH: lists no images"),
    ):
        path.write_text(text)
        assert refusal(path) == message
    assert refusal(tmp_path / "no") == "PATH: no list_attr_celeba.txt in this folder or in Anno"
    path.write_text("1\na\n1.jpg 1\n")
    (tmp_path / "list_eval_partition.txt").write_text("1.jpg 0\n2.jpg 1\n")
    assert read(path).notes[-1] == "1 images in list_eval_partition.txt have no attributes: they are left out"
    (tmp_path / "list_eval_partition.txt").write_text("1.jpg 7\n")
    assert refusal(path).endswith("list_eval_partition.txt, line 1: '1.jpg 7' is not an image and 0, 1 or 2")
    assert not detect(tmp_path / "list_eval_partition.txt")
