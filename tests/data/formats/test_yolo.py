"""YOLO: the layouts that programs write, what label files may hold, and what happens to damaged ones."""

import pkgutil
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tests.data.formats import layouts
from tests.data.formats.layouts import yolo as layout
from tests.support.seen import known, refusal_of, rows
from trilabel.data import folder_search
from trilabel.data.formats.yolo import RULE, detect, read

refusal = refusal_of(read)

NAMES = "names: [cat, dog]\n"


@pytest.fixture
def six(tmp_path) -> Path:
    return layout.write(tmp_path)


def grow(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


# ---- Ultralytics


@pytest.mark.parametrize("inside", ["", "data.yaml"])
def test_reads_the_published_layout(six, inside):
    assert detect(six / inside)
    dataset = read(six / inside)
    assert known(dataset) == {
        "images/train/000000000009.jpg": [1, 1, -1],
        "images/train/000000000025.jpg": [-1, -1, 1],
        "images/train/000000000030.png": [-1, -1, -1],
        "images/train/000000000034.jpg": [0, 0, 0],
        "images/val/000000000042.jpg": [1, -1, -1],
    }
    assert dataset.classes == ["person", "traffic light", "dog: café"]
    assert rows(dataset) == {"train": [0, 1, 2, 3], "val": [4]}
    assert dataset.paths[2] == str(six / "images/train/000000000030.png")
    assert dataset.notes == (
        RULE,
        "1 label files in labels/val/ have no image and are left out",
        "1 images have no label file: their labels are unknown",
    )


def test_boxes_and_polygons(six):
    boxes = read(six).boxes
    assert boxes.image.tolist() == [0, 0, 0, 1, 4] and boxes.cls.tolist() == [1, 1, 0, 2, 0]
    expected = [[0.4, 0.3, 0.6, 0.7], [0, 0, 0.5, 0.5], [0, 0.8, 0.2, 1], [0.1, 0.1, 0.3, 0.4], [0.85, 0, 1, 1]]
    np.testing.assert_allclose(boxes.xyxy, expected, atol=1e-6)


def test_unlisted(six):
    dataset = read(six, unlisted="unknown")
    assert dataset.labels.to_signed().tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [1, 0, 0]]
    assert dataset.notes[0] == "classes with a box are present, others unknown; images without a label file are unknown"
    assert refusal(six, unlisted="maybe") == "ROOT: unlisted='maybe': use one of 'absent', 'unknown'"


def test_labels_without_images(six, tmp_path):
    before = read(six)
    shutil.move(six / "images", tmp_path / "elsewhere/images")
    dataset = read(six)
    assert known(dataset) == {
        "images/train/000000000009": [1, 1, -1],
        "images/train/000000000025": [-1, -1, 1],
        "images/train/000000000030": [-1, -1, -1],
        "images/val/000000000042": [1, -1, -1],
        "images/val/README": [1, -1, -1],
    }
    assert dataset.notes[1:] == (
        "3 label files in labels/train/ belong to images that do not exist",
        "2 label files in labels/val/ belong to images that do not exist",
    )
    moved = read(six, images=tmp_path / "elsewhere")
    assert moved.labels == before.labels and moved.notes == before.notes
    assert moved.paths[0] == str(tmp_path / "elsewhere/images/train/000000000009.jpg")
    assert refusal(six, images=tmp_path / "nowhere") == f"{tmp_path}/nowhere: no such folder of images"


def test_roboflow_writes_one_folder_up_and_always_a_test_split(tmp_path):
    grow(
        tmp_path,
        {
            "data.yaml": "train: ../train/images\nval: ../valid/images\ntest: ../test/images\n\nnc: 2\n"
            "names: ['cat', 'dog']\n\nroboflow:\n  workspace: x\n  names: y\n",
            "train/images/a.jpg": "",
            "train/labels/a.txt": "1 0.5 0.5 1 1",
            "valid/images/a.jpg": "",
            "valid/labels/a.txt": "0 0.5 0.5 1 1",
            "README.roboflow.txt": "exported",
        },
    )
    dataset = read(tmp_path)
    assert known(dataset) == {"train/images/a.jpg": [-1, 1], "valid/images/a.jpg": [1, -1]}
    assert rows(dataset) == {"train": [0], "val": [1]}
    assert dataset.notes == (RULE, "there is no ../test/images: no test images")


