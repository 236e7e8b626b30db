"""CUB-200-2011: a small copy laid out like the real one, and what happens to damaged ones."""

import importlib
import pkgutil
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.data.formats import layouts
from tests.data.formats.layouts import cub as layout
from tests.support.seen import refusal_of
from trilabel.data.formats.cub import detect, read

refusal = refusal_of(read)

LABELS = "CUB_200_2011/attributes/image_attribute_labels.txt"
NASTY = (
    b"",
    b"\n",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"1",
    b"-1 -1\n",
    b"1 nan 1 1\n",
    b"1 1 Infinity 1\n",
    b"9" * 5000,
    "² ² ² ²".encode(),
)


@pytest.fixture
def root(tmp_path) -> Path:
    return layout.write(tmp_path)


@pytest.mark.parametrize("inside", ["", "CUB_200_2011"])
def test_reads_labels_splits_and_paths(root, inside):
    assert detect(root / inside)
    dataset = read(root / inside)
    assert dataset.ids == list(layout.IMAGES) and dataset.classes == list(layout.ATTRIBUTES)
    assert dataset.labels.to_signed().tolist() == [[-1, -1, 1], [0, 0, -1], [1, -1, -1], [1, 1, 0]]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [1, 2], "test": [0, 3]}
    assert dataset.paths[2] == str(root / "CUB_200_2011/images" / layout.IMAGES[2]) and dataset.boxes is None
    assert dataset.notes == ("attributes marked not visible are unknown (3 labels)",)


def test_not_visible_as_it_stands(root):
    dataset = read(root, not_visible="absent")
    assert dataset.labels.to_signed().tolist() == [[-1, -1, 1], [-1, 1, -1], [1, -1, -1], [1, 1, -1]]
    assert dataset.notes == ("attributes marked not visible count as written, nearly all as absent (3 labels)",)
    assert refusal(root, not_visible="maybe") == "ROOT: not_visible='maybe': use one of 'unknown', 'absent'"


@pytest.mark.parametrize("place", ["CUB_200_2011", "CUB_200_2011/attributes"])
def test_names_of_attributes_elsewhere(root, place):
    expected = read(root).labels
    (root / "attributes.txt").rename(root / place / "attributes.txt")
    assert read(root).labels == expected
    (root / "attributes.txt").write_text("1 something else\n")  # of another data set beside this one
    assert read(root).labels == expected


def test_numbers_need_not_be_in_order_or_without_gaps(root):
    home = root / "CUB_200_2011"
    (home / "images.txt").write_text("30 c.jpg\n7 a b.jpg\n12 d.jpg\n")
    (home / "train_test_split.txt").write_text("7 1\n30 0\n12 0\n")
    (root / LABELS).write_text("30 3 1 4 1.0\n7 1 1 4 1.0\n7 3 0 2 1.0\n30 1 0 2 1.0\n12 2 1 4 1\n")
    dataset = read(root)
    assert dataset.ids == ["c.jpg", "a b.jpg", "d.jpg"] and dataset.splits["train"].tolist() == [1]
    assert dataset.labels.to_signed().tolist() == [[-1, 0, 1], [1, 0, -1], [0, 1, 0]]
    assert dataset.notes[1:] == ("4 labels have no line: they are unknown",)


def test_windows_line_ends_byte_order_marks_and_blanks(root):
    expected = read(root)
    for file in root.rglob("*.txt"):
        lines = file.read_text().replace(" ", "  ", 1).replace("\n", " \r\n") + "\r\n\r\n"
        file.write_bytes(b"\xef\xbb\xbf" + lines.encode())
    assert read(root).labels == expected.labels


def test_images_are_not_needed_but_a_given_folder_is(root, tmp_path):
    shutil.rmtree(root / "CUB_200_2011/images")
    assert read(root).paths[0].endswith("CUB_200_2011/images/" + layout.IMAGES[0])
    (tmp_path / "photos").mkdir()
    assert read(root, images=tmp_path / "photos").paths[0] == str(tmp_path / "photos" / layout.IMAGES[0])
    assert refusal(root, images=tmp_path / "nowhere") == "ROOT/nowhere: no such folder of images"


