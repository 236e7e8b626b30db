"""Open Images: the published files of all releases, and what happens to damaged ones."""

from pathlib import Path

import numpy as np
import pytest

from tests.data.formats.layouts import openimages as layout
from tests.support.seen import refusal_of
from trilabel.data import read
from trilabel.data.formats import openimages

refusal = refusal_of(openimages.read)

IDS = ["000002b66c9c498e", "000002b97e5471a0", "00002a7de1e7ea3c", "0001eeaf4aed83f9", "000026e7ee790996"]


@pytest.fixture
def release(tmp_path) -> Path:
    return layout.write(tmp_path)


def test_reads_verified_labels_of_all_splits(release):
    assert openimages.detect(release)
    dataset = read(release)
    assert dataset.ids == IDS
    # Classes come in the order of the descriptions, those of which nothing is known left out.
    assert dataset.classes == ["Food", "Human eye", "Dog, domestic", "Apple (/m/014j1m)", "Apple (/m/01xyz)"]
    assert dataset.labels.to_signed().tolist() == [
        [0, 1, 1, -1, 0],
        [0, -1, 1, 0, 0],
        [0, 0, 0, 0, 0],  # verified both ways
        [0, 0, 0, 1, -1],
        [-1, 0, 0, 0, 0],
    ]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {
        "train": [0, 1, 2], "val": [3], "test": [4],
    }  # fmt: skip
    assert dataset.notes == (
        "verified with confidence 1: present, with 0: absent; everything else is unknown",
        "labels verified both ways are unknown",
        f"2 of 5 images have no file in {release}",
    )
    assert dataset.paths[0] == str(release / "train/000002b66c9c498e.jpg")


def test_ids_without_images_may_be_left_out(release):
    dataset = read(release, missing="drop")
    assert dataset.ids == [IDS[0], IDS[1], IDS[3]]
    assert dataset.labels.to_signed()[2].tolist() == [0, 0, 0, 1, -1]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0, 1], "val": [2], "test": []}
    assert dataset.notes[-1] == "2 of 5 images have no file and are left out"


def test_trainable_classes_come_in_the_order_of_their_list(release):
    dataset = read(release, classes="trainable")
    assert dataset.classes == ["Dog, domestic", "Apple", "Alphorn"]
    assert dataset.labels.to_signed().tolist() == [[1, -1, 0], [1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert dataset.notes[-1] == "labels of 3 other classes are left out"


def test_boxable_classes(release):
    (release / "validation-annotations-human-imagelabels-boxable.csv").write_text(
        layout.HEADER + "ffff,verification,/m/014sv8,1\n"
    )
    dataset = read(release, classes="boxable")
    assert dataset.classes == ["Human eye", "Dog, domestic"] and dataset.ids[3] == "ffff"
    assert read(release).ids[3] == IDS[3]  # the file of all classes goes first otherwise
    (release / "class-descriptions-boxable.csv").unlink()
    (release / "classes-bbox.txt").write_text("/m/0bt9lr\n")
    assert read(release, classes="boxable").classes == ["Dog, domestic"]


def test_machine_labels_count_where_nobody_verified(release):
    dataset = read(release, machine=0.7)
    assert dataset.ids[:3] == IDS[:3] and "00008ade5af2b5a1" in dataset.ids
    labels = dataset.labels[:, ["Apple (/m/014j1m)", "Food", "Dog, domestic"]]
    row = dict(zip(dataset.ids, labels.to_signed().tolist(), strict=True))
    assert row[IDS[0]] == [-1, 0, 1]  # a person said no
    assert row[IDS[1]] == [1, 0, 1]
    assert row["00008ade5af2b5a1"] == [0, 1, 0]  # 0.5 is below
    assert [dataset.ids[i] for i in dataset.splits["train"]] == [*IDS[:3], "00008ade5af2b5a1"]
    assert "labels that a machine gave confidence 0.7 or more and nobody verified are present" in dataset.notes
    strict = read(release, machine=0.95)
    assert strict.labels.known == read(release).labels.known


@pytest.mark.parametrize(
    ("names", "descriptions"),
    [
        ("oidv7-{split}-annotations-human-imagelabels.csv", "oidv7-class-descriptions.csv"),
        ("csv/oidv6-{split}-annotations-human-imagelabels.csv", "csv/oidv6-class-descriptions.csv"),
        ("2017_11/{split}/annotations-human.csv", "2017_11/class-descriptions.csv"),
        ("annotations/{split}-annotations-human-imagelabels-boxable.csv", "annotations/class-descriptions.csv"),
    ],
)
def test_releases_name_their_files_differently(tmp_path, names, descriptions):
    for split, image in (("train", "a1"), ("validation", "b2")):
        file = tmp_path / names.format(split=split)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{layout.HEADER}{image},verification,/m/02wbm,1\n")
    (tmp_path / descriptions).write_text("LabelName,DisplayName\n/m/02wbm,Essen & Küche\n", encoding="utf-8")
    assert openimages.detect(tmp_path)
    dataset = read(tmp_path)
    assert dataset.ids == ["a1", "b2"] and dataset.classes == ["Essen & Küche"]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0], "val": [1]}


