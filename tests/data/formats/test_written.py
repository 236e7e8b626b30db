"""What is written for YOLO, VOC, CVAT and Label Studio, and COCO files of splits: layout, links, what is counted."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.data.formats.layouts import coco_panoptic, webdataset_cls
from tests.support.seen import known, rows
from trilabel.data import Boxes, Dataset, read, write
from trilabel.errors import TrilabelError
from trilabel.inference.predictions import Predictions
from trilabel.labels import Labels

SIGNED = [[1, -1, 1], [0, 0, 0], [-1, -1, -1], [1, 0, -1]]


@pytest.fixture
def dataset(tmp_path) -> Dataset:
    """Four photos; one label of the first has two boxes, the other none, and a box is of an absent label."""
    labels = Labels.from_signed(SIGNED, ["cat", "dog", "big bird"], ["a.png", "b b.png", "sub/c.png", "d.png"])
    for name in labels.ids:
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (60, 40)).save(tmp_path / "photos" / name)
    corners = np.array([[0, 0, 0.5, 0.5], [0.5, 0.25, 1, 1], [0.1, 0.1, 0.2, 0.2]], np.float32)
    boxes = Boxes(np.array([0, 0, 2]), np.array([0, 0, 1]), corners)
    paths = [str(tmp_path / "photos" / name) for name in labels.ids]
    return Dataset(labels.ids, paths, labels, {"train": np.array([0, 1, 2]), "val": np.array([3])}, boxes)


BOXES = "1 boxes of labels that are not present are not written"


# ---- YOLO


def test_yolo(dataset, tmp_path):
    notes = write(dataset, tmp_path / "out", "yolo")
    assert notes == [
        BOXES,
        "2 present labels have no box: they are boxes around the whole image",
        "1 unknown labels will be read as absent: the format has none in an image with labels",
    ]
    text = {str(file.relative_to(tmp_path / "out/labels")): file.read_text() for file in tmp_path.rglob("*.txt")}
    assert text == {
        "train/a.txt": "0 0.25 0.25 0.5 0.5\n0 0.75 0.625 0.5 0.75\n2 0.5 0.5 1 1\n",
        "train/sub/c.txt": "",
        "val/d.txt": "0 0.5 0.5 1 1\n",
    }
    assert (tmp_path / "out/images/train/b b.png").samefile(tmp_path / "photos/b b.png")
    after = read(tmp_path / "out")
    assert rows(after) == {"train": [0, 1, 2], "val": [3]} and after.classes == ["cat", "dog", "big bird"]
    assert after.labels.to_signed().tolist() == [[1, -1, 1], [0, 0, 0], [-1, -1, -1], [1, -1, -1]]
    assert np.allclose(after.boxes.xyxy[:2], dataset.boxes.xyxy[:2])


def test_yolo_of_other_splits_and_classes(dataset, tmp_path):
    odd = Labels(dataset.labels.csr, ["a: b", "no", "\n"], dataset.ids)
    other = replace(dataset, labels=odd, splits={"train": np.array([0]), "extra": np.array([1])}, boxes=None)
    notes = write(other, tmp_path / "out", "yolo", files="none")
    assert "no images are written, only their labels" in notes
    assert "images of other splits (extra, none) are written, but data.yaml does not name them" in notes
    assert "there is no split val, which Ultralytics asks for" in notes and not (tmp_path / "out/images").exists()
    assert read(tmp_path / "out").classes == ["a: b", "no", "\n"]
    plain = replace(dataset, splits={})
    write(plain, tmp_path / "all", "yolo", files="copy")
    assert rows(read(tmp_path / "all")) == {"train": [0, 1, 2, 3]}


def test_images_that_would_share_their_labels(dataset, tmp_path):
    twins = Labels(dataset.labels.csr, dataset.classes, ["a.png", "a.jpg", "../a.bmp", "d.png"])
    with pytest.raises(TrilabelError, match=r"images 'a\.png' and 'a\.jpg' would have the same labels; rename one"):
        write(replace(dataset, ids=twins.ids, labels=twins), tmp_path / "out", "yolo")


def test_images_in_shards_are_copied(tmp_path):
    shards = read(webdataset_cls.write(tmp_path))
    write(shards, tmp_path / "out", "yolo")
    after = read(tmp_path / "out")
    assert sorted(after.labels.counts_per_class()[0].tolist()) == [2, 2, 2]
    assert (tmp_path / "out/images/train/s0000001.png").read_bytes()[:4] == b"\x89PNG"


def test_writing_again_replaces_links_and_not_images(dataset, tmp_path):
    before = Path(dataset.paths[0]).read_bytes()
    for how in ("link", "copy", "link"):
        write(dataset, tmp_path / "out", "yolo", files=how)
        assert (tmp_path / "out/images/train/a.png").read_bytes() == before == Path(dataset.paths[0]).read_bytes()
    with pytest.raises(TrilabelError, match="files='move': use one of 'link', 'copy', 'none'"):
        write(dataset, tmp_path / "out", "yolo", files="move")


def test_images_without_a_file(dataset, tmp_path):
    Path(dataset.paths[3]).unlink()
    assert "1 images have no file: only their labels are written" in write(dataset, tmp_path / "out", "yolo")


# ---- VOC


def test_voc(dataset, tmp_path):
    notes = write(dataset, tmp_path / "out", "voc")
    assert notes == ["1 names of images have blanks, which became underscores", BOXES]
    lists = tmp_path / "out/ImageSets/Main"
    assert (lists / "dog_train.txt").read_text() == "a -1\nb_b  0\nsub/c -1\n"
    assert (lists / "val.txt").read_text() == "d\n"
    after = read(tmp_path / "out")
    assert known(after) == {"a": [1, 1, -1], "b_b": [0, 0, 0], "sub/c": [-1, -1, -1], "d": [-1, 1, 0]}
    assert after.classes == ["big bird", "cat", "dog"] and rows(after) == {"train": [0, 1, 2], "val": [3]}
    assert np.allclose(after.boxes.xyxy, dataset.boxes.xyxy[:2]) and all(Path(path).is_file() for path in after.paths)
    assert "<xmin>31</xmin>" in (tmp_path / "out/Annotations/a.xml").read_text()


@pytest.mark.parametrize("name", ["a/b", "", ".x", "x\x01"])
def test_classes_that_voc_cannot_name(dataset, tmp_path, name):
    odd = Labels(dataset.labels.csr, ["cat", "dog", name], dataset.ids)
    with pytest.raises(TrilabelError, match="rename it"):
        write(replace(dataset, labels=odd), tmp_path / "out", "voc")


def test_voc_of_other_splits(dataset, tmp_path):
    notes = write(replace(dataset, splits={"extra": np.array([0])}, boxes=None), tmp_path / "out", "voc")
    assert "4 images are in none of the splits train, val, test: they are written as train" in notes


# ---- CVAT


def test_cvat(dataset, tmp_path):
    file = tmp_path / "photos/annotations.xml"
    notes = write(dataset, file, "cvat")
    assert notes == ["5 absent labels are not written: the format has none", BOXES]
    after = read(file)
    assert known(after) == {"a.png": [1, 0, 1], "b b.png": [0, 0, 0], "sub/c.png": [0, 0, 0], "d.png": [1, 0, 0]}
    assert rows(after) == {"train": [0, 1, 2], "val": [3]} and all(Path(path).is_file() for path in after.paths)
    assert np.allclose(after.boxes.xyxy, dataset.boxes.xyxy[:2], atol=1e-3)
    text = file.read_text()
    assert '<tag label="big bird" source="manual"></tag>' in text and text.count("<box ") == 2
    write(replace(dataset, splits={}), file, "cvat", predictions=True)
    assert (
        'source="auto"' in file.read_text() and "<project>" not in file.read_text() and not rows(read(file)).get("val")
    )


def test_cvat_without_files_of_images(dataset, tmp_path):
    for path in dataset.paths:
        Path(path).unlink()
    notes = write(dataset, tmp_path / "x.xml", "cvat")
    assert "2 boxes are written as tags, as the files of their images cannot be read" in notes
    assert known(read(tmp_path / "x.xml"))["photos/a.png"] == [1, 0, 1]
    with pytest.raises(TrilabelError, match=r"must end in \.xml"):
        write(dataset, tmp_path / "x.json", "cvat")
    odd = Labels(dataset.labels.csr, ["cat", "dog", "x\x01"], dataset.ids)
    with pytest.raises(TrilabelError, match="has a letter that XML cannot hold"):
        write(replace(dataset, labels=odd), tmp_path / "x.xml", "cvat")


# ---- Label Studio


def test_label_studio_predictions(dataset, tmp_path):
    scores = np.array([[0.9, 0.1, 0.7]] * 4, np.float32)
    options = {"predictions": True, "scores": scores, "present": "objects", "absent": "", "to_name": "photo"}
    notes = write(dataset, tmp_path / "tasks.json", "label-studio", **options)
    assert notes == ["5 absent labels are not written: the format has none", BOXES]
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [len(task["predictions"]) for task in tasks] == [1, 0, 0, 1] and not any(t["annotations"] for t in tasks)
    found = tasks[0]["predictions"][0]
    assert found["score"] == 0.8 and found["model_version"] == "trilabel"
    assert [(one["from_name"], one["to_name"]) for one in found["result"]] == [("objects", "photo")] + [
        ("box", "photo")
    ] * 2
    assert read(tmp_path / "tasks.json").labels.known == 0  # predictions are no labels


# ---- predictions of a model


def test_predictions_in_any_format(dataset, tmp_path):
    scores = np.array([[0.9, 0.1, 0.7], [0.2, 0.3, 0.4], [0.5, 0.5, 0.5], [0.1, 0.6, 0.1]], np.float32)
    found = Predictions(list(dataset.paths), dataset.classes, scores, thresholds=[0.5, 0.6, 0.5])
    assert found.to_dataset().labels.to_signed().tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0]]
    assert found.to_dataset(0.65).labels.to_signed().tolist()[0] == [1, 0, 1]
    assert found.write(tmp_path / "t.json", "label-studio") == []
    assert json.loads((tmp_path / "t.json").read_text())[0]["predictions"][0]["score"] == pytest.approx(0.8)
    found.write(tmp_path / "photos/x.xml", "cvat")
    assert 'source="auto"' in (tmp_path / "photos/x.xml").read_text()
    found.write(tmp_path / "t.csv", "csv")
    assert read(tmp_path / "t.csv").labels.counts_per_class()[0].tolist() == [2, 1, 2]


# ---- COCO


def test_a_coco_file_for_each_split(dataset, tmp_path):
    splits = {"train": np.array([0]), "val": np.array([3]), "extra": np.array([1])}
    write(replace(dataset, splits=splits), tmp_path / "out", "coco")
    files = sorted(file.name for file in (tmp_path / "out/annotations").iterdir())
    assert files == ["instances_rest.json", "instances_train.json", "instances_val.json"]
    after = read(tmp_path / "out")
    assert {name: row for name, row in known(after).items() if row != [0, 0, 0]} == {
        "a.png": [1, -1, 1],
        "sub/c.png": [-1, -1, -1],
        "d.png": [1, 0, -1],
    }
    assert {name: [after.ids[row] for row in index] for name, index in rows(after).items()} == {
        "train": ["a.png"],
        "val": ["d.png"],
        "extra": ["b b.png"],
    }
    assert all(Path(path).is_file() for path in after.paths) and len(after.boxes.cls) == 2
    images = json.loads((tmp_path / "out/annotations/instances_train.json").read_text())["images"]
    assert "split" not in images[0]


def test_panoptic_segments(tmp_path):
    home = coco_panoptic.write(tmp_path)
    dataset = read(home)
    assert dataset.classes == ["cat", "dog", "sky-other-merged"]
    assert dataset.labels.to_signed().tolist() == [[1, -1, 1], [-1, 1, -1], [-1, -1, 1], [0, 0, 0]]
    assert rows(dataset) == {"train": [0, 1], "val": [2, 3]} and all(Path(path).is_file() for path in dataset.paths)
    assert dataset.boxes.xyxy[0].tolist() == [0, 0, 0.5, 0.5] and len(dataset.boxes.cls) == 5
    (home / "annotations/instances_train2017.json").write_text('{"images": [], "annotations": [], "categories": []}')
    assert read(home, labels="panoptic").labels == dataset.labels
    assert len(read(home / "annotations/panoptic_val2017.json")) == 2


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            '"category_id": 18,',
            '"category_id": 99,',
            "annotations[1].segments_info[0].category_id is 99, which is no id",
        ),
        ('"image_id": 9', '"image_id": 8', "annotations[1].image_id is 8, which is no id in images"),
        ('"bbox": [6,', '"bbox": ["x",', "annotations[1].segments_info[0].bbox is not [x, y, width, height]"),
    ],
)
def test_damaged_segments_name_their_place(tmp_path, old, new, told):
    file = coco_panoptic.write(tmp_path) / "annotations/panoptic_train2017.json"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(TrilabelError) as caught:
        read(file)
    assert told in str(caught.value)
