"""NUS-WIDE: a small copy laid out like the real one, the table of its later split, and damaged ones."""

import importlib
import pkgutil
import shutil
from pathlib import Path

import pytest

from tests.data.formats import layouts
from tests.data.formats.layouts import nuswide as layout
from tests.data.formats.layouts import nuswide_table as table_layout
from tests.support.seen import refusal_of
from trilabel.data.formats.nuswide import detect, read

refusal = refusal_of(read)

IDS = ["actor/0001_2124494179.jpg", "actor/0002_174174086.jpg", "zebra/0399_2.jpg", "zoo/0005_3.jpg", "zoo/0006_4.jpg"]
SIGNED = [[-1, 1, -1, -1], [-1, -1, 1, -1], [-1, -1, -1, -1], [1, -1, -1, -1], [-1, 1, -1, -1]]
ALL, PARTS = "Groundtruth/AllLabels", "Groundtruth/TrainTestLabels"
NASTY = (b"", b"\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"1", b"01\n\n0\n0\n0\n", b"-1\n", b"9" * 5000, "²".encode())


@pytest.fixture
def root(tmp_path) -> Path:
    return layout.write(tmp_path / "nus")


@pytest.fixture
def table(tmp_path) -> Path:
    return table_layout.write(tmp_path / "later")


def splits_of(dataset) -> dict[str, list[str]]:
    return {name: [dataset.ids[row] for row in rows] for name, rows in dataset.splits.items()}


def labels_of(dataset) -> dict[str, list[int]]:
    return dict(zip(dataset.ids, dataset.labels.to_signed().tolist(), strict=True))


def test_reads_labels_splits_and_paths(root):
    assert detect(root)
    dataset = read(root)
    assert dataset.ids == IDS and dataset.classes == list(layout.CONCEPTS)
    assert dataset.labels.to_signed().tolist() == SIGNED
    assert splits_of(dataset) == {"train": [IDS[0], IDS[2], IDS[3]], "test": [IDS[1], IDS[4]]}
    assert dataset.paths[4] == str(root / "Flickr/zoo/0006_4.jpg")
    assert dataset.notes == ("1 is present, 0 is absent",)


def test_all_images_together(root):
    dataset = read(root, split="none")
    assert dataset.ids == IDS and dataset.labels.to_signed().tolist() == SIGNED and dataset.splits == {}
    for name in ("Train", "Test"):
        (root / f"ImageList/{name}Imagelist.txt").unlink()
    shutil.rmtree(root / PARTS)
    assert read(root, split="none").labels == dataset.labels
    assert refusal(root) == "ROOT: no trainimagelist.txt among the image lists; pass split='none' to ignore splits"
    assert refusal(root, split="new") == "ROOT: split='new': use one of 'published', 'none'"


@pytest.mark.parametrize("missing", [ALL, PARTS])
def test_copies_with_one_kind_of_labels_only(root, missing):
    expected = read(root)
    shutil.rmtree(root / missing)
    assert detect(root)
    dataset = read(root)
    assert labels_of(dataset) == labels_of(expected) and splits_of(dataset) == splits_of(expected)
    together = read(root, split="none")
    assert labels_of(together) == labels_of(expected) and together.splits == {}


def test_without_the_list_of_all_images(root):
    expected = read(root)
    (root / "ImageList/Imagelist.txt").unlink()
    assert labels_of(read(root)) == labels_of(expected)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Groundtruth", "NUS_WID_GroundTruth"),
        ("Groundtruth", "groundtruth"),
        ("Groundtruth/AllLabels", "AllLabels"),
        ("ImageList", "image_list"),
        ("ImageList", "NUS-WIDE-Lite"),
        ("ImageList/Imagelist.txt", "ImageList/ImageList.txt"),
        ("ImageList/Imagelist.txt", "Imagelist.txt"),
        ("Flickr", "images"),
    ],
)
def test_other_names_of_folders_and_files(root, old, new):
    expected = read(root)
    (root / old).rename(root / new)
    assert detect(root)
    dataset = read(root)
    assert dataset.labels == expected.labels and splits_of(dataset) == splits_of(expected)
    assert Path(dataset.paths[0]).is_file()


def test_the_folder_around_it(root):
    root.rename(root.with_name("NUS_WIDE"))
    assert detect(root.parent)
    dataset = read(root.parent)
    assert dataset.labels.to_signed().tolist() == SIGNED and Path(dataset.paths[0]).is_file()


