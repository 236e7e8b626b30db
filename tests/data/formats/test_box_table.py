"""Tables with a row per box: those of Roboflow, VoTT, VinBigData and Open Images, and their faults."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from PIL import Image

import trilabel as tl
from tests.data.formats import layouts
from tests.data.formats.layouts import (
    box_table_openimages,
    box_table_roboflow,
    box_table_vinbigdata,
    box_table_vott,
)
from trilabel.data.formats import format_of
from trilabel.data.formats.box_table import detect, read
from trilabel.errors import TrilabelError


def refusal(path: Path, **options) -> str:
    with pytest.raises(TrilabelError) as caught:
        read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), "PATH")


def splits_of(dataset) -> dict[str, list[int]]:
    return {name: rows.tolist() for name, rows in dataset.splits.items()}


def test_roboflow(tmp_path):
    dataset = tl.data.read(box_table_roboflow.write(tmp_path))
    assert dataset.classes == ["cat", "hot dog"] and splits_of(dataset) == {"train": [0], "val": [1], "test": [2]}
    assert dataset.ids == ["train/a_jpg.rf.1c8e.jpg", "valid/b_jpg.rf.77aa.jpg", "test/c_jpg.rf.0f00.jpg"]
    assert dataset.labels.to_signed().tolist() == [[1, 1], [1, 0], [0, 1]]
    assert dataset.boxes.image.tolist() == [0, 0, 1, 2, 2] and dataset.boxes.cls.tolist() == [0, 1, 0, 1, 1]
    assert dataset.boxes.xyxy[0].tolist() == pytest.approx([0.1, 0.1, 0.6, 0.6])
    assert dataset.paths[1] == str(tmp_path / "valid/b_jpg.rf.77aa.jpg")
    absent = tl.data.read(tmp_path, unlisted="absent")
    assert absent.labels.to_signed().tolist() == [[1, 1], [1, -1], [-1, 1]]


def test_vott(tmp_path):
    path = box_table_vott.write(tmp_path)
    dataset = tl.data.read(path)
    assert dataset.ids == ["1.jpg", "2, late.jpg"] and dataset.classes == ["cat", "hot dog"]
    assert dataset.boxes.xyxy[:2].tolist() == [pytest.approx([0.1, 0.1, 0.604167, 0.6]), [0, 0, 1, 1]]
    assert tl.data.read(path, boxes=False).boxes is None
    (tmp_path / "1.jpg").unlink()
    dataset = tl.data.read(path)
    assert len(dataset.boxes.cls) == 1 and dataset.labels.known == 3
    assert "2 rows have no box, or an image that cannot be opened: no boxes are read for them" in dataset.notes


def test_vinbigdata(tmp_path):
    path = box_table_vinbigdata.write(tmp_path)
    Image.new("L", (2000, 2000)).save(tmp_path / "9a5094b2563a1ef3ff50dc5c7ff71345.png")
    dataset = tl.data.read(path, none_class="No finding")
    assert dataset.classes == ["Aortic enlargement", "Cardiomegaly", "No finding"]
    assert dataset.labels.to_signed().tolist() == [[-1, -1, 1], [1, 1, 0]]
    assert len(dataset.boxes.cls) == 3 and dataset.boxes.xyxy[0].tolist() == pytest.approx(
        [691 / 2000, 1375 / 2000, 1653 / 2000, 1831 / 2000]
    )
    assert "1 images have 'No finding': their other labels are absent" in dataset.notes


def test_open_images(tmp_path):
    dataset = tl.data.read(box_table_openimages.write(tmp_path))
    assert sorted(dataset.classes) == ["Airplane", "Man"] and splits_of(dataset) == {"train": [0], "val": [1]}
    assert len(dataset.boxes.cls) == 3 and dataset.labels.known == 3
    assert dataset.boxes.xyxy[0].tolist() == pytest.approx([0.022673031, 0.07103825, 0.9642005, 0.80054647])
    (tmp_path / "annotations/class-descriptions-boxable.csv").unlink()
    assert sorted(tl.data.read(tmp_path).classes) == ["/m/04yx4", "/m/0cmf2"]


def test_widths_instead_of_corners_and_splits(tmp_path):
    path = tmp_path / "labels.csv"  # as makesense.ai writes it, with a header
    path.write_text(
        "label_name,bbox_x,bbox_y,bbox_width,bbox_height,image_name,image_width,image_height,split\n"
        "cat,10,5,50,25,1.jpg,100,50,validation\ndog,nan,,,,1.jpg,100,50,validation\n,,,,,2.jpg,100,50,\n"
    )
    dataset = tl.data.read(path)
    assert dataset.boxes.xyxy.tolist() == [pytest.approx([0.1, 0.1, 0.6, 0.6])] and splits_of(dataset) == {"val": [0]}
    assert dataset.labels.to_signed().tolist() == [[1, 1], [0, 0]]


def test_faults(tmp_path):
    path = tmp_path / "t.csv"
    head = "image,label,xmin,ymin,xmax,ymax\n"
    for text, message in (
        (head + "1.jpg,cat,1,2,three,4\n", "PATH, row 2: 'three' in column 'xmax' is not a number; correct it"),
        (head + "1.jpg,cat,1,2,3,4\n1.jpg,cat,1\n", "PATH, row 3: 3 cells, but the header has 6"),
        (head + ",cat,1,2,3,4\n", "PATH, row 2: the image has no name"),
        (head, "PATH: no rows below the header"),
        (head + "1.jpg,,1,2,3,4\n", "PATH: no row names a class"),
        ("image,label\n1.jpg,cat\n", "PATH: a table of boxes needs columns such as filename, class, xmin"),
        (head.replace("\n", ",split\n") + "1.jpg,a,1,2,3,4,x\n1.jpg,a,1,2,3,4,y\n", "PATH: image '1.jpg' is in two sp"),
    ):
        path.write_text(text)
        assert refusal(path).startswith(message)
    assert "no table of boxes here" in refusal(tmp_path / "nowhere")
    assert "unlisted='x': use one of" in refusal(path, unlisted="x")


def test_a_table_of_values_is_not_one_of_boxes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("image,label,value,x1,y1,x2,y2\n1.jpg,cat,0,1,1,1,1\n")
    assert not detect(path) and format_of(path, None) == "csv"


def test_does_not_claim_other_layouts(tmp_path):
    for found in iter_modules(layouts.__path__):
        (tmp_path / found.name).mkdir()
        path = import_module(f"{layouts.__name__}.{found.name}").write(tmp_path / found.name)
        assert detect(path) == found.name.startswith("box_table"), found.name
