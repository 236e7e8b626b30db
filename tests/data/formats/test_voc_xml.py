"""VOC annotations without lists of labels: as CVAT, datumaro, Roboflow, LabelImg and Label Studio write them."""

import pkgutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import trilabel as tl
from tests.data.formats import layouts
from tests.data.formats.layouts import voc as devkit
from tests.data.formats.layouts import voc_xml as layout
from tests.support.seen import refusal_of
from tests.support.seen import rows as splits_of
from trilabel.data.formats import format_of
from trilabel.data.formats.voc_xml import detect, read

refusal = refusal_of(read)
CAT, DOG = ("cat", 0, 0, 0, 100, 50), ("dog", 0, 50, 25, 100, 50)


def save(file: Path, *objects) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(layout.annotation(file.stem, list(objects)))
    file.with_suffix(".jpg").touch()


def test_reads_the_export_of_cvat(tmp_path):
    home = layout.write(tmp_path)
    assert format_of(home, None) == "voc-xml"
    dataset = tl.data.read(home)
    assert dataset.ids == ["a", "c.v2", "sub/b", "d"] and dataset.classes == ["cat", "hot dog", "bird"]
    assert dataset.labels.to_signed().tolist() == [[1, -1, -1], [0, 0, 0], [1, 0, -1], [0, 0, 0]]
    assert splits_of(dataset) == {"train": [0, 2], "val": [1, 3]}
    assert [Path(path).relative_to(home).as_posix() for path in dataset.paths] == [
        f"JPEGImages/{name}.jpg" for name in dataset.ids
    ]
    assert dataset.boxes.image.tolist() == [0, 0, 2, 2] and dataset.boxes.cls.tolist() == [0, 0, 1, 0]
    np.testing.assert_allclose(dataset.boxes.xyxy[:3], [[0, 0, 1, 1], [0.105, 0.1, 0.2, 0.2], [0.2, 0.2, 0.4025, 0.4]])
    assert dataset.notes == (
        "classes with an object are present, others absent; with difficult ones only, unknown",
        "1 images without objects are unknown",
        "1 images have no annotation file: they are unknown",
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"difficult": "present"}, [[1, -1, -1], [0, 0, 0], [1, 1, -1], [0, 0, 0]]),
        ({"difficult": "absent"}, [[1, -1, -1], [0, 0, 0], [1, -1, -1], [0, 0, 0]]),
        ({"unlisted": "unknown"}, [[1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]),
        ({"empty": "absent"}, [[1, -1, -1], [-1, -1, -1], [1, 0, -1], [0, 0, 0]]),
    ],
)
def test_options(tmp_path, options, expected):
    assert read(layout.write(tmp_path), **options).labels.to_signed().tolist() == expected


def test_reads_the_export_of_roboflow(tmp_path):
    for name, *objects in (
        ("train/a_jpg.rf.1", CAT, DOG), ("train/b_jpg.rf.2", CAT), ("valid/c_jpg.rf.3", DOG), ("test/d_jpg.rf.4",),
    ):  # fmt: skip
        save(tmp_path / f"{name}.xml", *objects)
    (tmp_path / "README.roboflow.txt").write_text("Provided by a Roboflow user")
    dataset = tl.data.read(tmp_path, missing="drop")
    assert dataset.ids == ["test/d_jpg.rf.4", "train/a_jpg.rf.1", "train/b_jpg.rf.2", "valid/c_jpg.rf.3"]
    assert dataset.labels.to_signed().tolist() == [[0, 0], [1, 1], [1, -1], [-1, 1]]
    assert splits_of(dataset) == {"test": [0], "train": [1, 2], "val": [3]}


def test_reads_the_exports_of_label_studio_and_labelimg(tmp_path):
    save(tmp_path / "ls/Annotations/1a2b3c4d-sea.xml", CAT)
    (tmp_path / "ls/Annotations/1a2b3c4d-sea.jpg").unlink()
    (tmp_path / "ls/images").mkdir()
    (tmp_path / "ls/images/1a2b3c4d-sea.png").touch()
    assert list(tl.data.read(tmp_path / "ls").paths) == [str(tmp_path / "ls/images/1a2b3c4d-sea.png")]
    save(tmp_path / "beside/1.xml", CAT, DOG)
    save(tmp_path / "beside/2.xml")
    dataset = tl.data.read(tmp_path / "beside", missing="drop")
    assert dataset.ids == ["1", "2"] and dataset.labels.to_signed().tolist() == [[1, 1], [0, 0]]


def test_annotations_of_a_devkit_alone(tmp_path):
    root = devkit.write(tmp_path)
    assert not detect(tmp_path / "nowhere") and format_of(root, None) == "voc"
    for file in (root / "VOCdevkit/VOC2007/ImageSets/Main").glob("*_*.txt"):
        file.unlink()
    assert format_of(root, None) == "voc-xml"
    dataset = tl.data.read(root)
    assert dataset.classes == ["car", "dog", "train"]
    assert splits_of(dataset) == {"test": [0], "val": [1], "train": [2, 3]}
    with pytest.raises(tl.errors.TrilabelError, match="for annotations alone pass format='voc-xml'"):
        tl.data.read(root, "voc")


def test_objects_without_a_box_give_labels(tmp_path):
    home = layout.write(tmp_path)
    file = home / "Annotations/a.xml"
    good = file.read_text()
    file.write_text(good.replace("<width>100</width>", "<width>0</width>"))
    dataset = read(home)
    assert dataset.labels.to_signed()[0].tolist() == [1, -1, -1] and len(dataset.boxes.image) == 2
    assert "2 objects have no box or image size: no boxes are read for them" in dataset.notes
    file.write_text(good.replace("<name>cat</name>", "<name> </name>", 1))
    assert refusal(home) == "ROOT/Annotations/a.xml: object 1 has no name; name its class"
    file.write_text("<other/>")
    assert refusal(home) == "ROOT/Annotations/a.xml: its first element is 'other', not 'annotation'; move it elsewhere"
    assert refusal(tmp_path / "nowhere").endswith(
        "no annotations of PASCAL VOC here (.xml, in Annotations or beside the images)"
    )
    assert refusal(home, empty="no") == "ROOT: empty='no': use one of 'unknown', 'absent'"


def test_does_not_claim_other_layouts(tmp_path):
    for found in pkgutil.iter_modules(layouts.__path__):
        if found.name not in ("voc", "voc_xml"):
            (tmp_path / found.name).mkdir()
            path = import_module(f"{layouts.__name__}.{found.name}").write(tmp_path / found.name)
            assert not detect(path) and not detect(tmp_path / found.name), found.name


def test_names_with_blanks_in_lists(tmp_path):
    home = layout.write(tmp_path)
    (home / "ImageSets/Main/val.txt").write_text("c.v2  1\nd d\n")  # datumaro writes names as they are
    (home / "JPEGImages/d.jpg").rename(home / "JPEGImages/d d.jpg")
    dataset = read(home)
    assert list(dataset.ids)[-1] == "d d" and splits_of(dataset)["val"] == [1, 3]
    assert all(Path(path).is_file() for path in dataset.paths)