SPLIT = "CUB_200_2011/train_test_split.txt"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (LABELS, "1 1 0\n", ", line 1: '1 1 0' does not start with image, attribute, is_present and certainty"),
        (LABELS, "1 1 0 x 2\n", ", line 1: '1 1 0 x 2' does not start with image, attribute, is_present and certainty"),
        (
            LABELS,
            "1 1 0 1\n1 2 0.5 1\n",
            ", line 2: '1 2 0.5 1' does not start with image, attribute, is_present and certainty",
        ),
        (LABELS, "\n1 1 0 1 2\n9 1 0 1 2\n", ", line 3: image 9 is not in images.txt; unpack it again"),
        (LABELS, "1 0 0 1 2\n", ", line 1: no attribute 0; unpack it again"),
        (LABELS, "1 4 0 1 2\n", ", line 1: no attribute 4; unpack it again"),
        (LABELS, "1 1 2 1 2\n", ", line 1: is_present is 2, certainty 1: use 0 or 1, and 1 to 4"),
        (LABELS, "1 1 1 0 2\n", ", line 1: is_present is 1, certainty 0: use 0 or 1, and 1 to 4"),
        (LABELS, "1 1 1 5 2\n", ", line 1: is_present is 1, certainty 5: use 0 or 1, and 1 to 4"),
        (
            LABELS,
            "1 1 1 4 2\n1 2 1 4 2\n1 1 1 4 2\n",
            ", line 3: image 1, attribute 1 are listed twice, first in line 1; remove one",
        ),
        (LABELS, "1 1 1 4 2\0\n", ", line 1: contains a zero byte, so it is not text; write it again"),
        (LABELS, "", ": is empty or not a table of numbers; unpack it again"),
        (LABELS, None, ": cannot be read (No such file or directory)"),
        ("CUB_200_2011/images.txt", "1 a.jpg\nb.jpg\n", ", line 2: 'b.jpg' is not a number and a name"),
        ("CUB_200_2011/images.txt", "1 a.jpg\n2\n", ", line 2: '2' is not a number and a name"),
        ("CUB_200_2011/images.txt", "1 a.jpg\n1 b.jpg\n", ", line 2: 1 is listed twice, first in line 1; remove one"),
        (
            "CUB_200_2011/images.txt",
            "1 a.jpg\n2 a.jpg\n",
            ", line 2: 'a.jpg' is listed twice, first in line 1; remove one",
        ),
        ("CUB_200_2011/images.txt", "\n", ": is empty; unpack it again"),
        ("attributes.txt", "1 x\n1 y\n", ", line 2: 1 is listed twice, first in line 1; remove one"),
        ("attributes.txt", None, ": cannot be read (No such file or directory)"),
        (SPLIT, "1 0\n2 2\n", ", line 2: '2 2' is not an image's number and 1 (train) or 0 (test)"),
        (SPLIT, "1 0\n5 1\n", ", line 2: image 5 is not in images.txt"),
        (SPLIT, "1 0\n1 0\n", ", line 2: image 1 is listed twice"),
        (SPLIT, "1 0\n2 1\n4 1\n", f": no line for image 3, {layout.IMAGES[2]!r}; unpack it again"),
        (SPLIT, None, ": cannot be read (No such file or directory)"),
    ],
)
def test_damaged_files(root, file, text, message):
    (root / file).unlink() if text is None else (root / file).write_text(text)
    assert refusal(root) == f"ROOT/{file}{message}"


@pytest.mark.parametrize("file", [LABELS, SPLIT, "CUB_200_2011/images.txt", "attributes.txt"])
def test_bytes_that_mean_nothing(root, file):
    for nasty in NASTY:
        (root / file).write_bytes(nasty)
        refusal(root)
    (root / file).unlink()
    (root / file).mkdir()
    refusal(root)


def test_what_is_not_cub(root, tmp_path):
    assert not detect(root / "attributes.txt") and not detect(tmp_path / "nowhere")
    assert refusal(root / "CUB_200_2011/images") == (
        "ROOT: no images.txt here or in CUB_200_2011; give the path of the folder CUB_200_2011"
    )
    for module in pkgutil.iter_modules(layouts.__path__):
        (tmp_path / "others" / module.name).mkdir(parents=True)
        path = importlib.import_module(f"tests.data.formats.layouts.{module.name}").write(
            tmp_path / "others" / module.name
        )
        assert detect(path) == (module.name == "cub"), module.name


def test_a_quarter_of_the_real_size(root):
    images, attributes = 11788 // 4, 312
    home = root / "CUB_200_2011"
    (home / "images.txt").write_text("".join(f"{i} {i}.jpg\n" for i in range(1, images + 1)))
    (home / "train_test_split.txt").write_text("".join(f"{i} {i % 2}\n" for i in range(1, images + 1)))
    (root / "attributes.txt").write_text("".join(f"{i} has_x::{i}\n" for i in range(1, attributes + 1)))
    ends = [f" {a} {int(a % 10 == 0)} {1 + a % 4} 9.254\n" for a in range(1, attributes + 1)]
    (root / LABELS).write_text("".join(f"{i}{end}" for i in range(1, images + 1) for end in ends))
    labels = read(root).labels
    row = [0 if 1 + a % 4 == 1 else 1 if a % 10 == 0 else -1 for a in range(1, attributes + 1)]
    assert (labels.to_signed() == np.array(row)).all()
