"""Lists of images and class numbers: what is read, that the fast way reads what the slow one does, what is written."""

import gzip
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trilabel as tl
from tests.data.formats import layouts
from tests.data.formats.layouts import index_list as layout
from tests.data.formats.layouts import list_binary, list_hashnet
from tests.support.seen import known, rows
from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.formats import format_of
from trilabel.data.formats.index_list import detect, read, write
from trilabel.data.formats.index_list import lines as index_list_lines
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

SIGNED = [[1, 0, 0, 1, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 0, 1, 0], [0, 0, 1, 0, 0]]
IDS = [line.partition(",")[0] for line in layout.LIST.splitlines()]


@pytest.fixture
def file(tmp_path) -> Path:
    return layout.write(tmp_path)


def refusal(path: Path, **options) -> str:
    with pytest.raises(TrilabelError) as caught:
        read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path.parent), "ROOT")


def test_reads_labels_names_and_paths(file):
    assert detect(file)
    dataset = read(file)
    assert dataset.ids == IDS and dataset.classes == ["person", "traffic light", "dog", "café", "unseen"]
    assert dataset.labels.to_signed().tolist() == SIGNED and dataset.splits == {}
    assert Path(dataset.paths[0]).is_file()
    assert dataset.notes == (
        "listed classes are present, all others unknown",
        "names of the classes are those in classes.txt",
        "1 images have no class listed: their labels are unknown",
    )


def test_unlisted_absent_spares_images_without_a_number(file):
    dataset = read(file, unlisted="absent")
    signed = np.array(SIGNED)
    signed[[0, 1, 3, 4]] = np.where(signed[[0, 1, 3, 4]] == 0, -1, signed[[0, 1, 3, 4]])
    assert dataset.labels.to_signed().tolist() == signed.tolist() and dataset.ids == IDS
    assert dataset.notes[0] == "listed classes are present, all others absent"
    assert refusal(file, unlisted="maybe") == "ROOT/train.csv: unlisted='maybe': use one of 'unknown', 'absent'"


@pytest.mark.parametrize("name", ["class_names.txt", "names.txt"])
def test_names_of_classes_beside_the_list(file, name):
    expected = read(file)
    file.with_name("classes.txt").rename(file.with_name(name))
    assert read(file).labels == expected.labels
    assert read(file).notes[1] == f"names of the classes are those in {name}"


def test_names_of_classes_that_are_numbers_or_elsewhere(file, tmp_path):
    file.with_name("classes.txt").unlink()
    dataset = read(file)
    assert dataset.classes == ["0", "1", "2", "3"]
    assert dataset.notes[1] == "names of the classes are their numbers"
    (tmp_path / "elsewhere.txt").write_bytes(b"\xef\xbb\xbfa\r\nb b\r\nc\r\nd\r\n\r\n")
    assert read(file, classes=str(tmp_path / "elsewhere.txt")).classes == ["a", "b b", "c", "d"]
    assert refusal(file, classes=str(tmp_path / "no.txt")) == "ROOT/no.txt: cannot be read (No such file or directory)"


