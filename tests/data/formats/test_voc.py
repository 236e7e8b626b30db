"""PASCAL VOC: a small devkit laid out like the real one, and what happens to damaged ones."""

import importlib
import pkgutil
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.data.formats import layouts
from tests.data.formats.layouts import voc as layout
from tests.support.seen import refusal_of
from trilabel.data.formats.voc import detect, read
from trilabel.errors import TrilabelError

refusal = refusal_of(read)

# Rows as in the real files: a blank before 1 and 0, so that the numbers line up. "train" is a class as well.
SETS = {
    "train": {"2008_000008": {"hot_dog": " 1", "train": "-1"}, "2008_000015": {"hot_dog": " 0", "train": " 1"}},
    "val": {"2008_000002": {"hot_dog": "-1", "train": " 0"}},
}
OBJECTS = {
    "2008_000008": [("hot_dog", 1, 1, 100, 50), ("hot_dog", 51, 26, 100, 50)],
    "2008_000015": [("train", 21, 11, 40, 20), ("hot_dog", 1, 1, 2, 2)],
    "2008_000002": [("train", 1, 1, 100, 50)],
}


def annotation(objects, width=100, height=50) -> str:
    parts = "<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part>"
    drawn = "".join(
        f"<object><name>{name}</name><difficult>0</difficult><bndbox><xmax>{x1}</xmax><xmin>{x0}</xmin>"
        f"<ymax>{y1}</ymax><ymin>{y0}</ymin></bndbox>{parts}</object>\n"
        for name, x0, y0, x1, y1 in objects
    )
    size = f"<size><width>{width}</width><height>{height}</height><depth>3</depth></size>"
    return f"<annotation>\n{size}\n{drawn}</annotation>"


@pytest.fixture
def devkit(tmp_path) -> Path:
    """The folder around VOCdevkit/VOC2012."""
    home = tmp_path / "VOCdevkit/VOC2012"
    main = home / "ImageSets/Main"
    for folder in (main, home / "Annotations", home / "JPEGImages", home / "ImageSets/Segmentation"):
        folder.mkdir(parents=True)
    both = {"trainval": {name: row for images in SETS.values() for name, row in images.items()}}
    for split, images in {**SETS, **both}.items():
        (main / f"{split}.txt").write_text("".join(f"{name}\n" for name in images))
        for cls in ("hot_dog", "train"):
            (main / f"{cls}_{split}.txt").write_text("".join(f"{n} {row[cls]}\n" for n, row in images.items()))
    for name, objects in OBJECTS.items():
        (home / f"Annotations/{name}.xml").write_text(annotation(objects))
        (home / f"JPEGImages/{name}.webp").touch()
    return tmp_path


def home_of(devkit: Path) -> Path:
    return devkit / "VOCdevkit/VOC2012"


@pytest.mark.parametrize("inside", ["", "VOCdevkit", "VOCdevkit/VOC2012"])
def test_reads_labels_splits_and_paths(devkit, inside):
    assert detect(devkit / inside)
    dataset = read(devkit / inside)
    assert dataset.ids == ["2008_000008", "2008_000015", "2008_000002"]
    assert dataset.classes == ["hot_dog", "train"]
    assert dataset.labels.to_signed().tolist() == [[1, -1], [0, 1], [-1, 0]]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0, 1], "val": [2]}
    assert dataset.paths[2] == str(home_of(devkit) / "JPEGImages/2008_000002.webp")
    assert dataset.notes == ("classes with difficult objects only are unknown",)


def test_boxes_are_shares_of_the_size_in_the_annotation(devkit):
    boxes = read(devkit).boxes
    assert boxes.image.tolist() == [0, 0, 1, 1, 2] and boxes.cls.tolist() == [0, 0, 1, 0, 1]
    expected = [[0, 0, 1, 1], [0.5, 0.5, 1, 1], [0.2, 0.2, 0.4, 0.4], [0, 0, 0.02, 0.04], [0, 0, 1, 1]]
    np.testing.assert_allclose(boxes.xyxy, expected, rtol=1e-6)
    assert boxes.xyxy.dtype == np.float32 and boxes.image.dtype == boxes.cls.dtype == np.int64
    assert read(devkit, boxes=False).boxes is None


@pytest.mark.parametrize(("difficult", "value"), [("unknown", 0), ("absent", -1), ("present", 1)])
def test_difficult_objects(devkit, difficult, value):
    dataset = read(devkit, difficult=difficult)
    assert dataset.labels.to_signed().tolist() == [[1, -1], [value, 1], [-1, value]]
    assert dataset.notes == (f"classes with difficult objects only are {difficult}",)


def test_trainval_only_where_there_is_neither_train_nor_val(devkit):
    main = home_of(devkit) / "ImageSets/Main"
    for split in SETS:
        for name in (split, f"hot_dog_{split}", f"train_{split}"):
            (main / f"{name}.txt").unlink()
    assert {name: len(rows) for name, rows in read(devkit).splits.items()} == {"trainval": 3}