def test_line_ends_marks_and_blanks(root):
    for file in root.rglob("*.txt"):
        text = file.read_bytes().replace(b"\r", b"").replace(b"\n", b" \r\n")
        file.write_bytes(b"\xef\xbb\xbf" + text + b"\r\n\n")
    assert read(root).labels.to_signed().tolist() == SIGNED
    for file in root.rglob("*.txt"):
        file.write_bytes(file.read_bytes().rstrip())
    assert read(root).labels.to_signed().tolist() == SIGNED


def test_concepts(root):
    (root / "ConceptsList/Concepts81.txt").unlink()
    assert read(root).classes == list(layout.CONCEPTS)
    (root / "ConceptsList/Concepts81.txt").write_text("train\nsky\n")
    dataset = read(root)
    assert dataset.classes == ["train", "sky"] and dataset.labels.to_signed()[:2].tolist() == [[-1, 1], [1, -1]]
    assert dataset.notes[1:] == ("2 concepts that Concepts81.txt does not list are left out",)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (f"{ALL}/Labels_sky.txt", "1\n0\n2\n0\n0\n", ", line 3: '2' is neither 1 (present) nor 0 (absent)"),
        (f"{ALL}/Labels_sky.txt", "1\n0 1\n0\n0\n\n", ", line 2: '0 1' is neither 1 (present) nor 0 (absent)"),
        (f"{ALL}/Labels_sky.txt", "1\n0\n0\n0\n", ": 4 labels for the 5 images of Imagelist.txt; unpack it again"),
        (f"{ALL}/Labels_sky.txt", "", ": 0 labels for the 5 images of Imagelist.txt; unpack it again"),
        ("ImageList/Imagelist.txt", "\n", ": is empty; unpack it again"),
        (
            "ImageList/Imagelist.txt",
            "a\\b.jpg\nc.jpg\na/b.jpg\n",
            ", line 3: image 'a/b.jpg' is listed twice, first in Imagelist.txt, line 1; remove one",
        ),
        (
            "ImageList/TrainImagelist.txt",
            "other.jpg\n",
            ": image 'other.jpg' is not in the list of all images; unpack it again",
        ),
        (
            "ImageList/TestImagelist.txt",
            "zoo\\0005_3.jpg\n",
            ": image 'zoo/0005_3.jpg' is also in the other split; unpack it again",
        ),
    ],
)
def test_damaged_files(root, file, text, message):
    (root / file).write_text(text)
    assert refusal(root) == f"ROOT/{file}{message}"


def test_damaged_parts(root):
    shutil.rmtree(root / ALL)
    (root / PARTS / "Labels_sky_Test.txt").write_text("1\n")
    assert refusal(root) == (
        f"ROOT/{PARTS}/Labels_sky_Test.txt: 1 labels for the 2 images of TestImagelist.txt; unpack it again"
    )
    (root / PARTS / "Labels_sky_Test.txt").unlink()
    assert refusal(root) == f"ROOT/{PARTS}: no file with the labels of 'sky'; unpack it again"
    (root / "ConceptsList/Concepts81.txt").unlink()
    assert refusal(root) == f"ROOT/{PARTS}: no file with the labels of 'sky'; unpack it again"
    (root / "ImageList/TestImagelist.txt").write_text("x.jpg\n" + layout.IMAGES[2] + "\n")
    assert refusal(root) == (
        f"ROOT/ImageList/TestImagelist.txt, line 2: image {layout.IMAGES[2]!r} is listed twice, first in "
        "TrainImagelist.txt, line 2; remove one"
    )
    (root / "ImageList/TestImagelist.txt").unlink()
    assert refusal(root).startswith("ROOT: not NUS-WIDE as published; it has Groundtruth/AllLabels and ImageList/")


def test_bytes_that_mean_nothing(root):
    for file in (f"{ALL}/Labels_sky.txt", "ImageList/Imagelist.txt", "ImageList/TestImagelist.txt"):
        before = (root / file).read_bytes()
        for nasty in NASTY:
            (root / file).write_bytes(nasty)
            refusal(root)
        (root / file).unlink()
        (root / file).mkdir()
        refusal(root)
        (root / file).rmdir()
        (root / file).write_bytes(before)