def test_a_list_called_like_names_of_classes(file):
    listed = file.rename(file.with_name("names.txt"))
    file.with_name("classes.txt").unlink()
    assert detect(listed) and read(listed).classes == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    "text",
    [
        "a.jpg,0,3\nb.jpg,1\nc.jpg\n",
        "a.jpg 0 3\nb.jpg 1\nc.jpg\n",
        "a.jpg\t0\t3\nb.jpg\t1\nc.jpg\n",
        "a.jpg\t0,3\nb.jpg\t1\nc.jpg\n",
        "a.jpg 0,3\nb.jpg 1\nc.jpg\n",
        "a.jpg,0,3,,\nb.jpg,1,,,\nc.jpg,,,,\n",
        "a.jpg, 0, 3\nb.jpg , 1\nc.jpg,\n",
        "a.jpg  0   3 \nb.jpg 1  \n\n  c.jpg\n\n\n",
        "\ufeffa.jpg,0,3\r\nb.jpg,1\r\nc.jpg\r\n",
        "a.jpg,3,0,3\nb.jpg,001\nc.jpg",
    ],
)
def test_separators_blanks_and_line_ends(tmp_path, text):
    file = tmp_path / "list.txt"
    file.write_text(text, encoding="utf-8", newline="")
    assert detect(file)
    dataset = read(file)
    assert dataset.ids == ["a.jpg", "b.jpg", "c.jpg"]
    assert dataset.labels.to_signed().tolist() == [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert ("1 numbers are listed twice in a line: they count once" in dataset.notes) == ("3,0,3" in text)


def test_names_of_images_with_blanks_other_letters_or_no_extension(tmp_path):
    file = tmp_path / "list.txt"
    file.write_text("my photo 1.jpg,2\nmy photo 2.jpg\nbär.png,0\n000123,1\n", encoding="utf-8")
    dataset = read(file)
    assert dataset.ids == ["my photo 1.jpg", "my photo 2.jpg", "bär.png", "000123"]
    assert dataset.labels.to_signed().tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_where_images_are(file, tmp_path):
    (tmp_path / "train").rename(tmp_path / "images")
    file.write_text(layout.LIST.replace("train/", ""))
    assert Path(read(file).paths[0]).is_file()
    (tmp_path / "photos").mkdir()
    assert read(file, images=tmp_path / "photos").paths[0] == str(tmp_path / "photos/000002b66c9c498e.jpg")
    assert refusal(file, images=tmp_path / "no") == "ROOT/no: no such folder of images"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.jpg,1\nb.jpg,x\n", ", line 2: 'x' is not the number of a class; use whole numbers from 0"),
        ("a.jpg,1\n\nb.jpg,-3\n", ", line 3: '-3' is not the number of a class; use whole numbers from 0"),
        ("a.jpg 1.5\n", ", line 1: '1.5' is not the number of a class; use whole numbers from 0"),
        ("a.jpg,²\n", ", line 1: '²' is not the number of a class; use whole numbers from 0"),
        ("my photo.jpg 3\n", ", line 1: 'photo.jpg' is not the number of a class; use whole numbers from 0"),
        (
            "a.jpg,0\nb.jpg,5\n",
            ", line 2: there is no class 5: ROOT/classes.txt names 5, the first is 0; "
            "pass the right file as classes=FILE",
        ),
        (",1\n", ", line 1: ',1' names no image"),
        ("a.jpg,1\nb.jpg\na.jpg,2\n", ", line 3: image 'a.jpg' is listed twice, first in line 1; remove one"),
        ("a.jpg,1\nb.jpg,0\0\n", ", line 2: contains a zero byte, so it is not text; write it again"),
        ("", ": is empty; each line of a list must have an image and the numbers of its classes"),
        (
            "a.jpg,0,1,0\nb.jpg,1,1,0\n",
            ": every line has 3 cells of 0 and 1, but ROOT/classes.txt names 5 classes; "
            "pass the right file as classes=FILE",
        ),
    ],
)
def test_faults(file, text, message):
    file.write_text(text, encoding="utf-8")
    assert refusal(file) == f"ROOT/train.csv{message}"


@pytest.mark.parametrize("text", ["a.jpg,1,1\nb.jpg,0\n", "a.jpg,3,3\nb.jpg,1,2\n", "a.jpg,0,1\nb.jpg,1,0\n"])
def test_repeated_numbers_make_no_table(file, text):
    file.write_text(text)
    assert read(file).labels.known == len({(line, n) for line in text.split() for n in line.split(",")[1:]})


def test_numbers_beyond_all_measure(file):
    file.with_name("classes.txt").unlink()
    file.write_text("a.jpg,1000000\n")
    assert refusal(file) == (
        "ROOT/train.csv, line 1: there is no class 1000000: at most 1,000,000 are read, the first is 0; "
        "pass the right file as classes=FILE"
    )
    file.write_text(f"a.jpg,{'9' * 5000}\n")
    assert refusal(file).endswith("9…' is not the number of a class; use whole numbers from 0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n\nb\n", ", line 2: is empty; every line names a class, the first class 0"),
        ("a\nb\na\n", ", line 3: class 'a' is listed twice, first in line 1; rename one"),
        ("\n", ": is empty; every line names a class, the first class 0"),
    ],
)
def test_faults_in_names_of_classes(file, text, message):
    file.with_name("classes.txt").write_text(text)
    assert refusal(file) == f"ROOT/classes.txt{message}"