def test_trainval_is_the_training_split_where_that_is_asked_for(devkit):
    plain, whole = read(devkit), read(devkit, trainval=True)
    rows = np.sort(np.concatenate([plain.splits["train"], plain.splits["val"]]))
    assert [whole.ids[row] for row in np.sort(whole.splits["train"])] == [plain.ids[row] for row in rows]
    assert "val" not in whole.splits and "trainval" not in whole.splits
    main = home_of(devkit) / "ImageSets/Main"
    for file in main.glob("*trainval.txt"):
        file.unlink()
    with pytest.raises(TrilabelError, match=r"no trainval.txt, .*leave trainval out"):
        read(devkit, trainval=True)


def test_a_split_without_labels(devkit):
    main, before = home_of(devkit) / "ImageSets/Main", read(devkit)
    (main / "test.txt").write_text("2008_000001\n")
    dataset = read(devkit)
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0, 1], "val": [2], "test": [3]}
    assert dataset.labels[:3] == before.labels and dataset.labels[3:].known == 0
    assert dataset.notes[1:] == (
        "split test has no labels: they are unknown",
        f"1 images have no file in {home_of(devkit) / 'JPEGImages'}",
        "1 images have no annotation file: no boxes are read for them",
    )


def test_a_split_without_a_list_of_its_own(devkit):
    (home_of(devkit) / "ImageSets/Main/val.txt").unlink()
    assert read(devkit).splits["val"].tolist() == [2]


def test_objects_of_classes_without_labels(devkit):
    (home_of(devkit) / "Annotations/2008_000002.xml").write_text(annotation([("hand", 1, 1, 2, 2)]))
    dataset = read(devkit)
    assert len(dataset.boxes.cls) == 4
    assert dataset.notes[-1] == "1 boxes of classes without labels left out"


def test_several_years(devkit):
    shutil.copytree(home_of(devkit), home_of(devkit).with_name("VOC2007"))
    assert refusal(devkit) == "ROOT: contains VOC2007, VOC2012; choose one with year"
    assert "VOC2007" in read(devkit, year=2007).paths[0] and "VOC2012" in read(devkit, year="2012").paths[0]
    assert refusal(devkit, year=2010) == "ROOT: no VOC2010 here, only VOC2007, VOC2012"


def test_what_is_no_devkit(tmp_path):
    assert not detect(tmp_path) and not detect(tmp_path / "nowhere")
    assert refusal(tmp_path).startswith("ROOT: not a VOC devkit")


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (
            "hot_dog_train.txt",
            "2008_000008  1\n2008_000015\n",
            "hot_dog_train.txt, line 2: '2008_000015' is not an image id and",
        ),
        (
            "hot_dog_train.txt",
            "2008_000008  2\n",
            "hot_dog_train.txt, line 1: '2008_000008 2' is not an image id and 1, -1 or 0",
        ),
        (
            "hot_dog_train.txt",
            "2008_000008  1\n",
            "hot_dog_train.txt, line 1: no label of '2008_000015'; 1 labels for 2 images",
        ),
        ("hot_dog_train.txt", "", "hot_dog_train.txt, line 1: no label of '2008_000008'; 0 labels for 2 images"),
        (
            "hot_dog_val.txt",
            "2008_000002 -1\n2008_000003 -1\n",
            "hot_dog_val.txt, line 2: labels of images not in this split;",
        ),
        ("train_val.txt", None, "train_val.txt: missing, unlike other classes'"),
    ],
)
def test_damaged_image_sets(devkit, file, text, message):
    path = home_of(devkit) / "ImageSets/Main" / file
    path.unlink() if text is None else path.write_text(text)
    assert refusal(devkit).startswith(f"ROOT/VOCdevkit/VOC2012/ImageSets/Main/{message}")


def test_image_sets_that_are_not_there_or_not_text(devkit):
    main = home_of(devkit) / "ImageSets/Main"
    (main / "hot_dog_val.txt").write_bytes(b"\xff\xfe")
    assert refusal(devkit).endswith("hot_dog_val.txt, line 1: not UTF-8 text; save it as UTF-8")
    (main / "hot_dog_val.txt").write_bytes(b"2008_000002 -1\0\n")
    assert refusal(devkit).endswith("hot_dog_val.txt, line 1: contains a zero byte, so it is not text; write it again")
    for file in main.glob("*_*.txt"):
        file.unlink()
    assert "no image sets with labels" in refusal(devkit)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<annotation>\n<object>\n", ".xml, line 3: damaged XML"),
        ("", ".xml, line 1: damaged XML"),
        ("<?xml version='1.0' encoding='nonsense'?><annotation/>", ".xml, line 1: damaged XML"),
        (annotation([("hot_dog", 1, 1, "nan", 2)]), ".xml: object 1 has no box, or the image has no size, in numbers"),
        (annotation([("hot_dog", 1, 1, 2, "inf")]), ".xml: object 1 has no box, or the image has no size, in numbers"),
        (annotation([("hot_dog", 1, 1, 2, 2)], width=-5), ".xml: object 1 has no box, or the image has no size"),
        (annotation([("hot_dog", 1, 1, "x", 2)]), ".xml: object 1 has no box, or the image has no size, in numbers"),
        (annotation([("hot_dog", 1, 1, 2, 2)], width=0), ".xml: object 1 has no box, or the image has no size"),
        ("<annotation><object><name>hot_dog</name></object></annotation>", ".xml: object 1 has no box"),
    ],
)
def test_damaged_annotations(devkit, text, message):
    (home_of(devkit) / "Annotations/2008_000015.xml").write_text(text)
    assert f"2008_000015{message}" in refusal(devkit)