def test_lists_of_images_and_lists_of_folders(tmp_path):
    grow(
        tmp_path,
        {
            "coco.yaml": f"path: .\ntrain: [images/a, images/b/]\nval: lists/val.txt\n{NAMES}",
            "lists/val.txt": "\ufeff./images/v/1.jpg\r\nimages\\v\\2.jpg\r\n./images/v/1.jpg\r\n\r\n",
            "images/a/1.jpg": "",
            "images/b/x/1.jpg": "",
            "labels/a/1.txt": "0 0.5 0.5 1 1",
            "labels/b/x/1.txt": "1 0.5 0.5 1 1",
            "labels/v/1.txt": "1 0.5 0.5 1 1",
        },
    )
    dataset = read(tmp_path)
    expected = {
        "images/a/1.jpg": [1, -1],
        "images/b/x/1.jpg": [-1, 1],
        "images/v/1.jpg": [-1, 1],
        "images/v/2.jpg": [0, 0],
    }
    assert known(dataset) == expected
    assert rows(dataset) == {"train": [0, 1], "val": [2, 3]}
    assert "1 lines of val.txt repeat an image and are left out" in dataset.notes


@pytest.mark.parametrize("start", ["", "./", "data/", "../"])
def test_lists_start_at_the_root_the_list_or_above(tmp_path, start):
    grow(
        tmp_path,
        {
            "data.yaml": f"train: images/train.txt\n{NAMES}",
            "images/train.txt": f"{start}obj/1.jpg\n{start}obj/2.jpg\n",
            ("" if start in ("data/", "../") else "images/") + "obj/1.jpg": "",
        },
    )
    inside = "obj" if start in ("data/", "../") else "images/obj"
    assert read(tmp_path).ids == [f"{inside}/1.jpg", f"{inside}/2.jpg"]


OTHER_MACHINES = ["/content/ds/{}", "C:\\data\\{}", "C:/data/{}", "../../x/ds/{}"]


@pytest.mark.parametrize("start", OTHER_MACHINES)
@pytest.mark.parametrize("images", ["images", "train/images", "images/train"])
@pytest.mark.parametrize("available", ["images", "labels"])
def test_lists_of_another_machine(tmp_path, start, images, available):
    lines = [start.format(f"{images}/{name}.jpg") for name in ("gone", "a", "sub/b")]
    lines = [line.replace("/", "\\") if "\\" in start else line for line in lines]
    labels = images.replace("images", "labels")
    labeled = {f"{labels}/a.txt": "1 .5 .5 1 1", f"{labels}/sub/b.txt": "0 .5 .5 1 1"}
    pictures = {f"{images}/a.jpg": "", f"{images}/sub/b.jpg": ""}
    files = pictures if available == "images" else labeled
    # of the first line, which must not decide, nothing is there
    grow(tmp_path, {"data.yaml": f"train: lists/train.txt\n{NAMES}", "lists/train.txt": "\n".join(lines), **files})
    dataset = read(tmp_path)
    signs = [[0, 0]] * 3 if available == "images" else [[0, 0], [-1, 1], [1, -1]]
    assert known(dataset) == dict(zip([f"{images}/{n}.jpg" for n in ("gone", "a", "sub/b")], signs, strict=True))
    assert dataset.paths[1] == str(tmp_path / images / "a.jpg")


def test_most_lines_decide_where_a_list_starts(tmp_path):
    lines = [f"data/images/{number}.jpg" for number in range(200)]
    grow(tmp_path, {"data.yaml": f"train: train.txt\n{NAMES}", "train.txt": "\n".join(lines), "data/images/0.jpg": ""})
    for number in range(1, 200):
        grow(tmp_path, {f"labels/{number}.txt": ""})
    assert read(tmp_path).ids == [f"images/{number}.jpg" for number in range(200)]


def test_a_single_line_in_a_thousand_is_enough(tmp_path):
    lines = [f"/x/images/{number}.jpg" for number in range(1000)]
    grow(tmp_path, {"data.yaml": f"train: train.txt\n{NAMES}", "train.txt": "\n".join(lines), "labels/777.txt": ""})
    dataset = read(tmp_path)
    assert dataset.ids[777] == "images/777.jpg" and dataset.labels.known == 2