def test_bytes_that_mean_nothing(file):
    for name in ("train.csv", "classes.txt"):
        before = file.with_name(name).read_bytes()
        for nasty in (b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"a.jpg,-1", b"a.jpg\xff,1", b"\r", b",,,,"):
            file.with_name(name).write_bytes(nasty)
            detect(file)
            refusal(file)
        file.with_name(name).write_bytes(before)
    file.unlink()
    file.mkdir()
    assert not detect(file)
    assert refusal(file).startswith("ROOT/train.csv: no lists such as train.txt and test.txt in this folder")


# ---- what is a list


@pytest.mark.parametrize(
    "text",
    [
        "image,cat,dog\na.jpg,1,2\n",  # a header
        "image,label\na.jpg,2\n",
        "a.jpg,0,1\nb.jpg,1,0\n",  # a table without one
        "a.jpg,1,\nb.jpg,,0\n",
        "a.jpg\nb.jpg\n",  # names of images alone
        "a.jpg,cat\nb.jpg,dog\n",
        "a.jpg,-1\nb.jpg,3\n",
        "a.jpg,0.5\nb.jpg,3\n",
        "1 a.jpg\n2 b.jpg\n",
        "000012  1\n000017 -1\n",
        "a.jpg 10,20,30,40,1 5,6,7,8,0\n",  # boxes
        "1 1 0 3 27.708\n",
        "",
        "\n\n",
        "\0",
    ],
)
def test_what_is_not_detected(tmp_path, text):
    for name in ("x.txt", "x.csv"):
        (tmp_path / name).write_text(text)
        assert not detect(tmp_path / name)


def test_detection_looks_at_the_name_and_at_the_start_only(tmp_path):
    for name, expected in {"x.txt": True, "x.CSV": True, "x.tsv": True, "x.json": False, "x": False}.items():
        (tmp_path / name).write_text("a.jpg,2\n")
        assert detect(tmp_path / name) == expected
    (tmp_path / "long.txt").write_text("".join(f"{i:050d}.jpg,{i}\n" for i in range(5000)) + "no list\n")
    (tmp_path / "wide.txt").write_text("".join(f"{i:02000d}.jpg,{i}\n" for i in range(60)))  # cut off within a name
    assert detect(tmp_path / "wide.txt")
    assert detect(tmp_path / "long.txt") and not detect(tmp_path) and not detect(tmp_path / "nowhere.txt")


def test_other_layouts_are_not_detected(tmp_path):
    for module in pkgutil.iter_modules(layouts.__path__):
        (tmp_path / module.name).mkdir()
        path = importlib.import_module(f"tests.data.formats.layouts.{module.name}").write(tmp_path / module.name)
        assert detect(path) == (module.name in ("index_list", "list_binary", "list_hashnet")), module.name
        for file in (tmp_path / module.name).rglob("*.txt"):
            own = path in (file, file.parent) and module.name.startswith(("index_list", "list_"))
            own = own or file.name == "list_eval_partition.txt"  # CelebA's splits have the form of a list
            assert own or not detect(file), file


# ---- the fast way reads what the slow one does

CELLS = st.one_of(st.integers(0, 30).map(str), st.sampled_from(["", "007", "x", "-1", "1234567890", "²", "1.0"]))
LINES = st.tuples(
    st.sampled_from(["a.jpg", "b.jpg", "c/d.png", "e", "f g.jpg", "ü.jpg", "\u3000h.jpg", "i.jpg\xa0", ""]),
    st.lists(CELLS, max_size=4),
    st.sampled_from([",", ",", ",", " ", "\t", ", "]),
    st.sampled_from(["\n", "\n", "\r\n", "\n\n", " \n", "\u2003\n", "\r"]),
)


def listed(path: Path, classes: int) -> object:
    try:
        names, numbers, counts = index_list_lines.read_listed(path, classes, None)
    except TrilabelError as error:
        return str(error)
    return list(names), numbers.tolist(), counts.tolist()


@settings(max_examples=400, deadline=None)
@given(st.lists(LINES, max_size=6), st.sampled_from([5, 100]))
def test_fast_and_slow_agree(tmp_path_factory, lines, classes):
    path = tmp_path_factory.mktemp("list") / "list.txt"
    text = "".join(sep.join([name, *cells]) + end for name, cells, sep, end in lines)
    path.write_text(text, encoding="utf-8", newline="")
    fast = listed(path, classes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_list_lines, "_plain", lambda *_: None)
        assert listed(path, classes) == fast