@pytest.mark.parametrize("header", ["", "LabelName,DisplayName\n", "mid,name\n"])
def test_lists_of_classes_with_and_without_a_header(tmp_path, header):
    rows = "".join(f"a1,verification,{code},1\n" for code in ("n02084071", "n02121808", "/m/02wbm"))
    (tmp_path / "train-annotations-human-imagelabels.csv").write_text(layout.HEADER + rows)
    (tmp_path / "class-descriptions.csv").write_text(f"{header}n02084071,Dog\nn02121808,Cat\n/m/02wbm,Food\n")
    assert read(tmp_path).classes == ["Dog", "Cat", "Food"]


def test_classes_without_description_are_called_by_their_code(release):
    (release / "class-descriptions.csv").unlink()
    dataset = read(release)
    assert set(dataset.classes) == {"/m/014j1m", "Human eye", "Dog, domestic", "/m/01xyz", "/m/02wbm"}
    assert dataset.notes[-1] == "3 classes have no description: their codes are used as names"


def damage(path: Path, file: str, old: str, new: str) -> None:
    text = (path / file).read_text()
    assert old in text
    (path / file).write_text(text.replace(old, new))


HUMAN, CLASSES = "train-annotations-human-imagelabels.csv", "class-descriptions.csv"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (HUMAN, "014sv8,0", "014sv8,0.4", "row 5: confidence '0.4' is not 1 (present) or 0 (absent)"),
        (HUMAN, "014sv8,0", "014sv8,yes", "row 5: confidence 'yes' is not 1 (present) or 0 (absent)"),
        (HUMAN, "/m/0bt9lr,1.0", ",1.0", "row 6: an image and a class must be named"),
        (HUMAN, "000002b97e5471a0,verification,/m/0b", ",,/m/0b", "row 6: an image and a class must be named"),
        (HUMAN, "/m/0bt9lr,1.0\n", "/m/0bt9lr\n", "row 6: 3 cells, but the header has 4"),
        (HUMAN, "/m/0bt9lr,1.0\n", "/m/0bt9lr,1.0,5\n", "row 6: 5 cells, but the header has 4"),
        (HUMAN, "Confidence", "Sureness", "row 1: the columns ImageID, LabelName and Confidence are not all here"),
        (CLASSES, "/m/0pc9,Alphorn", "/m/0pc9", "line 6: '/m/0pc9' is not a class code and its name"),
        (CLASSES, "/m/0pc9,Alphorn", '/m/0pc9,"Alp', "line 6: '/m/0pc9,\"Alp' is not a class code and its name"),
    ],
)  # fmt: skip
def test_damaged_files(release, file, old, new, message):
    damage(release, file, old, new)
    assert refusal(release) == f"ROOT/{file}, {message}"


def test_cut_short(release):
    file = release / HUMAN
    content = file.read_bytes()
    file.write_bytes(content[:-20])
    assert refusal(release) == f"ROOT/{HUMAN}, row 8: 2 cells, but the header has 4"
    file.write_bytes(content[:-20].replace(b"014sv8,1", b"014sv\xff,1"))
    assert refusal(release) == f"ROOT/{HUMAN}, row 3: not UTF-8 text; save the table as UTF-8"
    file.write_text(layout.HEADER)
    assert refusal(release) == f"ROOT/{HUMAN}: no rows below the header"
    file.write_text("")
    assert refusal(release) == f"ROOT/{HUMAN}: the table is empty; its first row must name the columns"