def test_lists_of_nothing_that_is_there(tmp_path):
    text = f"train: images\nval: val.txt\n{NAMES}"
    grow(tmp_path, {"data.yaml": text, "images/1.jpg": "", "val.txt": "/content/ds/images/2.jpg\n/content/x.jpg\n"})
    assert refusal(tmp_path) == (
        "ROOT/val.txt, line 1: neither an image nor a label file of '/content/ds/images/2.jpg' in ROOT, nor of any "
        "other line; correct the paths"
    )
    (tmp_path / "data.yaml").write_text(text.replace("val", "test").replace("test.txt", "val.txt"))
    dataset = read(tmp_path)  # as with folders, the images of the test split may be missing
    assert dataset.ids == ["images/1.jpg"]
    assert dataset.notes[1] == "no line of val.txt has an image or a label file: no test images"


@pytest.mark.parametrize("form", ["images/train", "train.txt"])
def test_absolute_paths_below_the_root(tmp_path, monkeypatch, form):
    home = grow(
        tmp_path / "ds",
        {
            "data.yaml": f"train: {tmp_path}/ds/{form}\nval: [../ds/images/val]\n{NAMES}",
            "train.txt": f"{tmp_path}/ds/images/train/a.jpg\n",
            "images/train/a.jpg": "",
            "images/val/b.jpg": "",
            "labels/train/a.txt": "1 .5 .5 1 1",
        },
    )
    (tmp_path / "link").symlink_to(home)
    monkeypatch.chdir(tmp_path)
    for path in (home, tmp_path / "link", Path("ds")):
        assert known(read(path)) == {"images/train/a.jpg": [-1, 1], "images/val/b.jpg": [0, 0]}
    grow(tmp_path, {"images/images/train/a.jpg": ""})
    assert read(home, images=tmp_path / "images").paths[0] == str(tmp_path / "images/images/train/a.jpg")


def test_absolute_paths_elsewhere_stay(tmp_path):
    grow(tmp_path, {"other/images/a.jpg": "", "other/labels/a.txt": "1 .5 .5 1 1", "ds-2/images/b.jpg": ""})
    grow(tmp_path / "ds", {"data.yaml": f"train: {tmp_path}/other/images\nval: v.txt\n{NAMES}"})
    grow(tmp_path / "ds", {"v.txt": f"{tmp_path}/ds-2/images/b.jpg"})
    other, second = f"{tmp_path}/other/images/a.jpg", f"{tmp_path}/ds-2/images/b.jpg"
    assert known(read(tmp_path / "ds")) == {other: [-1, 1], second: [0, 0]}


@pytest.mark.parametrize("empty", ["", "null", "~", "Null", "[]", "[null]"])
def test_splits_of_nothing(tmp_path, empty):
    text = f"path: {empty}\ntrain: images\nval: {empty}\ntest: {empty}\n{NAMES}"
    dataset = read(grow(tmp_path, {"data.yaml": text, "images/1.jpg": ""}))
    assert rows(dataset) == {"train": [0]} and len(dataset.notes) == 2


def test_own_folders_before_those_of_a_data_set_beside(tmp_path):
    text = f"train: ../train/images\nval: ../valid/images\ntest: ../test/images\n{NAMES}"
    for folder in (tmp_path, tmp_path / "own"):
        for split in ("train", "valid", "test"):
            grow(folder, {f"{split}/images/{folder.name}.jpg": ""})
    own = grow(tmp_path / "own", {"data.yaml": text})
    assert read(own).ids == ["train/images/own.jpg", "valid/images/own.jpg", "test/images/own.jpg"]
    shutil.rmtree(own / "test")  # not to be made up for by images of the other data set
    dataset = read(own)
    assert dataset.ids == ["train/images/own.jpg", "valid/images/own.jpg"]
    assert dataset.notes[1] == "there is no ../test/images: no test images"
    shutil.rmtree(own / "train")
    shutil.rmtree(own / "valid")
    assert read(own).ids[0] == f"../train/images/{tmp_path.name}.jpg"