def test_plain_lists_take_the_fast_way(file, monkeypatch):
    monkeypatch.setattr(index_list_lines, "_any", None)
    for text in (layout.LIST, layout.LIST.replace(",", " "), layout.LIST.replace(",", "\t"), "a.jpg,\nb.jpg,1\n"):
        for ends in ("\n", "\r\n"):
            file.write_text(text, newline=ends)
            assert len(read(file))


def test_a_sixth_of_the_real_size(tmp_path):
    count = 300_000  # of the 1.7 million of Open Images
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 9, count).tolist()
    numbers = iter(map(str, rng.integers(0, 601, sum(sizes)).tolist()))
    lines = (",".join([f"train/{row:016x}.jpg", *(next(numbers) for _ in range(n))]) for row, n in enumerate(sizes))
    (tmp_path / "train.csv").write_text("\n".join(lines))
    dataset = read(tmp_path / "train.csv")
    assert len(dataset) == count and dataset.ids[count - 1] == f"train/{count - 1:016x}.jpg"


# ---- writing


def test_what_is_written_is_read_back(file, tmp_path):
    dataset = read(file)
    target = tmp_path / "again" / "list.txt"
    notes = write(dataset, target)
    again = read(target)
    assert again.labels.to_signed().tolist() == SIGNED and again.classes == dataset.classes
    assert again.ids == [f"../{name}" for name in IDS] and Path(again.paths[0]).is_file()
    assert notes == ["5 ids are not written: the list names files, relative to its folder"]
    assert detect(target)
    beside = file.with_name("beside.csv")
    assert write(dataset, beside) == []
    assert read(beside).labels == dataset.labels
    assert beside.read_text().splitlines()[2:4] == ["train/000002c707c9895e.jpg,", "train/0000048549557964.jpg,0,1,3"]


def test_what_a_list_cannot_hold(tmp_path):
    labels = Labels.from_signed([[1, -1, 0], [-1, -1, -1]], ["a", "b", "c"], ["1.jpg", "2 3.jpg"])
    boxes = Boxes(np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros((2, 4), np.float32))
    splits = {"train": np.array([0]), "val": np.array([1])}
    paths = [str(tmp_path / name) for name in labels.ids]
    assert write(Dataset(labels.ids, paths, labels, splits, boxes), tmp_path / "list.csv") == [
        "4 absent labels are not written; unlisted='absent' reads labels that are not listed as absent",
        "splits are not written (train, val); write a list for each",
        "2 boxes are not written",
    ]
    again = read(tmp_path / "list.csv")
    assert again.labels.to_signed().tolist() == [[1, 0, 0], [0, 0, 0]] and again.ids == ["1.jpg", "2 3.jpg"]
    assert write(Dataset(labels.ids, paths, labels, {"train": np.arange(2)}), tmp_path / "list.csv")[1:] == []


@pytest.mark.parametrize("name", ["a,b.jpg", "a\tb.jpg", "a\nb.jpg", " a.jpg", "a.jpg ", "a b", "\ufeffa.jpg"])
def test_images_that_a_list_cannot_name(tmp_path, name):
    labels = Labels.from_signed([[1]], ["a"], [name])
    with pytest.raises(TrilabelError) as caught:
        write(Dataset(labels.ids, [str(tmp_path / name)], labels), tmp_path / "list.csv")
    assert str(caught.value) == (
        f"{tmp_path}/list.csv: a list cannot contain the image name {name!r}; rename it or write a table"
    )
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_written_at_all(tmp_path):
    def complaint(signed, classes, name) -> str:
        labels = Labels.from_signed(signed, classes, [f"{i}.jpg" for i in range(len(signed))])
        with pytest.raises(TrilabelError) as caught:
            write(Dataset(labels.ids, list(labels.ids), labels), tmp_path / name)
        return str(caught.value).replace(str(tmp_path), "ROOT")

    (tmp_path / "classes.txt").write_text("x\n")
    assert (
        complaint([[1]], ["a"], "list.txt")
        == "ROOT/classes.txt: names other classes; write the list into another folder"
    )
    assert complaint([[1]], ["a\nb"], "list.txt") == (
        "ROOT/list.txt: a list cannot contain the class name 'a\\nb'; rename it or write a table"
    )
    assert complaint([[1]], ["x"], "names.txt") == (
        "ROOT/names.txt: this name is reserved for the file of class names; choose another name"
    )
    assert (
        complaint(np.zeros((0, 1), np.int8), ["x"], "list.txt")
        == "ROOT/list.txt: nothing to write in 0 images × 1 classes"
    )
    assert [file.name for file in tmp_path.iterdir()] == ["classes.txt"]