def test_an_image_in_two_splits(release):
    damage(release, "validation-annotations-human-imagelabels.csv", "0001eeaf4aed83f9", IDS[0])
    assert refusal(release) == f"ROOT: image {IDS[0]!r} is in splits 'train' and 'val'; remove it from one of them"


def test_mistaken_options_and_missing_files(release):
    assert refusal(release, classes="x") == "ROOT: classes='x': use one of 'all', 'trainable', 'boxable'"
    assert refusal(release, machine=0) == "ROOT: machine=0: a confidence must be above 0 and at most 1"
    damage(release, "train-annotations-machine-imagelabels.csv", "0.7", "7")
    assert refusal(release, machine=0.5).endswith(
        "machine-imagelabels.csv, row 3: confidence '7' is not between 0 and 1"
    )
    (release / "train-annotations-machine-imagelabels.csv").unlink()
    assert refusal(release, machine=0.5) == (
        "ROOT: no label file such as train-annotations-machine-imagelabels.csv here"
    )
    (release / "classes-trainable.txt").unlink()
    assert refusal(release, classes="trainable") == (
        "ROOT: no classes-trainable.txt to choose the trainable classes by"
    )
    (release / "class-descriptions-boxable.csv").unlink()
    assert refusal(release, classes="boxable") == (
        "ROOT: no class-descriptions-boxable.csv (or classes-bbox.txt) to choose by"
    )
    assert not openimages.detect(release / "train") and not openimages.detect(release / HUMAN)
    assert refusal(release / "train") == "ROOT: no label file such as train-annotations-human-imagelabels.csv here"


def test_what_people_disagreed_about_is_not_for_the_machine(release):
    damage(release, HUMAN, "/m/0bt9lr,0\n", "/m/0bt9lr,0\n00002a7de1e7ea3c,verification,/m/0bt9lr,1\n")
    machine = release / "train-annotations-machine-imagelabels.csv"
    machine.write_text(machine.read_text() + "00002a7de1e7ea3c,machine,/m/0bt9lr,0.9\n")
    for options in ({}, {"machine": 0.5}):
        dataset = read(release, **options)
        row = dataset.labels[[list(dataset.ids).index("00002a7de1e7ea3c")], ["Dog, domestic"]]
        assert row.to_signed().tolist() == [[0]]  # two of three say present, and that is not what decides


def test_a_later_release_goes_first(release):
    (release / f"oidv7-{HUMAN}").write_text(f"{layout.HEADER}seven,verification,/m/02wbm,1\n")
    (release / f"oidv6-{HUMAN}").write_text(f"{layout.HEADER}six,verification,/m/02wbm,1\n")
    assert read(release).ids[0] == "seven"


@pytest.mark.parametrize("count", [400_000, pytest.param(1_700_000, marks=pytest.mark.slow)])
def test_as_many_rows_as_images_with_boxable_labels(tmp_path, count):
    """1.7 million rows, in an order that no reader would choose; counts are compared with NumPy's.

    A quarter of them is more than is read at once, too.
    """
    draw = np.random.default_rng(0)
    image, label = draw.integers(0, 400_000, count), draw.integers(0, 600, count)
    value = (image + label) % 2  # of image and class, so that nothing contradicts itself
    rows = zip(image.tolist(), label.tolist(), value.tolist(), strict=True)
    text = "".join([f"{i:016x},verification,/m/0{c:03d},{v}\n" for i, c, v in rows])
    (tmp_path / HUMAN).write_text(layout.HEADER + text)
    labels = read(tmp_path).labels
    distinct = np.unique(image * 600 + label)
    assert len(labels) == len(np.unique(image)) and labels.known == len(distinct)
    order = [int(name[4:]) for name in labels.classes]
    present = (distinct // 600 + distinct % 600) % 2 == 1
    assert labels.counts_per_class()[0].tolist() == np.bincount(distinct[present] % 600, minlength=600)[order].tolist()
    some = draw.integers(0, len(labels), 50)
    known = set(distinct.tolist())
    for row, signed in zip(some.tolist(), labels.rows(some).tolist(), strict=True):
        number = int(labels.ids[row], 16)
        expected = [0 if number * 600 + c not in known else 1 if (number + c) % 2 else -1 for c in order]
        assert signed == expected