def test_labels_take_the_place_of_the_last_folder_called_images(tmp_path):
    grow(tmp_path, {"data.yaml": f"train: images/a\n{NAMES}", "images/a/images/1.jpg": ""})
    grow(tmp_path, {"images/a/labels/1.txt": "1 0.5 0.5 1 1", "labels/a/images/1.txt": "0 0.5 0.5 1 1"})
    assert known(read(tmp_path)) == {"images/a/images/1.jpg": [-1, 1]}


def test_images_in_two_splits_stay_in_the_first(tmp_path):
    grow(tmp_path, {"data.yaml": f"train: images\nval: images\n{NAMES}", "images/1.jpg": "", "images/2.jpg": ""})
    dataset = read(tmp_path)
    assert rows(dataset) == {"train": [0, 1]}
    assert dataset.notes[1] == "2 images of val are also in train: kept there"


def test_number_of_classes_without_names(tmp_path):
    grow(tmp_path, {"data.yaml": "train: images\nnc: 2\n", "images/1.jpg": "", "labels/1.txt": "1 0.5 0.5 1 1 0.93"})
    dataset = read(tmp_path)
    assert dataset.classes == ["0", "1"] and known(dataset) == {"images/1.jpg": [-1, 1]}


def test_key_points_follow_the_box(tmp_path):
    text = "0.0 0.5 0.5 0.2 0.2 7 8 2 9 9 2"  # coordinates of key points that are not seen may be anything
    grow(
        tmp_path, {"data.yaml": f"train: images\n{NAMES}kpt_shape: [2, 3]\n", "images/1.jpg": "", "labels/1.txt": text}
    )
    np.testing.assert_allclose(read(tmp_path).boxes.xyxy, [[0.4, 0.4, 0.6, 0.6]], atol=1e-6)


def test_boxes_in_pixels_are_left_out_but_their_classes_present(tmp_path):
    text = "0 320 240 50 50\n1 0.5 0.5 1.005 1\n1 0.5 0.5 -0.2 1\n"
    grow(tmp_path, {"data.yaml": f"train: images\n{NAMES}", "images/1.jpg": "", "labels/1.txt": text})
    dataset = read(tmp_path)
    assert known(dataset) == {"images/1.jpg": [1, 1]}
    assert dataset.boxes.cls.tolist() == [1] and dataset.boxes.xyxy.tolist() == [[0, 0, 1, 1]]
    expected = "2 boxes have coordinates outside the image: they are left out, but their classes are present"
    assert dataset.notes[1] == expected


# ---- Darknet


def test_darknet_as_cvat_writes_it(tmp_path):
    grow(
        tmp_path,
        {
            "obj.data": "classes = 2\ntrain = data/train.txt\nvalid = data/valid.txt\n"
            "names = data/obj.names\nbackup = backup/\n",
            "obj.names": "cat\nhot dog\n\n",
            "train.txt": "data/obj_train_data/1.jpg\ndata/obj_train_data/2.jpg\n",
            "valid.txt": "data/obj_valid_data/3.jpg\n",
            "obj_train_data/1.txt": "1 0.5 0.5 1 1\n",
            "obj_train_data/2.txt": "",
            "obj_valid_data/3.jpg": "",
        },
    )
    assert detect(tmp_path) and detect(tmp_path / "obj.data")
    dataset = read(tmp_path)
    assert known(dataset) == {
        "obj_train_data/1.jpg": [-1, 1],
        "obj_train_data/2.jpg": [-1, -1],
        "obj_valid_data/3.jpg": [0, 0],
    }
    assert dataset.classes == ["cat", "hot dog"] and rows(dataset) == {"train": [0, 1], "val": [2]}
    (tmp_path / "obj.data").write_text(f"train = {tmp_path}/train.txt\nnames = {tmp_path}/obj.names\n")
    assert read(tmp_path).ids == ["obj_train_data/1.jpg", "obj_train_data/2.jpg"]


@pytest.mark.parametrize(("images", "labels"), [("", ""), ("images/", "labels/")])
def test_a_folder_with_classes_txt(tmp_path, images, labels):
    files = {"classes.txt": "cat\ndog\n", f"{images}a.jpg": "", f"{images}b.jpg": "", f"{labels}a.txt": "1 .5 .5 1 1"}
    grow(tmp_path, {**files, "train.txt": "a.jpg", "notes.json": "{}"})
    assert detect(tmp_path) and detect(tmp_path / "classes.txt")
    for path in (tmp_path, tmp_path / "classes.txt"):
        assert known(read(path)) == {f"{images}a.jpg": [-1, 1], f"{images}b.jpg": [0, 0]}
    assert read(tmp_path).splits == {} and len(read(tmp_path).notes) == 2


