"""CreateML: boxes around centers, sizes from the image files, one file or one per split."""

import json
import pkgutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import trilabel as tl
from tests.data.formats import layouts
from tests.data.formats.layouts import createml as layout
from tests.data.formats.layouts.createml import box
from tests.support.seen import refusal_of
from tests.support.seen import rows as splits_of
from trilabel.data.formats import format_of
from trilabel.data.formats.createml import detect, read

refusal = refusal_of(read)


def save(file: Path, content) -> Path:
    file.write_text(json.dumps(content, indent=1))
    return file


def test_reads_the_export_of_roboflow(tmp_path):
    home = layout.write(tmp_path)
    assert format_of(home, None) == "createml"
    dataset = tl.data.read(home, missing="drop")
    assert dataset.ids == ["train/a_jpg.rf.1.jpg", "train/b_jpg.rf.2.jpg", "valid/c_jpg.rf.3.jpg"]
    assert dataset.classes == ["cat", "dog"]
    assert dataset.labels.to_signed().tolist() == [[1, 1], [0, 0], [1, -1]]
    assert splits_of(dataset) == {"train": [0, 1], "val": [2]}
    expected = [[0, 0, 1, 1], [0.2, 0.2, 0.3, 0.3], [0, 0, 0.2, 0.4], [0.1, 0.2, 0.3, 0.6]]
    np.testing.assert_allclose(dataset.boxes.xyxy, expected, rtol=1e-6)
    assert dataset.notes == (
        "annotated labels are present, others absent", "1 images without annotations are unknown",
    )  # fmt: skip
    assert read(home, unlisted="unknown").labels.to_signed().tolist() == [[1, 1], [0, 0], [1, 0]]
    assert read(home, empty="absent").labels.to_signed().tolist() == [[1, 1], [-1, -1], [1, -1]]
    assert read(home, boxes=False).boxes is None


def test_one_file_with_images_elsewhere(tmp_path):
    home = layout.write(tmp_path)
    (home / "train").rename(tmp_path / "images")
    records = [*layout.SPLITS["train"], {"image": "d.jpg", "annotations": [box("cat", 1, 1, 2, 2)]}]
    file = save(tmp_path / "annotations.json", records)
    assert format_of(file, None) == "createml"
    dataset = read(file)
    assert dataset.paths[0] == str(tmp_path / "images/a_jpg.rf.1.jpg") and splits_of(dataset) == {}
    assert dataset.notes[-1].startswith("1 annotations have no box, or an image that cannot be opened")
    assert len(dataset.boxes.image) == 2
    moved = read(home, images=tmp_path)
    assert moved.ids == ["valid/c_jpg.rf.3.jpg"] and moved.labels.to_signed().tolist() == [[1]]


def test_other_names_of_keys_and_labels_of_whole_images(tmp_path):
    records = [
        {"imagefilename": "1.jpg", "annotation": [box("cat", 5, 5, 2, 2)]},
        {"image": "2.jpg", "annotations": [{"label": "dog"}]},
        {"image": "3.jpg", "label": "cat"},
    ]
    file = save(tmp_path / "labels.json", records)
    assert format_of(file, None) == "createml"
    assert read(file).labels.to_signed().tolist() == [[1, -1], [-1, 1], [1, -1]]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"annotations": []}, "line 2: [0].image is missing"),
        ({"image": "", "annotations": []}, "line 3: [0].image is not the name of an image file"),
        ({"image": "1.jpg", "annotations": {}}, "line 4: [0].annotations is {}, not a list"),
        ({"image": "1.jpg", "annotations": [{"label": ""}]},
         "line 6: [0].annotations[0].label is empty; name the class"),
        ({"image": "1.jpg", "annotations": [{"label": "a", "coordinates": {"x": "1"}}]},
         'line 8: [0].annotations[0].coordinates.x is "1", not a number'),
    ],
)  # fmt: skip
def test_damaged_files(tmp_path, record, message):
    file = save(tmp_path / "a.createml.json", [record])
    assert refusal(file) == f"ROOT, {message}"


def test_what_is_not_read(tmp_path):
    file = save(tmp_path / "a.createml.json", [])
    assert refusal(file) == "ROOT: the list of images is empty, so there is nothing to read"
    file.unlink()
    assert refusal(tmp_path) == (
        "ROOT: no file of CreateML here, such as _annotations.createml.json; give the path of the file"
    )
    save(file, [{"image": "1.jpg", "annotations": []}] * 2)
    assert "image '1.jpg' is listed twice" in refusal(file)


def test_does_not_claim_other_layouts(tmp_path):
    for found in pkgutil.iter_modules(layouts.__path__):
        if found.name != "createml":
            (tmp_path / found.name).mkdir()
            path = import_module(f"{layouts.__name__}.{found.name}").write(tmp_path / found.name)
            assert not detect(path) and not detect(tmp_path / found.name), found.name