def test_what_is_not_nus_wide(root, tmp_path):
    assert not detect(root / "ImageList") and not detect(root / ALL) and not detect(tmp_path / "nowhere")
    assert not detect(root / "ImageList/Imagelist.txt") and not detect(root / "Flickr/actor/0001_2124494179.jpg")
    assert refusal(root / ALL).startswith("ROOT: not NUS-WIDE as published")
    for module in pkgutil.iter_modules(layouts.__path__):
        (tmp_path / "others" / module.name).mkdir(parents=True)
        path = importlib.import_module(f"tests.data.formats.layouts.{module.name}").write(
            tmp_path / "others" / module.name
        )
        assert detect(path) == (module.name in ("nuswide", "nuswide_table")), module.name


# ---- the table of the later split


@pytest.mark.parametrize("inside", ["", "nus_wid_data.csv"])
def test_table(table, inside):
    path = table.parent / inside
    assert detect(path)
    dataset = read(path)
    assert dataset.ids[:2] == ["images/0001_2124494179.jpg", "images/0002_174174086.jpg"]
    assert dataset.classes == ["clouds", "farmer's market", "person", "sky"]
    assert dataset.labels.to_signed().tolist() == [
        [1, -1, -1, 1],
        [-1, -1, 1, -1],
        [1, -1, 1, 1],
        [-1, -1, -1, -1],
        [-1, 1, -1, 1],
    ]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0, 1, 4], "val": [2, 3]}
    assert Path(dataset.paths[0]).is_file()
    assert dataset.notes == ("listed concepts are present, all others absent",)
    assert read(path, split="none").splits == {}


def test_table_with_other_columns_and_no_folder_in_names(table):
    text = table.read_text().replace("images/", "").replace("filepath", "filename").replace("split_name", "split")
    table.write_text("\ufeff" + text.replace("\n", "\r\n"), encoding="utf-8", newline="")
    assert detect(table)
    assert Path(read(table).paths[0]).is_file() and read(table).splits["val"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.jpg,['x'],train\nb.jpg,sky,val\n", ", row 3: 'sky' is not a list of concepts, such as ['clouds', 'sky']"),
        ("a.jpg,[1],train\n", ", row 2: '[1]' is not a list of concepts, such as ['clouds', 'sky']"),
        ("a.jpg,[''],train\n", ", row 2: \"['']\" is not a list of concepts, such as ['clouds', 'sky']"),
        ("a.jpg,['x',train\n", ", row 2: \"['x'\" is not a list of concepts, such as ['clouds', 'sky']"),
        ("a.jpg,,train\n", ", row 2: '' is not a list of concepts, such as ['clouds', 'sky']"),
        ("a.jpg,['x']\n", ", row 2: 2 cells, but the header has 3"),
        (",['x'],train\n", ", row 2: the image has no name"),
        ("a.jpg,['x'],train\n\na.jpg,[],val\n", ", row 4: image 'a.jpg' is listed twice, first in row 2; remove one"),
        ("a.jpg,[],train\n", ": no row lists a concept; download it again"),
        ("", ": no row lists a concept; download it again"),
    ],
)
def test_damaged_tables(table, text, message):
    table.write_text("filepath,label,split_name\n" + text)
    assert refusal(table) == f"ROOT{message}"


def test_tables_that_are_others(table):
    for text in (
        "image,label,split\na.jpg,cat,train\n",  # a long table of tags
        "image,label,value\na.jpg,['cat'],1\n",
        "label,split\n['cat'],train\n",
        "filepath,label,split_name\n",
        "",
    ):
        table.write_text(text)
        assert not detect(table)
    assert refusal(table) == "ROOT: found the columns []; the table has a file, label and split_name"
    for nasty in NASTY:
        table.write_bytes(nasty)
        assert not detect(table)
        refusal(table)
        table.write_bytes(b"filepath,label,split_name\na.jpg,['x" + nasty + b"],train\n")
        detect(table)
        refusal(table)


def test_other_tables_of_tags_are_left_to_others(tmp_path):
    table = tmp_path / "tags.csv"
    table.write_text("image,label,split\na.jpg,['cat'],train\nb.jpg,['dog'],val\n")
    assert not detect(table)
    table.write_text(",filepath,label,split_name\n0,a.jpg,['cat'],train\n1,b.jpg,['dog'],val\n")
    assert detect(table) and read(table).ids == ["a.jpg", "b.jpg"]