def test_names_among_the_labels_as_labelimg_writes_them(tmp_path):
    home = grow(tmp_path, {"images/a.jpg": "", "images/b.jpg": "", "labels/classes.txt": "cat\ndog\n"})
    assert not detect(home)
    grow(home, {"labels/a.txt": "1 .5 .5 1 1"})
    for path in (home, home / "labels", home / "labels/classes.txt"):
        assert detect(path)
        dataset = read(path)
        assert known(dataset) == {"images/a.jpg": [-1, 1], "images/b.jpg": [0, 0]}
        assert dataset.notes == (RULE, "1 images have no label file: their labels are unknown")
    shutil.rmtree(home / "images")
    assert known(read(home)) == {"images/a": [-1, 1]}


def test_darknet_as_roboflow_writes_it(tmp_path):
    for split in ("train", "valid"):
        grow(tmp_path / split, {"_darknet.labels": "cat\ndog", "a.jpg": "", "a.txt": "0 0.5 0.5 1 1"})
    assert detect(tmp_path)
    dataset = read(tmp_path)
    assert known(dataset) == {"train/a.jpg": [1, -1], "valid/a.jpg": [1, -1]} and rows(dataset) == {
        "train": [0],
        "val": [1],
    }


# ---- mistakes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0.5 0.5 1 1\n3 0.5 0.5 1 1", "line 2: class 3, but there are 3 names, for 0 to 2; correct one of them"),
        ("-1 0.5 0.5 1 1", "line 1: class -1, but there are 3 names, for 0 to 2; correct one of them"),
        ("1.5 0.5 0.5 1 1", "line 1: class 1.5, but there are 3 names, for 0 to 2; correct one of them"),
        (
            "9" * 30 + " 0.5 0.5 1 1",
            f"line 1: class {'9' * 30}, but there are 3 names, for 0 to 2; correct one of them",
        ),
        ("dog 0.5 0.5 1 1", "line 1: 'dog 0.5 0.5 1 1' is not a class number and coordinates; correct the line"),
        ("0 0.5 0,5 1 1", "line 1: '0 0.5 0,5 1 1' is not a class number and coordinates; correct the line"),
        ("inf 0.5 0.5 1 1", "line 1: class inf, but there are 3 names, for 0 to 2; correct one of them"),
        ("0 nan 0.5 1 1", "line 1: '0 nan 0.5 1 1' is not finite coordinates; correct the line"),
        ("0 0.5 0.5 1 1e999", "line 1: '0 0.5 0.5 1 1e999' is not finite coordinates; correct the line"),
        (
            "0 0.5 0.5\n",
            "line 1: '0 0.5 0.5' is not class x y width height, nor class and x y of three points or more; "
            "correct the line",
        ),
        ("0" + " 0.5" * 7, f"line 1: '0{' 0.5' * 7}' is not class x y width height, nor class and x y of"),
        ("0 0.5\0 0.5 1 1", "line 1: contains a zero byte, so it is not text; write it again"),
    ],
)
def test_damaged_labels(six, text, message):
    (six / "labels/train/000000000009.txt").write_text(text)
    assert refusal(six).startswith(f"ROOT/labels/train/000000000009.txt, {message}")


