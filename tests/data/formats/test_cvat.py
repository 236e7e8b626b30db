"""CVAT: a project exported for images, and what happens to damaged exports."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

from tests.data.formats import layouts
from tests.data.formats.layouts import cvat as layout
from trilabel.data.formats.cvat import RULE, detect, read
from trilabel.errors import TrilabelError

NOTE = "tagged or drawn labels are present, the rest of an annotated image is unknown"
SIZE = 'width="10" height="10"'
HEAD = "<annotations><version>1.1</version>"


@pytest.fixture
def root(tmp_path) -> Path:
    return layout.write(tmp_path)


def refusal(path: Path, **options) -> str:
    with pytest.raises(TrilabelError) as caught:
        read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path if path.is_dir() else path.parent), "ROOT")


def export(root: Path, *images: str, labels: str = "cat dog", scope: str = "task") -> Path:
    """A small annotations.xml."""
    declared = "".join(f"<label><name>{name}</name></label>" for name in labels.split())
    meta = f"<meta><{scope}><labels>{declared}</labels></{scope}></meta>"
    text = "\n".join([HEAD, meta, *images, "</annotations>"])
    (root / "annotations.xml").write_text(text, encoding="utf-8")
    return root


def test_reads_labels_splits_and_paths(root):
    dataset = read(root)
    assert dataset.ids == ["a/1.jpg", "2.jpg", "3.jpg", "4.jpg", "5.jpg"]
    assert dataset.classes == ["car", "vélo", "person", "scene"]
    assert dataset.labels.to_signed().tolist() == [[1, 1, 0, 0], [0, 0, 1, 1], [0] * 4, [1, 1, 0, 1], [1, 1, 0, 0]]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0, 1, 2], "val": [3]}
    assert list(dataset.paths) == [str(root / "images" / name) for name in layout.IMAGES]
    assert dataset.notes == (
        NOTE,
        "8 attributes of tags and shapes left out",
        "1 images have no annotation: they are unknown",
    )
    assert read(root / "annotations.xml").labels == dataset.labels
    assert "unknown" in RULE


def test_boxes_are_shares_and_stand_around_what_is_turned(root):
    boxes = read(root).boxes
    assert boxes.image.tolist() == [0, 0] and boxes.cls.tolist() == [0, 0]
    # 40 × 20 pixels about (100, 50), turned by 90 degrees, are 20 × 40.
    np.testing.assert_allclose(boxes.xyxy, [[0.1, 0.1, 0.6, 0.6], [0.45, 0.3, 0.55, 0.7]], rtol=1e-6)


def test_unlisted(root):
    dataset = read(root, unlisted="absent")
    expected = [[1, 1, -1, -1], [-1, -1, 1, 1], [0] * 4, [1, 1, -1, 1], [1, 1, -1, -1]]
    assert dataset.labels.to_signed().tolist() == expected
    assert dataset.notes[0] == NOTE.replace("unknown", "absent")
    assert refusal(root, unlisted="no") == "ROOT: unlisted='no': use one of 'absent', 'unknown'"


def test_checkboxes_of_tags(root):
    dataset = read(root, checkboxes=True)
    assert dataset.classes[4:] == ["car: parked", "scene: rain"]
    assert dataset.labels.to_signed()[:, 4:].tolist() == [[0, 0], [0, 1], [0, 0], [0, -1], [0, 0]]
    assert dataset.notes[1] == "6 attributes of tags and shapes left out"
    file = root / "annotations.xml"
    file.write_text(file.read_text().replace('"rain">true', '"rain">maybe'))
    line = 1 + next(n for n, text in enumerate(file.read_text().split("\n")) if "maybe" in text)
    message = f"ROOT/annotations.xml, line {line}: checkbox 'rain' is 'maybe'; it should be true or false"
    assert refusal(root, checkboxes=True) == message


@pytest.mark.parametrize("scope", ["task", "job", "project"])
def test_where_labels_are_declared(tmp_path, scope):
    dataset = read(export(tmp_path, '<image name="1.jpg"><tag label="dog"/></image>', scope=scope))
    assert dataset.classes == ["cat", "dog"] and dataset.labels.to_signed().tolist() == [[0, 1]]


def test_where_no_labels_are_declared(tmp_path):
    image = '<image name="1.jpg"><tag label="dog"/><foo label="x"/><tag label="cat"/></image>'
    dataset = read(export(tmp_path, image, labels=""))
    assert dataset.classes == ["dog", "cat"]
    assert dataset.notes == (
        NOTE,
        "no labels are declared in <meta>: the classes are those in use",
        "1 elements <foo> left out",
    )


def test_boxes_of_images_without_a_size(tmp_path):
    box = '<box label="cat" xtl="1" ytl="1" xbr="2" ybr="2"/>'
    dataset = read(export(tmp_path, f'<image name="1.jpg">{box}</image>'))
    assert dataset.boxes is None and dataset.labels.to_signed().tolist() == [[1, 0]]
    assert dataset.notes == (NOTE, "1 boxes left out: their images have no size")


@pytest.mark.filterwarnings("error")
def test_boxes_beyond_the_image(tmp_path):
    box = '<box label="cat" xtl="-1e300" ytl="5" xbr="1e300" ybr="50"/>'
    boxes = read(export(tmp_path, f'<image name="1.jpg" {SIZE}>{box}</image>')).boxes
    assert boxes.xyxy.tolist() == [[0, 0.5, 1, 1]]


def test_where_the_images_are(tmp_path):
    export(tmp_path, '<image name="1.jpg"><tag label="cat"/></image>', '<image name="frame_000000"></image>')
    assert list(read(tmp_path).paths) == [str(tmp_path / "1.jpg"), str(tmp_path / "frame_000000")]
    assert read(tmp_path).notes[-1] == f"1 images have no file in {tmp_path}"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "frame_000000.png").touch()
    dataset = read(tmp_path, images=elsewhere)
    assert list(dataset.paths) == [str(elsewhere / "1.jpg"), str(elsewhere / "frame_000000.png")]
    assert refusal(tmp_path, images=tmp_path / "no") == "ROOT/no: no such folder of images"


def test_one_name_in_two_subsets(tmp_path):
    images = [f'<image name="1.jpg" subset="{subset}"/>' for subset in ("Train", "Test")]
    dataset = read(export(tmp_path, *images))
    assert dataset.ids == ["Train/1.jpg", "Test/1.jpg"] and list(dataset.splits) == ["train", "test"]
    message = "ROOT/annotations.xml, line 4: image 'Train/1.jpg' is listed twice; remove one"
    assert refusal(export(tmp_path, images[0], images[0])) == message


def test_one_name_in_two_tasks_of_a_subset(tmp_path):
    images = [
        f'<image name="{name}.jpg" subset="Train" task_id="{task}"><tag label="{label}"/></image>'
        for name, task, label in ((1, 34, "cat"), (2, 34, "cat"), (1, 35, "dog"))
    ]
    dataset = read(export(tmp_path, *images))
    assert dataset.ids == ["34/1.jpg", "34/2.jpg", "35/1.jpg"] and dataset.splits["train"].tolist() == [0, 1, 2]
    assert dataset.labels.to_signed().tolist() == [[1, 0], [1, 0], [0, 1]] and dataset.notes == (NOTE,)
    folder = tmp_path / "images/Train"
    folder.mkdir(parents=True)
    (folder / "1.jpg").touch()
    dataset = read(tmp_path)  # of two images one file
    assert dataset.ids[2] == "35/1.jpg" and dataset.paths[0] == dataset.paths[2] == str(folder / "1.jpg")
    assert dataset.notes[1] == "1 images share a file with one of the same name; move each to its id"
    for name in ("34/1.jpg", "34/2.jpg", "35/1.jpg"):
        (tmp_path / "images" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "images" / name).touch()
    assert list(read(tmp_path).paths) == [str(tmp_path / "images" / name) for name in dataset.ids]
    assert refusal(export(tmp_path, *images, images[0])) == (
        "ROOT/annotations.xml, line 5: image 'Train/1.jpg' is listed twice; remove one"
    )


def test_windows_line_ends_and_a_byte_order_mark(root):
    before = read(root)
    text = layout.XML.replace("\n", "\r\n")
    (root / "annotations.xml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert detect(root) and read(root).labels == before.labels


def test_video_is_refused(tmp_path):
    track = '<track id="0" label="cat"><box frame="0" outside="0" xtl="1" ytl="1" xbr="2" ybr="2"/></track>'
    assert detect(export(tmp_path, track))
    message = "ROOT/annotations.xml: CVAT for video is not read; export the task as 'CVAT for images 1.1'"
    assert refusal(tmp_path) == message
    assert refusal(export(tmp_path)) == message.replace("CVAT for video is not read", "contains no images")
    dataset = read(export(tmp_path, track, '<image name="1.jpg"/>'))
    assert "1 tracks left out" in dataset.notes


BOX = '<box label="cat" xtl="{}" ytl="1" xbr="2" ybr="2" rotation="{}"/>'


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (
            '<image name="1.jpg">\n<tag label="bird"/></image>',
            "line 4: label 'bird' is not declared in <meta>; add it to the <labels> there",
        ),
        ('<image name="1.jpg"><tag/></image>', "line 3: <tag> has no label"),
        ('<image id="0"/>', "line 3: <image> has no name"),
        (
            f'<image name="1" {SIZE}>{BOX.format("x", 0)}</image>',
            "line 3: <box> has xtl 'x', which is not such a number",
        ),
        (
            f'<image name="1" {SIZE}>{BOX.format("nan", 0)}</image>',
            "line 3: <box> has xtl 'nan', which is not such a number",
        ),
        (
            f'<image name="1" {SIZE}>{BOX.format(1, "inf")}</image>',
            "line 3: <box> has rotation 'inf', which is not such a number",
        ),
        (f'<image name="1" {SIZE}>{BOX.replace("xtl", "x")}</image>', "line 3: <box> has no xtl"),
        (
            f'<image name="1" width="0" height="1">{BOX.format(1, 0)}</image>',
            "line 3: <image> has width '0', which is not such a number",
        ),
    ],
)
def test_damaged_images(tmp_path, image, message):
    assert refusal(export(tmp_path, image)) == f"ROOT/annotations.xml, {message}"


def test_damaged_labels(tmp_path):
    image = '<image name="1.jpg"/>'
    message = "ROOT/annotations.xml, line 2: label 'cat' is declared twice"
    assert refusal(export(tmp_path, image, labels="cat cat")) == message
    file = export(tmp_path, image) / "annotations.xml"
    file.write_text(file.read_text().replace("<name>cat</name>", ""))
    assert refusal(tmp_path) == "ROOT/annotations.xml, line 2: a <label> without a <name>"


def test_files_that_are_no_exports(tmp_path):
    assert refusal(tmp_path) == "ROOT/annotations.xml: cannot be read (No such file or directory)"
    file = tmp_path / "annotations.xml"
    file.write_text("<annotation>\n</annotation>")
    assert not detect(tmp_path) and not detect(file)
    assert (
        refusal(file) == "ROOT/annotations.xml: its first element is 'annotation'; in CVAT's file it is 'annotations'"
    )
    file.write_text(layout.XML[:-30])
    last = layout.XML[:-30].count("\n") + 1
    assert refusal(file).startswith(f"ROOT/annotations.xml, line {last}: damaged XML (")
    file.unlink()
    file.mkdir()
    assert not detect(tmp_path) and not detect(file)
    assert refusal(tmp_path) == "ROOT/annotations.xml: not a regular file (a folder); put the file in its place"


@pytest.mark.parametrize("name", [module.name for module in iter_modules(layouts.__path__)])
def test_detects_its_own_layout_alone(tmp_path, name):
    path = import_module(f"tests.data.formats.layouts.{name}").write(tmp_path)
    assert detect(path) == (name == "cvat")
    assert not any(detect(other) for other in tmp_path.rglob("*") if other.name != "annotations.xml")
    assert not detect(tmp_path / "nowhere") and not detect(Path("a\0b"))


@pytest.mark.parametrize("seed", range(40))
def test_broken_bytes_raise_nothing_else(root, seed):
    """Whatever bytes are changed, it is read or refused in one line."""
    draw = np.random.default_rng(seed)
    content = bytearray(layout.XML.encode())
    for place in draw.integers(len(content), size=draw.integers(1, 4)):
        content[place] = draw.choice(list(b"\x00<>\"'=/ 9&;-\xffae\n"))
    (root / "annotations.xml").write_bytes(bytes(content[: draw.integers(1, 2 * len(content))]))
    for options in ({}, {"unlisted": "absent", "checkboxes": True}):
        try:
            read(root, **options)
        except TrilabelError as error:
            assert "\n" not in str(error)


def test_fifty_thousand_boxes(tmp_path):
    box = '<box label="cat" occluded="0" xtl="1.5" ytl="2.5" xbr="3.5" ybr="4.5" z_order="0"></box>\n'
    export(tmp_path, *(f'<image id="{i}" name="{i}.jpg" {SIZE}>\n{box * 5}</image>' for i in range(10_000)))
    assert len(read(tmp_path).boxes.image) == 50_000


def test_an_image_is_where_its_id_says(tmp_path):
    """One name in two subsets, and a file of that name above both, which is neither."""
    images = "".join(
        f'<image id="{i}" name="1.jpg" subset="{s}"><tag label="cat"/></image>' for i, s in enumerate("ab")
    )
    (tmp_path / "annotations.xml").write_text(f"<annotations>{images}</annotations>")
    for folder in ("images", "images/a", "images/b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.jpg").touch()
    dataset = read(tmp_path)
    assert dataset.ids == ["a/1.jpg", "b/1.jpg"]
    assert list(dataset.paths) == [str(tmp_path / f"images/{name}") for name in dataset.ids]


def test_a_file_for_each_split(tmp_path):
    """As datumaro writes a set with subsets."""
    for split, image, label in (("train", "a.jpg", "cat"), ("validation", "b.jpg", "dog")):
        (tmp_path / "one").mkdir(exist_ok=True)
        box = f'<box label="{label}" xtl="1" ytl="1" xbr="5" ybr="5"/>'
        export(tmp_path / "one", f'<image id="0" name="{image}" {SIZE}>{box}</image>')
        (tmp_path / "one/annotations.xml").rename(tmp_path / f"{split}.xml")
    (tmp_path / "one").rmdir()
    (tmp_path / "images").mkdir()
    (tmp_path / "images/b.jpg").touch()
    assert detect(tmp_path)
    dataset = read(tmp_path)
    assert dataset.ids == ["a.jpg", "b.jpg"] and dataset.labels.to_signed().tolist() == [[1, 0], [0, 1]]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0], "val": [1]}
    assert dataset.boxes.image.tolist() == [0, 1] and dataset.boxes.cls.tolist() == [0, 1]
    assert dataset.paths[1] == str(tmp_path / "images/b.jpg")
    (tmp_path / "test.xml").write_text((tmp_path / "train.xml").read_text())
    assert refusal(tmp_path) == "ROOT: image 'a.jpg' is in splits 'test' and 'train'; remove it from one"