def test_other_mistakes(devkit):
    assert refusal(devkit, difficult="maybe") == "ROOT: difficult='maybe': use one of unknown, absent, present"
    assert refusal(devkit, images=devkit / "photos") == "ROOT/photos: no such folder of images"


def test_without_images(devkit):
    expected, folder = read(devkit), home_of(devkit) / "JPEGImages"
    shutil.rmtree(folder)
    dataset = read(devkit)
    assert dataset.labels == expected.labels and dataset.paths[0] == str(folder / "2008_000008")
    assert dataset.notes[1:] == (f"3 images have no file in {folder}",)


def test_without_annotations(devkit):
    shutil.rmtree(home_of(devkit) / "Annotations")
    dataset = read(devkit)
    assert len(dataset.boxes.cls) == 0 and dataset.labels.known == 4
    assert dataset.notes[1:] == ("3 images have no annotation file: no boxes are read for them",)


# ---- the devkit of 2007, as published


def test_2007_with_labels_of_the_test_split(tmp_path):
    dataset = read(layout.write(tmp_path))
    assert dataset.ids == ["000012", "000017", "000005", "000001"] and dataset.classes == ["car", "train"]
    assert dataset.labels.to_signed().tolist() == [[1, -1], [0, 1], [-1, 0], [-1, -1]]
    splits = {name: rows.tolist() for name, rows in dataset.splits.items()}
    assert splits == {"train": [0, 1], "val": [2], "test": [3]}
    assert dataset.boxes.image.tolist() == [0, 1, 1, 2] and dataset.boxes.cls.tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(dataset.boxes.xyxy[0], [155 / 500, 96 / 375, 351 / 500, 270 / 375], rtol=1e-6)
    assert dataset.notes[1:] == ("1 boxes of classes without labels left out",)


def test_the_archive_of_tests_alone(tmp_path):
    root = layout.write(tmp_path)
    for file in (root / "VOCdevkit/VOC2007/ImageSets/Main").iterdir():
        if not file.stem.endswith("test"):
            file.unlink()
    dataset = read(root)
    assert dataset.ids == ["000001"] and {name: len(rows) for name, rows in dataset.splits.items()} == {"test": 1}


def test_both_years_in_one_folder(devkit):
    layout.write(devkit)
    assert detect(devkit) and detect(devkit / "VOCdevkit")
    assert refusal(devkit) == "ROOT: contains VOC2007, VOC2012; choose one with year"
    assert read(devkit, year=2007).classes == ["car", "train"]
    assert read(devkit, year=2012).classes == ["hot_dog", "train"]
    assert read(devkit / "VOCdevkit/VOC2007").ids[0] == "000012"


def test_line_ends_and_byte_order_marks(tmp_path):
    root = layout.write(tmp_path)
    expected = read(root)
    for file in [*root.rglob("*.txt"), *root.rglob("*.xml")]:
        text = file.read_text().replace("\n", "\r\n")
        file.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n" * (file.suffix == ".txt"))
    dataset = read(root)
    assert dataset.labels == expected.labels and dataset.ids == expected.ids
    np.testing.assert_array_equal(dataset.boxes.xyxy, expected.boxes.xyxy)


@pytest.mark.parametrize("file", ["ImageSets/Main/hot_dog_val.txt", "Annotations/2008_000002.xml"])
def test_folders_called_like_files(devkit, file):
    (home_of(devkit) / file).unlink()
    (home_of(devkit) / file).mkdir()
    assert refusal(devkit) == f"ROOT/VOCdevkit/VOC2012/{file}: not a regular file (a folder); put the file in its place"


def test_files_called_like_folders(devkit):
    shutil.rmtree(home_of(devkit) / "ImageSets/Main")
    (home_of(devkit) / "ImageSets/Main").touch()
    assert not detect(devkit) and not detect(home_of(devkit) / "ImageSets/Main")
    assert refusal(devkit).startswith("ROOT: not a VOC devkit")
    assert refusal(home_of(devkit) / "ImageSets/Main").startswith("ROOT: not a VOC devkit")


def test_other_layouts_are_not_detected(tmp_path):
    for module in pkgutil.iter_modules(layouts.__path__):
        (tmp_path / module.name).mkdir()
        path = importlib.import_module(f"tests.data.formats.layouts.{module.name}").write(tmp_path / module.name)
        assert detect(path) == (module.name == "voc"), module.name