def test_label_files_that_cannot_be_read(six):
    file = six / "labels/train/000000000009.txt"
    file.write_bytes(b"0 0.5\n\xff\xfe")
    assert refusal(six) == "ROOT/labels/train/000000000009.txt, line 2: not UTF-8 text; save it as UTF-8"
    file.unlink()
    file.mkdir()
    assert (
        refusal(six) == "ROOT/labels/train/000000000009.txt: not a regular file (a folder); put the file in its place"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"train: images/trian\n{NAMES}", "line 1: train: no 'images/trian' in ROOT, nor its labels; correct the path"),
        (f"val:\n  a: b\n{NAMES}", "line 1: val is a map; write a path or a list of paths"),
        (f"train:\n{NAMES}", "names no images that exist; write train: and the folder of the images"),
        ("train: images/train\nnames:\n", "line 2: no names of classes; write names: [cat, dog]"),
        ("train: images/train\nnames: cat\n", "line 2: names is a text; write a list such as [cat, dog]"),
        ("train: images/train\nnames: {0: a, 2: b}\n", "line 2: class number '2'; number the names from 0 up"),
        ("train: images/train\nnames: {a: 0, b: 1}\n", "line 2: class number 'a'; number the names from 0 up"),
        ("train: images/train\nnames: {0: a, 00: b}\n", "line 2: class number '00'; number the names from 0 up"),
        ("train: images/train\nnames:\n  0: a\n  0: b\n", "line 4: 0 is listed twice, first in line 3; remove one"),
        (f"train: images/train\nnc: 3\n{NAMES}", "line 2: nc is 3, but there are 2 names; correct one"),
        (f"train: images/train\nnc: many\n{NAMES}", "line 2: nc is not a number of classes; write for example nc: 3"),
        (
            f"train: images/train\ntrain: images/val\n{NAMES}",
            "line 2: train is listed twice, first in line 1; remove one",
        ),
        (
            "train: images/train\nnames: [cat, dog",
            "line 2: damaged YAML (while parsing a flow sequence expected ',' or ']', but got",
        ),
        ("train: images/train\nnames: [cat, [dog]]", "line 2: a list inside a list or map; write a text, or"),
        (
            "train: images/train\nnames: *classes",
            "line 2: damaged YAML (found undefined alias 'classes'); correct the line",
        ),
        (
            'train: images/train\nnames: ["\\ud83d"]',
            "line 2: '\\ud83d' has an escape that is not a character; write the letter itself",
        ),
        ("train: images/train\nnames: [a\0]", "line 2: contains a zero byte, so it is not text; write it again"),
    ],
)
def test_damaged_descriptions(six, text, message):
    (six / "data.yaml").write_text(text)
    assert detect(six)
    start = "" if message.startswith("line") else "ROOT/data.yaml: "
    assert refusal(six).startswith(start + message if start else f"ROOT/data.yaml, {message}")


def test_classes_of_one_name(six):
    (six / "data.yaml").write_text("train: images/train\nnames: [cat, cat, dog]\n")
    assert refusal(six) == "ROOT: class 'cat' is listed twice, at positions 0 and 1; rename or remove one"


def test_damaged_darknet(tmp_path):
    grow(tmp_path, {"obj.data": "names = obj.names\ntrain = train.txt\n", "obj.names": "cat\n\ndog\n", "train.txt": ""})
    message = "ROOT/obj.names, line 2: blank, which would change the numbers of the classes; remove the line"
    assert refusal(tmp_path) == message
    (tmp_path / "obj.names").write_text("cat\ndog\n")
    assert refusal(tmp_path) == "ROOT/train.txt, line 1: contains no images; write the paths of images into it"
    (tmp_path / "obj.names").write_text("")
    assert refusal(tmp_path) == "ROOT/obj.names: no names of classes; write one per line"
    (tmp_path / "obj.names").unlink()
    assert refusal(tmp_path) == "ROOT/obj.names: cannot be read (No such file or directory)"
    (tmp_path / "train.txt").unlink()
    assert refusal(tmp_path) == "ROOT/obj.data, line 2: train: no list 'train.txt' in ROOT; correct the path"
    (tmp_path / "obj.data").write_text("names = obj.names\n")
    assert refusal(tmp_path) == "ROOT/obj.data: names no list of images that exists; write train = train.txt"
    (tmp_path / "obj.data").write_text("names = obj.names\nwhat\n")
    assert refusal(tmp_path) == "ROOT/obj.data, line 2: 'what' is not key = value; correct the line"


def test_several_descriptions(six):
    shutil.move(six / "data.yaml", six / "a.yaml")
    shutil.copy(six / "a.yaml", six / "b.yml")
    assert detect(six)
    assert refusal(six) == "ROOT: has several descriptions, a.yaml, b.yml; give the path of one of these files"
    shutil.copy(six / "a.yaml", six / "dataset.yaml")
    assert len(read(six)) == 5


