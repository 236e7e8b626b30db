"""LabelMe: shapes and flags of a folder of files, with the numbers that its own examples give."""

import json
import pkgutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import trilabel as tl
from tests.data.formats import layouts
from tests.data.formats.layouts import labelme as layout
from tests.data.formats.layouts.labelme import document, shape
from tests.support.seen import refusal_of
from tests.support.seen import rows as splits_of
from trilabel.data.formats import format_of
from trilabel.data.formats.labelme import detect, read

refusal = refusal_of(read)


def save(file: Path, content) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1))
    return file


def test_reads_a_folder(tmp_path):
    home = layout.write(tmp_path)
    assert format_of(home, None) == "labelme"
    dataset = tl.data.read(home, missing="drop")
    assert dataset.ids == ["train/1.jpg", "train/2.jpg", "val/3.jpg", "val/4.jpg"]
    assert dataset.classes == ["sofa", "person", "table", "indoor", "lamp"]
    assert dataset.labels.to_signed().tolist() == [[0, 1, 0, 0, 0], [1, 0, 0, 1, 1], [1, 0, 0, 0, 0], [0] * 5]
    assert splits_of(dataset) == {"train": [0, 1], "val": [2, 3]}
    assert dataset.boxes.image.tolist() == [0, 0, 1] and dataset.boxes.cls.tolist() == [1, 1, 0]
    expected = [[0.1, 0.1, 0.6, 0.9], [0, 0, 0.5, 0.5], [0.4, 0.3, 0.6, 0.7]]
    np.testing.assert_allclose(dataset.boxes.xyxy, expected, rtol=1e-6)
    assert dataset.notes == (
        "what was drawn or ticked is present, the rest of an annotated image is unknown",
        "1 images have nothing drawn or ticked: they are unknown",
        "2 shapes have no box or image size: no boxes are read for them",
    )
    absent = read(home, unlisted="absent").labels.to_signed().tolist()
    assert absent == [[-1, 1, -1, -1, -1], [1, -1, -1, 1, 1], [1, -1, -1, -1, -1], [0] * 5]


def test_a_single_file_and_other_files(tmp_path):
    home = layout.write(tmp_path)
    assert format_of(home / "train/1.json", None) == "labelme"
    assert read(home / "train/1.json").ids == ["1.jpg"]
    save(home / "notes.json", {"who": "me"})
    assert read(home).notes[-1] == "1 other JSON files left out" and len(read(home)) == 4


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("1.jpg", "annotations/1.jpg"),
        ("../images/1.jpg", "images/1.jpg"),
        ("..\\images\\1.jpg", "images/1.jpg"),
        ("../../elsewhere/1.jpg", "annotations/1.jpg"),
        ("/home/me/1.jpg", "annotations/1.jpg"),
        ("C:\\me\\1.jpg", "annotations/1.jpg"),
        (None, "annotations/one"),
    ],
)
def test_where_images_are(tmp_path, given, expected):
    save(tmp_path / "annotations/one.json", document(given, shape("a", [0, 0], [9, 9], kind="rectangle")))
    assert read(tmp_path).ids == [expected]


def test_images_in_another_folder(tmp_path):
    save(tmp_path / "json/1.json", document("1.jpg", shape("a", [0, 0], [9, 9], kind="rectangle")))
    (tmp_path / "images").mkdir()
    (tmp_path / "images/1.jpg").touch()
    assert list(read(tmp_path).paths) == [str(tmp_path / "images/1.jpg")]
    assert list(read(tmp_path, images=tmp_path / "images").paths) == [str(tmp_path / "images/1.jpg")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            document("1.jpg", {"label": "", "points": []}),
            "line 6: shapes[0].label is empty; name the class of the shape",
        ),
        (document("1.jpg", {"points": []}), "line 5: shapes[0].label is missing"),
        (document("1.jpg", {"label": "a"}), "line 5: shapes[0].points is missing"),
        (document("1.jpg", shape("a", ["x", 1])), 'line 9: shapes[0].points[0][0] is "x", not a number'),
        (document("a\0.jpg"), "line 5: imagePath has a zero byte; correct the path"),
        (document(5), "line 5: imagePath is 5, not a text"),
        ({"flags": [], "shapes": []}, "line 2: flags is [], not an object"),
    ],
)
def test_damaged_files(tmp_path, content, message):
    save(tmp_path / "1.json", content)
    assert refusal(tmp_path) == f"ROOT/1.json, {message}"


def test_what_is_not_read(tmp_path):
    save(tmp_path / "a/1.json", document("1.jpg", shape("a", [0, 0], [9, 9])))
    save(tmp_path / "b/1.json", document("../a/1.jpg"))
    assert refusal(tmp_path) == "ROOT: image 'a/1.jpg' is listed twice, at positions 0 and 1; rename or remove one"
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "empty").startswith(
        "ROOT: no file of LabelMe here: a JSON object with shapes and imagePath"
    )
    assert refusal(tmp_path, unlisted="no") == "ROOT: unlisted='no': use one of 'absent', 'unknown'"


def test_does_not_claim_other_layouts(tmp_path):
    for found in pkgutil.iter_modules(layouts.__path__):
        if found.name != "labelme":
            (tmp_path / found.name).mkdir()
            path = import_module(f"{layouts.__name__}.{found.name}").write(tmp_path / found.name)
            assert not detect(path) and not detect(tmp_path / found.name), found.name
