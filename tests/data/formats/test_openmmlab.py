"""OpenMMLab's JSON: lists of classes, objects with boxes, and writing the first."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.data.formats.layouts import openmmlab, openmmlab_boxes
from tests.support.seen import known, refusal_of, rows
from trilabel.data import Dataset, read, write
from trilabel.data.image_paths import existing
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

refusal = refusal_of(read)


def saved(path: Path, *records: object, **about: object) -> Path:
    path.write_text(json.dumps({"metainfo": about, "data_list": records}))
    return path


def test_a_file_for_each_split(tmp_path):
    dataset = read(openmmlab.write(tmp_path))
    assert known(dataset) == {
        "a.jpg": [1, -1, 1],
        "sub/b.jpg": [-1, 1, -1],
        "c.jpg": [0, 0, 0],
        "d.jpg": [-1, -1, 1],
        "e.jpg": [0, 0, 0],
    }
    assert rows(dataset) == {"train": [0, 1, 2], "val": [3, 4]} and existing(dataset.paths).all()
    assert dataset.notes[1:] == (
        "train: 1 images have an empty list of labels: they are unknown",
        "val: 1 images have no labels: they are unknown",
    )
    assert known(read(tmp_path / "mydataset", empty="absent"))["c.jpg"] == [-1, -1, -1]
    assert known(read(tmp_path / "mydataset", unlisted="unknown"))["a.jpg"] == [1, 0, 1]
    assert len(read(tmp_path / "mydataset/annotations/val.json")) == 2


def test_objects(tmp_path):
    dataset = read(openmmlab_boxes.write(tmp_path))
    assert known(dataset) == {"a.jpg": [-1, 1], "b.jpg": [0, 0]} and existing(dataset.paths).all()
    assert dataset.boxes.xyxy.tolist() == [[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]
    assert "1 objects to be ignored are left out" in dataset.notes


def test_single_classes_and_no_names(tmp_path):
    path = saved(tmp_path / "x.json", {"img_path": "a.jpg", "gt_label": 10}, {"img_path": "b.jpg", "gt_label": 2})
    assert read(path).classes == ["2", "10"] and known(read(path)) == {"a.jpg": [-1, 1], "b.jpg": [1, -1]}
    assert "classes are numbers: metainfo has no names for them" in read(path).notes


def test_refusals(tmp_path):
    path, record = tmp_path / "x.json", {"img_path": "a.jpg"}
    assert "data_list[0].gt_label[0] is 2, but metainfo names 1 classes" in refusal(
        saved(path, {**record, "gt_label": [2]}, classes=["a"])
    )
    assert 'data_list[0].gt_label is "cat", not a whole number' in refusal(saved(path, {**record, "gt_label": "cat"}))
    assert "data_list[0].img_path is missing" in refusal(saved(path, {"gt_label": 1}))
    thing = {"bbox": [0, 0, 1], "bbox_label": 0}
    assert "data_list[0].instances[0].bbox is not [left, top" in refusal(saved(path, {**record, "instances": [thing]}))
    assert refusal(tmp_path, format="openmmlab").startswith("ROOT: no file of OpenMMLab here whose name says its split")


def test_writing(tmp_path):
    labels = Labels.from_signed([[1, -1], [1, 0], [0, 0]], ["cat", "dog"], ["a.jpg", "b.jpg", "c.jpg"])
    paths = [str(tmp_path / name) for name in labels.ids]
    dataset = Dataset(labels.ids, paths, labels, {"train": np.array([0, 2]), "val": np.array([1])})
    notes = write(dataset, tmp_path / "out", "openmmlab")
    assert notes == [
        "1 images without a known label are left out: the format has no unknown ones",
        "1 unknown labels will be read as absent: the format has none in an image with labels",
    ]
    assert json.loads((tmp_path / "out/annotations/train.json").read_text()) == {
        "metainfo": {"classes": ["cat", "dog"]},
        "data_list": [{"img_path": "../a.jpg", "gt_label": [0]}],
    }
    after = read(tmp_path / "out")
    assert known(after) == {"../a.jpg": [1, -1], "../b.jpg": [1, -1]} and rows(after) == {"train": [0], "val": [1]}
    write(dataset, tmp_path / "all.json", "openmmlab")
    assert list(read(tmp_path / "all.json").ids) == ["a.jpg", "b.jpg"]
    with pytest.raises(TrilabelError, match="nothing to write in 0 images"):
        write(dataset.take(np.zeros(0, np.int64)), tmp_path / "no.json", "openmmlab")