def test_what_is_no_yolo(tmp_path):
    grow(
        tmp_path, {"a.yaml": "x: 1", "classes.txt": "cat\n", "images/1.jpg": "", "obj.data": "x", "note.txt": "names:"}
    )
    for path in (tmp_path, tmp_path / "nowhere", *tmp_path.iterdir(), Path("x" * 5000)):
        assert not detect(path)
    assert refusal(tmp_path) == "ROOT: no data.yaml, obj.data, obj.names or classes.txt that describes YOLO labels"


def test_does_not_claim_other_layouts(tmp_path):
    for found in pkgutil.iter_modules(layouts.__path__):
        if found.name not in ("yolo", "label_studio_yolo"):
            (tmp_path / found.name).mkdir()
            assert not detect(import_module(f"{layouts.__name__}.{found.name}").write(tmp_path / found.name))


def test_reads_thousands_of_files(tmp_path):
    grow(tmp_path, {"data.yaml": f"train: images\n{NAMES}"})
    (tmp_path / "labels").mkdir()
    count = 4000
    for number in range(count):
        (tmp_path / f"labels/{number:012}.txt").write_text("1 0.5 0.5 0.25 0.125\n" * 7)
    assert len(read(tmp_path).boxes.cls) == 7 * count


# ---- paths that lead anywhere


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("train: /\n", "/"),
        ("path: /\ntrain: .\n", "/"),
        ("train: [images/train, /]\n", "/"),
        (f"train: {Path.home()}\n", str(Path.home())),
        ("train: /proc\n", "/proc"),
        ("train: /sys/class\n", "/sys/class"),
        ("train: link\n", "/"),
    ],
)
def test_the_whole_disk_is_not_searched(six, text, folder):
    home = six / "deep/er/yolo"
    shutil.copytree(six / "images", home / "images")
    (home / "link").symlink_to("/")
    (home / "data.yaml").write_text(text + NAMES)
    if not Path(folder).is_dir():
        pytest.skip(f"this system has no {folder}")
    message = refusal(home / "data.yaml")
    value = text.partition("train: ")[2].strip().rpartition(" ")[2].rstrip("]")
    assert f"ROOT, line {text.count(chr(10))}: train: {value!r} is " in message
    assert message.endswith("name the folder that has only the images")
    assert f"is {folder}, " in message


def test_images_elsewhere_are_read_as_before(six, tmp_path):
    """An absolute path, as Ultralytics writes, and a folder beside or around that of the file."""
    elsewhere = tmp_path / "configs/inner/data.yaml"
    elsewhere.parent.mkdir(parents=True)
    for text in (
        f"path: {six}\ntrain: images/train\n",
        f"train: {six}/images/train\n",
        f"train: ../../{six.name}/images/train\n",
    ):
        elsewhere.write_text(text + "names: [a, b, c]\n")
        assert len(read(elsewhere)) == 4
    (six / "configs").mkdir()
    (six / "configs/data.yaml").write_text("path: ..\ntrain: .\nnames: [a, b, c]\n")
    assert len(read(six / "configs/data.yaml")) == 5


@pytest.mark.parametrize("text", ["path: ../../..\ntrain: .\n", "train: ../../..\n"])
def test_images_far_above_the_file_are_read_by_relative_and_absolute_path(six, text, monkeypatch):
    file = six / "configs/inner/deep/data.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text + "names: [a, b, c]\n")
    monkeypatch.chdir(file.parent)
    assert len(read(file)) == len(read(Path("data.yaml"))) == 5


def test_a_folder_of_other_files_is_not_searched_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_search, "_MOST_OTHERS", 500)
    grow(tmp_path, {"data.yaml": f"train: stuff\n{NAMES}"})
    for number in range(30):
        (tmp_path / f"stuff/{number}").mkdir(parents=True)
        for inner in range(20):
            (tmp_path / f"stuff/{number}/{inner}.log").touch()
    assert "stuff: 5" in (message := refusal(tmp_path / "data.yaml")) and "files and folders, but only 0" in message
    assert "name the folder that has only the images" in message
    for number in range(10):
        (tmp_path / f"stuff/{number}.jpg").touch()
    assert len(read(tmp_path / "data.yaml")) == 10