def test_few_classes_are_told_by_the_names_beside(tmp_path):
    labels = Labels.from_signed([[1], [1], [0]], ["cat"], ["a.jpg", "b.jpg", "c.jpg"])
    write(Dataset(labels.ids, [str(tmp_path / name) for name in labels.ids], labels), tmp_path / "list.csv")
    assert tl.data.read(tmp_path / "list.csv").labels == labels


# ---- a 0 or 1 for each class


def test_a_cell_for_each_class(tmp_path):
    path = list_binary.write(tmp_path)
    dataset = tl.data.read(path)
    assert dataset.classes == ["animal", "clouds", "sky", "water"]
    assert dataset.labels.to_signed().tolist() == [[-1, -1, 1, -1], [1, -1, 1, -1], [-1] * 4]
    assert dataset.notes == ("1 is present, 0 is absent", "names of the classes are those in classes.txt")
    (tmp_path / "fourteen.txt").write_text("a\nb\nc\nd\ne\n")
    with pytest.raises(TrilabelError, match=r"every line has 4 cells of 0 and 1, but .*fourteen.txt names 5 classes"):
        read(path, classes=tmp_path / "fourteen.txt")
    (tmp_path / "classes.txt").unlink()
    assert tl.data.read(path).classes == ["0", "1", "2", "3"]


def test_two_cells_may_be_class_numbers(tmp_path):
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    path = tmp_path / "list.txt"
    path.write_text("a.jpg 0 1\nb.jpg 1 0\n")
    assert read(path).labels.to_signed().tolist() == [[1, 1], [1, 1]]
    path.write_text("a.jpg 0 1\nb.jpg 0 0\n")  # nobody lists a class twice
    assert read(path).labels.to_signed().tolist() == [[-1, 1], [-1, -1]]


# ---- compressed, and a list for each split


def test_a_compressed_list(tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_text("a.jpg 0 1 0\nb.jpg 1 0 0\n")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert format_of(packed, None) == "list" and read(packed).labels == read(plain).labels
    packed.write_bytes(gzip.compress(b"a.jpg 0 x\nb.jpg 2\n"))
    assert refusal(packed).endswith("b.txt.gz, line 1: 'x' is not the number of a class; use whole numbers from 0")
    packed.write_bytes(gzip.compress(b"a.jpg 0 1 0\n" * 999)[:-9])
    assert "b.txt.gz: cannot be unpacked (" in refusal(packed)


def test_a_compressed_list_that_would_fill_the_memory(tmp_path, monkeypatch):
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"a.jpg 0 1 0\n" * 100_000))
    monkeypatch.setenv("TRILABEL_MAX_TEXT_BYTES", "1000000")
    assert "more than the 1,000,000 allowed" in refusal(tmp_path / "b.txt.gz")


def test_hashnet_lists_images_of_train_again_in_the_database(tmp_path):
    dataset = read(list_hashnet.write(tmp_path))
    assert rows(dataset) == {"train": [0, 1], "test": [2], "database": [3]}
    assert known(dataset)["images/d.jpg"] == [-1, -1, 1] and len(dataset) == 4
    assert dataset.notes[-1] == "2 images of the database are in train, and not in split database as well"
    (tmp_path / "coco/database.txt").write_text("images/a.jpg 1 1 1\n")
    assert "database.txt: images that are also in train have other labels there" in refusal(tmp_path / "coco")
    (tmp_path / "coco/database.txt").unlink()
    assert rows(read(tmp_path / "coco")) == {"train": [0, 1], "test": [2]}
    (tmp_path / "coco/test.txt").unlink()
    assert "no lists such as train.txt and test.txt in this folder" in refusal(tmp_path / "coco")
