"""Tables of labels: what the cells mean, every fault named with its line, and what is written is read back."""

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trilabel as tl
from tests.data.formats.layouts import csv_splits, csv_tags
from tests.oracles import tables
from tests.support.opened_files import opened_files
from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared import table_file
from trilabel.data.formats.csv_table import detect, read, write
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names

USE = "use 1 present, 0 absent, empty unknown"
RESERVED = {"image", "path", "filename", "split", "label", "value"}
ODD = [
    "NA",
    "null",
    "nan",
    "None",
    "007",
    "7",
    "1.0",
    "True",
    "a,b",
    'say "hi"',
    "é",
    "日本 犬",
    " x ",
    "#",
    "a\tb",
    "a\rb",
    "-",
]
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=6)
NAME = st.sampled_from(ODD) | TEXT
CLASS = NAME.map(str.strip).filter(lambda name: name and name.lower() not in RESERVED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture
def in_pieces(monkeypatch):
    """Tables are read two rows at a time."""
    monkeypatch.setattr(table_file, "_ROWS", 2)


def table(folder: Path, text: str, name: str = "labels.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def known(labels: Labels) -> dict[tuple[str, str], int]:
    signed = labels.to_signed()
    return {(labels.ids[i], labels.classes[j]): int(signed[i, j]) for i, j in np.argwhere(signed)}


def refusal(path: Path, **options) -> str:
    with pytest.raises(TrilabelError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert "\n" not in message and str(path) in message
    return message.replace(str(path), "FILE")


# ---- what the cells mean


def test_wide_table(tmp_path):
    dataset = read(table(tmp_path, "image,cat,dog\na.jpg,1,0\nb.jpg,,1\n"))
    assert dataset.ids == ["a.jpg", "b.jpg"] and dataset.classes == ["cat", "dog"]
    assert dataset.labels.to_signed().tolist() == [[1, -1], [0, 1]]
    assert list(dataset.paths) == [str(tmp_path / "a.jpg"), str(tmp_path / "b.jpg")]
    assert dataset.notes == ("empty cells are unknown; 0 and -1 are absent",)
    assert dataset.splits == {}


def test_long_table(tmp_path):
    dataset = read(table(tmp_path, "image,label,value\nb.jpg,dog,1\na.jpg,cat,0\nb.jpg,cat,\nc.jpg,,\n"))
    assert dataset.ids == ["b.jpg", "a.jpg", "c.jpg"] and dataset.classes == ["dog", "cat"]
    assert dataset.labels.to_signed().tolist() == [[1, 0], [0, -1], [0, 0]]
    assert dataset.notes == ("empty cells are unknown; 0 and -1 are absent; labels without a row are unknown",)


def test_list_of_tags(tmp_path):
    dataset = read(table(tmp_path, "Image,Label\na.jpg,cat\nb.jpg,dog\na.jpg,dog\nc.jpg,\n"))
    assert dataset.labels.to_signed().tolist() == [[1, 1], [0, 1], [0, 0]]
    assert dataset.notes == ("listed labels are present; every other label is unknown",)


@pytest.mark.parametrize("value", ["1", "1.0", "true", "TRUE", " 1 "])
def test_present(tmp_path, value):
    assert read(table(tmp_path, f"image,cat\na.jpg,{value}\n")).labels.to_signed().tolist() == [[1]]


@pytest.mark.parametrize("value", ["0", "0.0", "false", "False", "-1", "-1.0"])
def test_absent(tmp_path, value):
    assert read(table(tmp_path, f"image,cat\na.jpg,{value}\n")).labels.to_signed().tolist() == [[-1]]


@pytest.mark.parametrize(
    "text", ["image,cat,dog\na.jpg,0,-1\nb.jpg,1,\n", "image,label,value\na.jpg,cat,0.0\na.jpg,dog,-1.0\nb.jpg,cat,1\n"]
)
def test_zero_and_minus_one_in_one_table_need_a_word(tmp_path, text):
    path = table(tmp_path, text)
    assert refusal(path) == (
        "FILE: has both 0 and -1; pass values='uncertain' (-1 is unknown, 0 absent: CheXpert, MIMIC-CXR), "
        "values='signed' (-1 is absent, 0 unknown: PASCAL VOC's lists, trilabel's arrays) or values='binary' "
        "(both are absent: CelebA's -1 beside others' 0)"
    )
    signed, binary, uncertain = (read(path, values=values) for values in ("signed", "binary", "uncertain"))
    assert signed.labels.to_signed().tolist() == [[0, -1], [1, 0]]
    assert binary.labels.to_signed().tolist() == [[-1, -1], [1, 0]]
    assert uncertain.labels.to_signed().tolist() == [[-1, 0], [1, 0]]
    assert signed.notes[0].startswith("empty cells and 0 are unknown; -1 is absent")
    assert binary.notes[0].startswith("empty cells are unknown; 0 and -1 are absent")
    assert uncertain.notes[0].startswith("empty cells and -1 are unknown; 0 is absent")


CHEXPERT = """\
Path,Sex,Age,Frontal/Lateral,AP/PA,No Finding,Cardiomegaly,Lung Opacity,Edema,Pneumonia,Support Devices
CheXpert-v1.0-small/train/patient00001/study1/view1_frontal.jpg,Female,68,Frontal,AP,1.0,,,,,1.0
CheXpert-v1.0-small/train/patient00002/study2/view1_frontal.jpg,Female,87,Frontal,AP,,-1.0,1.0,-1.0,,
CheXpert-v1.0-small/train/patient00002/study1/view2_lateral.jpg,Female,83,Lateral,,,,1.0,0.0,-1.0,
"""


def test_what_chexpert_is_uncertain_of_is_unknown(tmp_path):
    path, beside = table(tmp_path, CHEXPERT), ["Sex", "Age", "Frontal/Lateral", "AP/PA"]
    assert "pass values='uncertain' (-1 is unknown, 0 absent: CheXpert" in refusal(path, ignore=beside)
    dataset = read(path, ignore=beside, values="uncertain")
    assert dataset.labels.to_signed().tolist() == [[1, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0], [0, 0, 1, -1, 0, 0]]
    (tmp_path / "train/patient00001/study1").mkdir(parents=True)
    (tmp_path / "train/patient00002/study2").mkdir(parents=True)
    for name in ("patient00001/study1/view1_frontal.jpg", "patient00002/study2/view1_frontal.jpg"):
        (tmp_path / "train" / name).touch()
    found = read(path, ignore=beside, values="uncertain")
    assert found.paths[1] == str(tmp_path / "train/patient00002/study2/view1_frontal.jpg")
    assert found.notes[-1].endswith(f"they are in {tmp_path}, without the first folder of their paths")
    told = refusal(path, ignore=beside, values="uncertain", unlisted="absent")
    assert "this one marks unknown labels itself" in told


def test_image_column_by_name_or_first(tmp_path):
    assert read(table(tmp_path, "cat,File\n1,a.jpg\n")).ids == ["a.jpg"]
    assert read(table(tmp_path, "photo,cat\na.jpg,1\n")).ids == ["a.jpg"]
    assert read(table(tmp_path, ",cat\na.jpg,1\n")).ids == ["a.jpg"]
    assert read(table(tmp_path, ",image,cat\n0,a.jpg,1\n")).classes == ["cat"]  # the row numbers that pandas writes


def test_columns_that_are_no_classes(tmp_path):
    path = table(tmp_path, "image,sex,cat\na.jpg,F,1\n")
    assert "(if 'sex' is not a class, pass ignore=['sex']; if it contains tags, pass tags='sex')" in refusal(path)
    assert read(path, ignore=["sex"]).classes == ["cat"]
    assert refusal(path, ignore=["age"]) == "FILE: no column called 'age' to ignore"
    long = read(table(tmp_path, "image,label,value,who\na.jpg,cat,1,me\n", "long.csv"))
    assert long.notes[-1] == "columns left out: who"


def test_all_columns_that_are_no_classes_are_named_at_once(tmp_path):
    told = refusal(table(tmp_path, CHEXPERT), values="uncertain")
    assert told == (
        "FILE, row 2: value 'Female' for image 'CheXpert-v1.0-small/train/patient00001/study1/view1_frontal.jpg', "
        "class 'Sex': use 1 present, 0 absent, empty unknown (if 'Sex', 'Age', 'Frontal/Lateral' and 'AP/PA' are no "
        "classes, pass ignore=['Sex', 'Age', 'Frontal/Lateral', 'AP/PA']; if one of them contains tags, pass tags=NAME)"
    )
    many = ",".join(f"c{number}" for number in range(30))
    told = refusal(table(tmp_path, f"image,{many}\na,{','.join('x' * 30)}\n"))
    assert "(if 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7' and 22 others are no classes" in told
    assert (
        refusal(table(tmp_path, "image,cat\na,1\n"), ignore=["x", "y"])
        == "FILE: no column called 'x' and 'y' to ignore"
    )


@pytest.mark.parametrize(
    "text",
    ["image,cat\na,{}\n", "image,label,value\na,cat,{}\n", "image,cat\n{},2\n", "image,{}\na,x\n", "{}\na\n",
     "image,label,value,split\na,x,1,{}\na,y,1,b\n", "image,{0},{0}\na,1,1\n", "image,label\na,[{}]\nb,c\n",
     "image,tags\na,{} {} z\nb,{} z\nc,z\n"],
)  # fmt: skip
def test_no_refusal_prints_a_long_cell(tmp_path, text):
    for options in ({}, {"layout": "long"}, {"layout": "wide"}):
        try:
            read(path := table(tmp_path, text.replace("{}", "y" * 5000).replace("{0}", "y" * 5000)), **options)
        except TrilabelError as error:
            assert len(str(error)) < 600 + len(str(path))


def test_blanks_around_names_in_the_header(tmp_path):
    (tmp_path / "_classes.csv").write_text("filename, cat, hot dog\na_jpg.rf.1.jpg, 1, 0\nb_jpg.rf.2.jpg, 0, 1\n")
    dataset = tl.data.read(tmp_path / "_classes.csv")
    assert dataset.classes == ["cat", "hot dog"] and dataset.labels.to_signed().tolist() == [[1, -1], [-1, 1]]
    assert read(tmp_path / "_classes.csv", ignore=["cat"]).classes == ["hot dog"]
    with pytest.raises(TrilabelError, match="a class begins or ends with a blank, which the header of a table cannot"):
        write(Labels.from_signed([[1]], [" x"], ["a"]), tmp_path / "out.csv")


@pytest.mark.parametrize("header", ["image,cat,dog,split", "image,tags,age,split"])
def test_rows_that_are_repeated_count_once(tmp_path, in_pieces, header):
    values = {"cat": ("1,0", "0,1"), "tags": ("cat,5", "dog,6")}[header.split(",")[1]]
    rows = [f"a,{values[0]},train", f"b,{values[1]},val", f"a,{values[0]},train", f"b,{values[1]},val"]
    dataset = read(table(tmp_path, "\n".join([header, *rows, rows[0], ""])))
    assert (
        dataset.ids == ["a", "b"] and dataset.labels == read(table(tmp_path, "\n".join([header, *rows[:2], ""]))).labels
    )
    assert "3 rows repeat the image and labels of an earlier one: they count once" in dataset.notes
    assert {name: of.tolist() for name, of in dataset.splits.items()} == {"train": [0], "val": [1]}


def test_split_column(tmp_path, in_pieces):
    wide = read(table(tmp_path, "image,split,cat\na.jpg,train,1\nb.jpg,Validation,0\nc.jpg,,1\nd.jpg,val,1\n"))
    assert {name: rows.tolist() for name, rows in wide.splits.items()} == {"train": [0], "val": [1, 3]}
    assert wide.notes[-1] == "1 images are in no split"
    long = read(table(tmp_path, "split,image,label,value\nval,a.jpg,x,1\ntrain,b.jpg,x,1\nval,a.jpg,y,0\n"))
    assert {name: rows.tolist() for name, rows in long.splits.items()} == {"val": [0], "train": [1]}


def test_path_column(tmp_path):
    wide = read(table(tmp_path, "id,filename,cat\na,x/1.jpg,1\nb,/data/2.jpg,0\n"))
    assert wide.ids == ["a", "b"] and wide.classes == ["cat"]
    assert list(wide.paths) == [str(tmp_path / "x/1.jpg"), "/data/2.jpg"]
    long = read(table(tmp_path, "image,path,label,value\na,1.jpg,cat,1\nb,2.jpg,cat,1\na,1.jpg,dog,1\n"))
    assert list(long.paths) == [str(tmp_path / "1.jpg"), str(tmp_path / "2.jpg")]


def test_contradictions(tmp_path, in_pieces):
    path = table(tmp_path, "image,label,value\n" + "a.jpg,cat,1\na.jpg,cat,0\na.jpg,cat,1\nb.jpg,dog,1\nb.jpg,dog,1\n")
    assert refusal(path).startswith("FILE: image 'a.jpg', class 'cat' is labelled both present and absent (1 such")
    assert read(path, conflict="unknown").labels.to_signed().tolist() == [[0, 0], [0, 1]]
    assert read(path, conflict="majority").labels.to_signed().tolist() == [[1, 0], [0, 1]]


def test_images_are_found_below_a_folder(tmp_path):
    (tmp_path / "photos/deep").mkdir(parents=True)
    for name in ("7.JPG", "deep/8.png", "NA.webp"):
        (tmp_path / "photos" / name).touch()
    path = table(tmp_path, "image,cat\n7,1\n8,1\nNA,1\n9,1\nx.jpg,1\n/data/y.jpg,1\n")
    dataset = read(path, images=tmp_path / "photos")
    expected = [str(tmp_path / "photos" / name) for name in ("7.JPG", "deep/8.png", "NA.webp", "9", "x.jpg")]
    assert list(dataset.paths) == [*expected, "/data/y.jpg"]
    assert dataset.ids[2] == "NA"
    assert (
        dataset.notes[-1] == f"1 images without the ending of an image (.jpg, …) have no file in {tmp_path / 'photos'}"
    )
    with pytest.raises(TrilabelError, match="nowhere: no such folder of images"):
        read(path, images=tmp_path / "nowhere")


# ---- kinds of files


def test_kinds_of_files(tmp_path):
    text = 'image,"cat, tame",Müll\r\n"a ""1"".jpg",1,\r\n\r\nNA,0,1\r\n'
    expected = {('a "1".jpg', "cat, tame"): 1, ("NA", "cat, tame"): -1, ("NA", "Müll"): 1}
    assert known(read(table(tmp_path, text)).labels) == expected
    assert known(read(table(tmp_path, "\ufeff" + text)).labels) == expected
    assert known(read(table(tmp_path, text.replace("\r\n", "\n").rstrip())).labels) == expected
    assert known(read(table(tmp_path, text.replace("\r\n", "\r"))).labels) == expected
    tabs = text.replace(",", "\t").replace("cat\t", "cat,")
    for name in ("labels.tsv", "labels.txt"):
        assert known(read(table(tmp_path, tabs, name)).labels) == expected
    (tmp_path / "labels.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert known(read(tmp_path / "labels.csv.gz").labels) == expected
    semicolons = table(tmp_path, "image;cat\na.jpg;1\n")
    assert read(semicolons).classes == read(semicolons, delimiter=";").classes == ["cat"]
    assert read(table(tmp_path, "image;cat\na.jpg;1\n", "labels.txt")).classes == ["cat"]
    assert "pass delimiter" in refusal(table(tmp_path, "image:cat\na.jpg:1\n"))


def test_detects_by_name(tmp_path):
    for name, expected in {"a.csv": 1, "a.CSV.GZ": 1, "a.tsv": 1, "a.txt": 1, "a.json": 0, "a.gz": 0}.items():
        assert detect(table(tmp_path, "", name)) == bool(expected)
    (tmp_path / "folder.csv").mkdir()
    assert not detect(tmp_path / "folder.csv")


@pytest.mark.parametrize("length", [63, 64, 65, 512, 5000])
def test_long_names(tmp_path, length):
    ids = ["é" * (length // 2) + "x" * (length % 2), "short", "é" * (length // 2) + "y"]
    text = "image,cat\n" + "".join(f"{name},1\n" for name in ids)
    assert read(table(tmp_path, text)).ids == ids


def test_numbers_stay_text(tmp_path, in_pieces):
    text = "image,label,value\n1,007,1\n1.0,7,1\n01,7.0,1\n1e0,1_0,1\n"
    dataset = read(table(tmp_path, text))
    assert dataset.ids == ["1", "1.0", "01", "1e0"] and dataset.classes == ["007", "7", "7.0", "1_0"]


# ---- faults


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,cat,dog\na.jpg,1,0\n\nb.jpg,1,2\n",
         "FILE, row 4: value '2' for image 'b.jpg', class 'dog': use 1 present, 0 absent, empty unknown (if"),
        ('image,cat\n"a\nb",1\nc,x\n', "FILE, row 4: value 'x' for image 'c', class 'cat': use 1 present, 0"),
        ("image,label,value\na,dog,1\na,cat,yes\n",
         "FILE, row 3: value 'yes' for image 'a', class 'cat': use 1 present, 0 absent, empty unknown"),
        ("image,cat\na,NA\n", "FILE, row 2: value 'NA' for image 'a', class 'cat'"),
        ("", "FILE: the table is empty; its first row must name the columns"),
        ("\n \n", "FILE: the table is empty; its first row must name the columns"),
        ("image,cat\n", "FILE: no rows below the header"),
        ("image,label,value\n\n", "FILE: no rows below the header"),
        ("image\na\n", "FILE: found the columns 'image'; a wide table needs image and a column for each class"),
        ("image,split\na,val\n", "FILE: found the columns 'image', 'split'; a wide table needs"),
        ("image,label,who\na,cat,1\n",
         "FILE: found the columns 'image', 'label', 'who'; are 'who' classes, or is the label in 'label'? pass layout"),
        ("image,value\na,1\n", "FILE: found the columns 'image', 'value'; a long table needs image, label"),
        ("photo,label,value\na,cat,1\n", "FILE: found the columns 'photo', 'label', 'value'; which one contains the"),
        ("image,dog,cat,dog\na,1,1,1\n", "FILE: columns 2 and 4 are both called 'dog'; rename or remove one"),
        ("image,dog,\na,1,1\n", "FILE: column 3 has no name; give it one or remove it"),
        ("image,cat\na,1\nb,0\nb,0\na,0\n",
         "FILE, row 5: image 'a' is listed twice, first in row 2 with other labels; remove one"),
        ("image,cat\na,1\n,0\n", "FILE, row 3: the image has no name"),
        ("image,label,value\n,cat,1\n", "FILE, row 2: the image has no name"),
        ("image,label,value\na,cat,1\na,,1\n", "FILE, row 3: value '1' for image 'a', but no label is named"),
        ("image,label,value,split\na,x,1,val\nb,x,1,val\nc,x,1,\na,y,1,train\n",
         "FILE, row 5: image 'a' is in split 'train' and in 'val'; choose one"),
        ("image,label,value,split\na,x,1,val\na,y,1,\n", "FILE, row 3: image 'a' is in split '' and in 'val'"),
        ("image,cat,dog\na,1,1\nb,1\n", "FILE, row 3: 2 cells, but the header has 3"),
        ("image,cat,dog\na,1\nb,1,1\n", "FILE, row 2: 2 cells, but the header has 3"),
        ("image,cat,dog\na,1,1,1\nb,1,1\n", "FILE, row 2: 4 cells, but the header has 3"),
        ("image,cat,dog\na,1,1\nb,1,1,1\n", "FILE, row 3: 4 cells, but the header has 3"),
        ("image,cat,dog\na,1,1,\nb,1,1,\n", "FILE, row 2: 4 cells, but the header has 3"),
        ('image,cat,dog\n"a,1",1\nb,1,1\n', "FILE, row 2: 2 cells, but the header has 3"),
        ('image,cat\na,1\n"b,1\nc,1\n', "FILE, row 3: cannot be read as a table"),
        ("image,cat\na,1\nb\0,1\n", "FILE, row 3: not UTF-8 text; save the table as UTF-8"),
    ],
)  # fmt: skip
def test_faults_are_named(tmp_path, in_pieces, text, message):
    assert refusal(table(tmp_path, text)).startswith(message)


def test_bytes_that_are_not_utf8(tmp_path):
    path = tmp_path / "labels.csv"
    for text in ("image,cat\na,1\nJosé,1\n", "image,José\na,1\n"):
        path.write_bytes(text.encode("latin-1"))
        line = 1 + text[: text.index("é")].count("\n")
        assert refusal(path) == f"FILE, row {line}: not UTF-8 text; save the table as UTF-8"
    path.write_bytes("image,cat\na,1\né".encode()[:-1])
    assert refusal(path).startswith("FILE, row 3: ")
    path.write_bytes("image,cat\na,1\n".encode("utf-16"))
    assert "not UTF-8 text" in refusal(path)


def test_damaged_gzip_files(tmp_path):
    path = tmp_path / "labels.csv.gz"
    rows = "".join(f"{np.random.default_rng(i).integers(1 << 60)},1\n" for i in range(2000))
    path.write_bytes(gzip.compress(f"image,cat\n{rows}".encode())[:-4000])
    assert "cannot be read as a table" in refusal(path)
    path.write_bytes(b"image,cat\na,1\n")
    assert refusal(path).startswith("FILE, row 1: cannot be read as a table")


def test_unknown_options(tmp_path):
    path = table(tmp_path, "image,cat\na,1\n")
    assert refusal(path, values="other") == "FILE: values='other': use one of 'auto', 'binary', 'signed', 'uncertain'"
    assert refusal(path, layout="tall").startswith("FILE: layout='tall': use one of")
    assert refusal(path, conflict="first").startswith("FILE: conflict='first': use one of")
    assert refusal(path, delimiter="ab") == "FILE: delimiter='ab': use a single character"


# ---- the fast way against the slow one


def written(rows: list[list[str]], ends: str, quoting: int) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=ends, quoting=quoting).writerows(rows)
    return text.getvalue().encode()


CELL = st.sampled_from(["", "1", "0", "1.0", " 0.0", "TRUE", "false "])
QUOTING = st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(["\n", "\r\n"]), QUOTING, st.sampled_from([1, 3, 100]))
def test_wide_tables_as_the_slow_way_reads_them(folder, data, ends, quoting, at_once):
    plain = NAME.filter(lambda name: "\r" not in name)
    classes = data.draw(st.lists(CLASS.filter(lambda name: "\r" not in name), min_size=1, max_size=4, unique=True))
    images = data.draw(st.lists(plain, min_size=1, max_size=8, unique=True))
    rows = [[image, *(data.draw(CELL) for _ in classes)] for image in images]
    path = folder / "slow.csv"
    path.write_bytes(written([["image", *classes], *rows], ends, quoting))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_file, "_ROWS", at_once)
        labels = read(path).labels
    assert (labels.ids, labels.classes, known(labels)) == tables.wide(path)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(["\n", "\r\n"]), QUOTING, st.sampled_from([1, 3, 100]))
def test_long_tables_as_the_slow_way_reads_them(folder, data, ends, quoting, at_once):
    plain = NAME.filter(lambda name: "\r" not in name)
    entries = data.draw(st.dictionaries(st.tuples(plain, plain), CELL, min_size=1, max_size=12))
    path = folder / "slow.csv"
    rows = [[image, label, cell] for (image, label), cell in entries.items()]
    path.write_bytes(written([["image", "label", "value"], *rows], ends, quoting))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_file, "_ROWS", at_once)
        labels = read(path).labels
    assert (labels.ids, labels.classes, known(labels)) == tables.long(path)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["image,cat,dog\n", "image,label,value\n", "image,label,split\n", ""]), st.data())
def test_any_file_is_read_or_refused_in_one_line(folder, header, data):
    pieces = st.sampled_from(
        [b"a", b"b", b"1", b"0", b",", b",", b"\n", b"\n", b"\r", b'"', b" ", b"\xff", b"\0", b"\xc3\xa9"]
    )
    path = folder / "any.csv"
    path.write_bytes(header.encode() + b"".join(data.draw(st.lists(pieces, max_size=30))))
    try:
        labels = read(path).labels
    except TrilabelError as error:
        assert "\n" not in str(error) and str(path) in str(error)
    else:
        assert all(labels.ids) and all(labels.classes) and len(labels)


# ---- writing


@st.composite
def some_labels(draw):
    classes = draw(st.lists(CLASS, min_size=1, max_size=4, unique=True))
    ids = draw(st.lists(NAME, min_size=1, max_size=6, unique=True))
    signs = st.lists(st.sampled_from([-1, 0, 1]), min_size=len(classes), max_size=len(classes))
    return Labels.from_signed([draw(signs) for _ in ids], classes, ids)


@settings(max_examples=100, deadline=None)
@given(some_labels(), st.sampled_from(["wide", "long"]), st.sampled_from(["csv", "tsv", "csv.gz"]))
def test_what_is_written_is_read_back(folder, labels, layout, suffix):
    path = folder / f"back.{suffix}"
    write(labels, path, layout)
    assert read(path).labels == labels


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_splits_and_paths_are_written(tmp_path, layout):
    labels = Labels.from_signed([[1, 0], [0, 0], [-1, 1]], ["cat", "dog"], ["a", "b", "c"])
    paths = [str(tmp_path / "out/x/a.jpg"), str(tmp_path / "b.jpg"), str(tmp_path / "out/c.jpg")]
    splits = {"train": np.array([2]), "val": np.array([0])}
    write(Dataset(labels.ids, paths, labels, splits), tmp_path / "out/labels.csv", layout)
    dataset = read(tmp_path / "out/labels.csv")
    assert dataset.labels == labels
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"val": [0], "train": [2]}
    assert [Path(path).resolve() for path in dataset.paths] == [Path(path) for path in paths]
    assert (
        "x/a.jpg" in (tmp_path / "out/labels.csv").read_text()
        and str(tmp_path) not in (tmp_path / "out/labels.csv").read_text()
    )


def test_paths_that_the_image_column_says_are_not_repeated(tmp_path):
    dataset = read(table(tmp_path, "image,cat\na.jpg,1\nx/b.jpg,0\n"))
    write(dataset, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == "image,cat\na.jpg,1\nx/b.jpg,0\n"
    write(dataset, tmp_path / "long.csv", "long")
    assert (tmp_path / "long.csv").read_text() == "image,label,value\na.jpg,cat,1\nx/b.jpg,cat,0\n"


@pytest.mark.parametrize("name", ["split", " Path ", "image", "label", "value"])
def test_classes_called_like_columns(tmp_path, name):
    labels = Labels.from_signed([[1, -1]], [name, "dog"], ["a.jpg"])
    with pytest.raises(TrilabelError, match="a class is called image, path, filename"):
        write(labels, tmp_path / "labels.csv")
    assert not list(tmp_path.iterdir())
    write(labels, tmp_path / "labels.csv", "long")
    assert read(tmp_path / "labels.csv").labels == labels


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("old")
    good = Labels.from_signed([[1]], ["cat"], ["a.jpg"])
    overlap = Dataset(good.ids, ["a.jpg"], good, {"train": np.array([0]), "val": np.array([0])})
    for data, message in (
        (Labels.from_signed(np.zeros((0, 2))), "nothing to write in 0 images × 2 classes"),
        (Labels.from_signed([[1]], [""], ["a"]), "class name that is empty or has a zero byte"),
        (Labels.from_signed([[1]], ["cat"], ["a\0b"]), "image name that is empty or has a zero byte"),
        (overlap, "image 'a.jpg' is in splits 'train' and 'val'; a table allows one"),
    ):
        with pytest.raises(TrilabelError, match=message):
            write(data, path)
    with pytest.raises(TrilabelError, match="layout='tall': use 'wide' or 'long'"):
        write(good, path, "tall")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_names_from_cells_of_one_size():
    for names in (["a", "bb", "é", ""], ["aa", "bb"], [], ["x" * 9]):
        array = np.array([name.encode() for name in names], "S10")
        assert Names.from_fixed(array) == names


def test_tags_in_one_cell(tmp_path):
    dataset = read(csv_tags.write(tmp_path))
    assert dataset.classes == ["cat", "Hund groß", "dog", "big, brown"]
    assert dataset.labels.to_signed().tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0, 1], "val": [2, 4]}
    assert dataset.notes == (
        "listed tags are present; every other label, and all of an image without tags, is unknown",
        "1 images are in no split",
        "tags in a cell are separated by ';'",
    )


@pytest.mark.parametrize(
    ("cell", "options", "classes"),
    [
        ("a|b c", {}, ["a", "b c"]),
        ('"a, b"', {}, ["a", "b"]),
        ("a b", {"separator": " "}, ["a", "b"]),
        ("a b", {}, ["a b"]),
        ("\"['it\\'s', 'x, y']\"", {}, ["it's", "x, y"]),
        ('"[""na\\u00efve"", ""say \\""hi\\""""]"', {}, ["naïve", 'say "hi"']),
        ("[0 2]", {}, ["0", "2"]),
        ("\"[cat's, dog's]\"", {}, ["cat's", "dog's"]),
        ('"[""a;b"", ""c""]"', {}, ["a;b", "c"]),
        ("[1|2]", {}, ["1|2"]),
    ],
)
def test_ways_to_separate_tags(tmp_path, cell, options, classes):
    (tmp_path / "t.csv").write_text(f"filename,labels\n1.jpg,{cell}\n")
    assert read(tmp_path / "t.csv", **options).classes == classes


def planet(rows: int) -> str:
    """Tags as in Planet's "Understanding the Amazon from Space": one of the weather, then what is on the ground."""
    draw = np.random.default_rng(0)
    ground = ["agriculture", "bare_ground", "cultivation", "habitation", "primary", "road", "water"]
    lines = []
    for row in range(rows):
        weather = ["clear", "haze", "partly_cloudy", "cloudy"][draw.integers(4)]
        shown = [] if weather == "cloudy" else [name for name in ground if draw.random() < 0.4]
        lines.append(f"train_{row},{' '.join(sorted([weather, *shown]))}\n")
    return "image_name,tags\n" + "".join(lines)


def test_tags_separated_by_blanks(tmp_path):
    dataset = read(table(tmp_path, text := planet(400), "train_v2.csv"))
    assert len(dataset.classes) == 11
    assert known(dataset.labels) == {
        (image, tag): 1 for image, tags in (line.split(",") for line in text.splitlines()[1:]) for tag in tags.split()
    }
    cells = len({line.partition(",")[2] for line in text.splitlines()[1:]})
    assert (
        dataset.notes[-1] == f"tags in a cell are separated by blanks: {cells} different cells have 11 different tags"
    )
    assert len(read(table(tmp_path, text), separator="").classes) == cells


@pytest.mark.parametrize(
    ("cells", "classes", "note"),
    [
        (["traffic light", "fire hydrant", "dog", "hot dog"] * 5, 4, "every cell is one tag, with the blanks in it"),
        (["Action/Drama", "War/Action", "Drama/War", "Action/Drama/War", "War", "Drama", "Action"], 3,
         "tags in a cell are separated by slashes: 7 different cells have 3 different tags"),
        (["AC/DC", "dog", "cat"], 3, None),
        (["Drama, War", "War", "Drama"], 2, "tags in a cell are separated by commas"),
        (["['Drama', 'War']", "['War']", "[]"], 2, None),
    ],
)  # fmt: skip
def test_separators_are_told_by_the_cells(tmp_path, cells, classes, note):
    for header in ("image,tags", "image,label"):
        rows = [[str(row), cell] for row, cell in enumerate(cells)]
        (tmp_path / "t.csv").write_bytes(written([header.split(","), *rows], "\n", csv.QUOTE_MINIMAL))
        if header == "image,label" and cells[0] == "Drama, War":
            assert "one tag, or are these 2" in refusal(tmp_path / "t.csv")
            continue
        dataset = read(tmp_path / "t.csv")
        assert len(dataset.classes) == classes
        assert note is None or note in dataset.notes or (header == "image,label" and note.startswith("every cell"))


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["haze primary", "clear primary", "primary"], " "),
        (["haze primary", "agriculture clear primary water", "clear primary", "primary"], " "),
        (["red car", "red bus", "blue car", "blue bus"] * 9, " "),
        (["tench, Tinca tinca", "goldfish, Carassius auratus", "kite"] * 3, ","),
        (["Sci-Fi/Drama", "Drama", "Sci-Fi/War"], "/"),
    ],
)
def test_cells_that_could_be_one_tag_or_several_need_a_word(tmp_path, cells, mark):
    path = tmp_path / "t.csv"
    rows = [[str(row), cell] for row, cell in enumerate(cells)]
    path.write_bytes(written([["image", "tags"], *rows], "\n", csv.QUOTE_MINIMAL))
    several = cells[0].count(mark) + 1
    assert refusal(path) == (
        f"FILE: is {cells[0]!r} one tag, or are these {several}? pass separator='' for one, separator={mark!r} "
        "for several"
    )
    assert read(path, separator="").classes == list(dict.fromkeys(cells))
    tags = dict.fromkeys(tag.strip() for cell in cells for tag in cell.split(mark))
    assert read(path, separator=mark).classes == list(tags)


def test_several_labels_in_a_cell_of_a_column_called_label(tmp_path):
    findings = "image,label\n1.png,Cardiomegaly|Emphysema\n2.png,Hernia\n3.png,Cardiomegaly\n"
    assert read(table(tmp_path, findings)).classes == ["Cardiomegaly", "Emphysema", "Hernia"]
    path = table(tmp_path, "image,label\na,red car\nb,blue car\nc,red bus\nd,blue bus\n")
    assert refusal(path) == (
        "FILE: is 'red car' one tag, or are these 2? pass separator='' for one, separator=' ' for several and "
        "layout='tags'; or pass layout='long', if every row has one label"
    )
    assert read(path, layout="long").classes == ["red car", "blue car", "red bus", "blue bus"]
    assert read(path, layout="tags", separator=" ").classes == ["red", "car", "blue", "bus"]
    rows = "image,label\n" + "".join(f"{row},x\n" for row in range(1000)) + "1000,a|b\n"
    assert "label 'a|b' looks like several tags; pass layout='tags', or layout='long'" in refusal(table(tmp_path, rows))
    repeated = table(tmp_path, "image,label\na,red car\na,blue car\nc,red bus\nd,blue bus\n")
    assert len(read(repeated).classes) == 4  # a row for each label


def test_a_column_called_tag_holds_them_if_it_has_words(tmp_path):
    assert read(table(tmp_path, "image,tag\na.jpg,cat;dog\nb.jpg,dog\n")).classes == ["cat", "dog"]
    assert read(table(tmp_path, "image,tag\na.jpg,1\nb.jpg,0\n")).classes == ["tag"]
    assert read(table(tmp_path, "image,tag,tags\na.jpg,x7,cat;dog\nb.jpg,x8,dog\n")).classes == ["cat", "dog"]


def test_which_column_holds_the_tags(tmp_path):
    (tmp_path / "t.csv").write_text("image,age,words\n1.jpg,5,a;b\n")
    with pytest.raises(TrilabelError, match="'words'; which one contains the tags\\? pass tags=NAME"):
        read(tmp_path / "t.csv", layout="tags")
    assert read(tmp_path / "t.csv", layout="tags", ignore=["age"]).classes == ["a", "b"]
    (tmp_path / "t.csv").write_text("image,tags\n1.jpg,1\n2.jpg,0\n")
    assert read(tmp_path / "t.csv", layout="wide").classes == ["tags"]
    (tmp_path / "t.csv").write_text("image,tags\n1.jpg,a\n1.jpg,b\n")
    with pytest.raises(TrilabelError, match="is listed twice, first in row 2"):
        read(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("image,tags\n1.jpg,\n")
    with pytest.raises(TrilabelError, match="no image has a tag"):
        read(tmp_path / "t.csv", layout="tags")


def test_a_header_that_pandas_counts_differently(tmp_path):
    file = tmp_path / "labels.tsv"
    file.write_text('image\tlabel\tvalue\tspl"it\n1.jpg\tdog\t0\tx\tdog\t0\ttrain\n')
    with pytest.raises(TrilabelError) as caught:
        read(file)
    assert str(caught.value) == f"{file}, row 2: 7 cells, but the header has 4"


def test_lists_in_a_column_called_label(tmp_path):
    (tmp_path / "t.csv").write_text(
        "image,label,split\na.jpg,\"['cat', 'dog']\",train\nb.jpg,[],train\nc.jpg,['dog'],val\n"
    )
    dataset = tl.data.read(tmp_path / "t.csv")
    assert dataset.classes == ["cat", "dog"] and dataset.labels.to_signed().tolist() == [[1, 1], [0, 0], [0, 1]]
    (tmp_path / "t.csv").write_text("image,label\na.jpg,[cat\nb.jpg,dog]\n")
    assert read(tmp_path / "t.csv").classes == ["[cat", "dog]"]
    (tmp_path / "t.csv").write_text('image,label,width\nx.jpg,,1\na.jpg,"[""cat"", ""dog""]",9\n')
    dataset = read(tmp_path / "t.csv")
    assert dataset.classes == ["cat", "dog"] and "columns left out: width" in dataset.notes
    (tmp_path / "t.csv").write_text("image,label\na.jpg,['cat']\n")
    assert refusal(tmp_path / "t.csv", layout="long") == (
        "FILE: label \"['cat']\" is a list; if cells contain several tags, pass layout='tags'"
    )


def test_a_table_without_header_is_not_misread(tmp_path):
    (tmp_path / "t.csv").write_text("a.jpg,0,1\nb.jpg,1,0\n")
    with pytest.raises(TrilabelError) as caught:
        tl.data.read(tmp_path / "t.csv")
    assert str(caught.value) == (
        f"{tmp_path / 't.csv'}, row 1: 'a.jpg' is an image, not the name of a column; write a header above it "
        "(image, and the classes, separated like the cells)"
    )
    for name, line in (("h.txt", "a.jpg 0 1 0"), ("h.csv", "a.jpg,0,1")):  # asked for a delimiter, then for a list
        assert refusal(table(tmp_path, f"{line}\n", name)).endswith(
            "(image, and the classes, separated like the cells)"
        )
    assert "or pass format='list' if these are numbers" in refusal(table(tmp_path, "a.jpg,3,b\n"))


@pytest.mark.parametrize(
    "text",
    [
        "image,xmin,ymin,xmax,ymax,label\na.jpg,1,2,30,40,cat\na.jpg,5,6,70,80,dog\nb.jpg,0,0,1,1,dog\n",  # VoTT
        "image,label,xmin,ymin,xmax,ymax\na.jpg,cat,0,0,1,1\na.jpg,dog,0,0,1,1\nb.jpg,dog,0,1,1,1\n",
        "image,label,who,when\na.jpg,cat,me,2024\na.jpg,dog,me,2024\nb.jpg,dog,you,2025\n",
    ],
)
def test_other_columns_of_a_long_table_are_left_out(tmp_path, text):
    dataset = read(table(tmp_path, text))
    assert dataset.classes == ["cat", "dog"] and dataset.labels.to_signed().tolist() == [[1, 1], [0, 1]]
    assert dataset.notes[-1].startswith("columns left out: ")
    unclear = table(tmp_path, "image,label,cat,dog\na.jpg,sea,1,0\n")
    assert refusal(unclear).endswith("pass layout='long' to read that, or ignore=['label'] to read the others")
    assert read(unclear, layout="long").classes == ["sea"]
    assert read(unclear, ignore=["label"]).classes == ["cat", "dog"]


@pytest.mark.parametrize(
    "text",
    [
        "image,cat,dog\na.jpg,1,0,1\nb.jpg,1\nc.jpg,0,1\n",
        "image,label,value,note\na.jpg,cat,1,x\nb.jpg,cat,0,junk,y\nd.jpg,cat,1\n",
    ],
)
def test_a_row_too_long_and_one_too_short_do_not_make_up_for_each_other(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TrilabelError, match=r"row \d: \d cells, but the header has \d"):
        read(tmp_path / "t.csv")


def test_tags_among_other_columns(tmp_path):
    (tmp_path / "t.csv").write_text(
        "Filename,Tags,Photographer,Rating\na.jpg,See;Bär,Ute,5\nb.jpg,,Udo,\n", encoding="utf-8"
    )
    dataset = read(tmp_path / "t.csv")
    assert dataset.classes == ["See", "Bär"] and "columns left out: Photographer, Rating" in dataset.notes
    (tmp_path / "t.csv").write_text("image,tags,cat\na.jpg,1,0\nb.jpg,,1\n")
    assert read(tmp_path / "t.csv").classes == ["tags", "cat"]
    (tmp_path / "t.csv").write_text("Bild,Wort\na.jpg,See\n")
    assert refusal(tmp_path / "t.csv").endswith(
        "(if 'Wort' is not a class, pass ignore=['Wort']; if it contains tags, pass tags='Wort')"
    )


@pytest.mark.parametrize(
    "text",
    ["image,tags\na.jpg,cat\nb.jpg,\nc.jpg,dog;cat\n", "image,label\na.jpg,cat\nb.jpg,\nc.jpg,dog\nc.jpg,cat\n",
     "image,cat,dog\na.jpg,1,\nb.jpg,,\nc.jpg,1,1\n"],
)  # fmt: skip
def test_lists_that_are_complete(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    dataset = read(tmp_path / "t.csv", unlisted="absent")
    assert dataset.labels.to_signed().tolist() == [[1, -1], [0, 0], [1, 1]]
    assert dataset.notes[0] == "labels that are not listed are absent, except in images without any"


@pytest.mark.parametrize("cell", ["2", "nan", "NA", "3.5", "-"])
def test_numbers_and_holes_in_a_column_called_labels_are_no_tags(tmp_path, cell):
    (tmp_path / "t.csv").write_text(f"image,cat,labels\na.jpg,1,1\nb.jpg,0,{cell}\n")
    assert "row 3: value" in (told := refusal(tmp_path / "t.csv")) and "pass tags='labels'" in told
    (tmp_path / "t.csv").write_text("image,tags\na.jpg,1\nb.jpg,0\n")
    assert read(tmp_path / "t.csv").labels.to_signed().tolist() == [[1], [-1]]


def test_tables_that_say_what_is_unknown_are_not_filled(tmp_path):
    for text, options in (
        ("image,label,value\na.jpg,cat,1\na.jpg,cat,0\na.jpg,dog,1\n", {"conflict": "unknown"}),
        ("image,cat,dog\na.jpg,0,1\nb.jpg,-1,1\n", {"values": "signed"}),
    ):
        (tmp_path / "t.csv").write_text(text)
        told = refusal(tmp_path / "t.csv", unlisted="absent", **options)
        assert told.startswith("FILE: unlisted='absent' is for lists and for tables whose empty cells mean absent")


def test_delimiters_in_quotes_and_below_blank_lines(tmp_path):
    (tmp_path / "t.csv").write_text('\n\nimage;cat;"dog, small"\na.jpg;1;0\n')
    assert read(tmp_path / "t.csv").classes == ["cat", "dog, small"]


def test_which_column_names_the_images(tmp_path):
    (tmp_path / "t.csv").write_text("Nr;Dateiname;Tags\n1;6.jpg;Hund\n2;5.jpg;Katze\n")
    dataset = read(tmp_path / "t.csv")
    assert dataset.ids == ["6.jpg", "5.jpg"] and "images are those in column 'Dateiname'" in dataset.notes
    assert read(tmp_path / "t.csv", image="Nr").ids == ["1", "2"]
    (tmp_path / "t.csv").write_text("Bild,Worte,Rang\na.jpg,See;Bär,3\n", encoding="utf-8")
    assert read(tmp_path / "t.csv", tags="Worte").classes == ["See", "Bär"]
    assert refusal(tmp_path / "t.csv", tags="Wort").endswith("there are: Bild, Worte, Rang; did you mean 'Worte'?")
    (tmp_path / "t.csv").write_text("Nr,Bild,cat\n1,a.jpg,1\n2,b.jpg,0\n")
    assert refusal(tmp_path / "t.csv").startswith("FILE, row 3: value '2' for image 'b.jpg', class 'Nr'")
    assert read(tmp_path / "t.csv", ignore=["Nr"]).ids == ["a.jpg", "b.jpg"]


@pytest.mark.parametrize(
    "text",
    [
        "image,cat,dog\na.jpg,1,0\n",
        "image,label,value\na.jpg,cat,1\na.jpg,dog,0\n",
        "file,tags\na.jpg,cat;dog\n",
        "photo;label\na.jpg;cat\n",
        "image,cat\n" + "x" * 100 + ".jpg,1\n",  # longer than names are expected to be
    ],
)
@pytest.mark.parametrize("name", ["labels.csv", "labels.csv.gz"])
def test_a_table_is_opened_once_to_detect_it_and_once_to_read_it(tmp_path, text, name):
    file = tmp_path / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    with opened_files() as opened:
        read(file)
    assert opened.count(str(file)) == 1
    with opened_files() as opened:
        tl.data.read(file)
    assert opened.count(str(file)) == 2


# ---- words, columns and classes that the user names

SURVEY = "\ufeffimage, sex ,Cat,Dog,age\r\n1.jpg,F,YES,No,31\r\n2.jpg,M,n/a,yes ,?\r\n3.jpg,F,NO,?,\r\n"


def test_words_for_values(tmp_path):
    path = table(tmp_path, SURVEY)
    words = {"positive_values": ["yes"], "negative_values": ["NO"], "unknown_values": ["n/a", "?"]}
    dataset = read(path, class_columns=["Cat", "Dog"], **words)
    assert dataset.classes == ["Cat", "Dog"] and dataset.labels.to_signed().tolist() == [[1, -1], [0, 1], [-1, 0]]
    assert "columns left out: sex, age" in dataset.notes
    told = refusal(path, class_columns=["Cat", "Dog"])
    assert told.endswith(
        "empty unknown, or pass positive_values=['yes'], negative_values=['No'], unknown_values=['n/a', '?']"
    )
    strange = refusal(path)
    assert strange.endswith("(if 'sex' and 'age' are no classes, pass ignore=['sex', 'age']; if one of them contains "
                            "tags, pass tags=NAME)")  # fmt: skip
    assert "or pass positive_values=['yes'], negative_values=['No'], unknown_values=['n/a', '?'] (if" in strange
    vague = refusal(table(tmp_path, "image,cat\na,yes\nb,no\nc,perhaps\nd,1\n", "vague.csv"))
    assert vague.endswith(
        "or pass positive_values=['yes'], negative_values=['no'], and 'perhaps' in one of positive_values=WORDS, "
        "negative_values=WORDS, unknown_values=WORDS"
    )
    assert "'yes' is given two meanings; give it one" in refusal(path, positive_values=["YES"], unknown_values=["yes"])
    long = table(tmp_path, "image,label,value\n1.jpg,cat,positive\n1.jpg,dog,negative\n", "long.csv")
    both = read(long, positive_values=["positive"], negative_values=["negative"])
    assert both.labels.to_signed().tolist() == [[1, -1]]


def test_a_minus_one_whose_meaning_is_given(tmp_path):
    path = table(tmp_path, "image,cat,dog\n1.jpg,0,-1\n2.jpg,1,0\n")
    assert "has both 0 and -1" in refusal(path)
    assert read(path, unknown_values=["-1"]).labels.to_signed().tolist() == [[-1, 0], [1, -1]]


def test_columns_that_are_classes(tmp_path):
    path = table(tmp_path, "image,cat,,cat2,split\n1.jpg,1,x,0,train\n")
    assert read(path, class_columns=["cat2"]).labels.to_signed().tolist() == [[-1]]
    assert "no column in FILE named 'dog'" in refusal(path, class_columns=["dog"])
    assert "class_columns are for a wide table" in refusal(path, class_columns=["cat"], layout="long")
    assert "column 'split' is not one of classes" in refusal(path, class_columns=["cat", "split"])


def test_no_finding(tmp_path):
    rows = "image,tags\n1.png,No Finding\n2.png,Mass|Edema\n3.png,No Finding|Mass\n4.png,\n"
    dataset = read(table(tmp_path, rows), none_class="No Finding")
    assert dataset.classes == ["No Finding", "Mass", "Edema"]
    assert dataset.labels.to_signed().tolist() == [[1, -1, -1], [0, 1, 1], [1, 1, 0], [0, 0, 0]]
    assert dataset.notes[-2:] == (
        "1 images have 'No Finding': their other labels are absent",
        "1 images have 'No Finding' and another label present: this says nothing about their others",
    )
    wide = table(tmp_path, "Path,No Finding,Edema\n1.png,1.0,\n2.png,,1.0\n3.png,1.0,-1.0\n", "wide.csv")
    found = read(wide, none_class="No Finding", values="uncertain").labels.to_signed()
    assert found.tolist() == [[1, -1], [0, 1], [1, -1]]
    assert "no class in FILE named 'nothing'" in refusal(wide, none_class="nothing")


# ---- a table for each split


def test_folders_of_splits(tmp_path):
    root = csv_splits.write(tmp_path)
    (root / "train/a_jpg.rf.1c8e.jpg").touch()
    assert detect(root)
    dataset = tl.data.read(root)
    assert dataset.classes == ["cat", "hot dog"]
    assert dataset.ids == [f"{split}/{row.partition(',')[0]}" for split, rows in csv_splits.TABLES.items()
                           for row in rows.split("\r\n")[1:-1]]  # fmt: skip
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0, 1], "val": [2], "test": [3]}
    assert dataset.labels.to_signed().tolist() == [[1, -1], [1, 1], [-1, 1], [-1, -1]]
    assert Path(dataset.paths[0]).is_file()
    (root / "valid/_classes.csv").write_text("filename,cat\nc.jpg,2\n")
    assert refusal(root) == f"FILE/valid/_classes.csv, row 2: value '2' for image 'c.jpg', class 'cat': {USE}" + (
        " (if 'cat' is not a class, pass ignore=['cat'])"
    )


def test_a_file_for_each_split(tmp_path):
    """As CheXpert has them: only train.csv has -1, and its classes may differ from those of valid.csv."""
    (tmp_path / "train.csv").write_text("Path,Edema,Mass\nset/train/1.jpg,1.0,-1.0\nset/train/2.jpg,0.0,\n")
    (tmp_path / "valid.csv.gz").write_bytes(gzip.compress(b"Path,Mass\nset/valid/3.jpg,0.0\n"))
    (tmp_path / "notes.csv").write_text("x,y\n1,2\n")
    (tmp_path / "train").mkdir()
    (tmp_path / "train/1.jpg").touch()
    dataset = tl.data.read(tmp_path, values="uncertain")
    assert dataset.ids == ["set/train/1.jpg", "set/train/2.jpg", "set/valid/3.jpg"]
    assert dataset.labels.to_signed().tolist() == [[1, 0], [-1, 0], [0, -1]]
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"train": [0, 1], "val": [2]}
    assert Path(dataset.paths[0]).is_file() and "some classes are not in val" in dataset.notes[-1]
    assert "has both 0 and -1" in refusal(tmp_path)
    (tmp_path / "valid.csv.gz").unlink()
    assert not detect(tmp_path)  # one table is not enough to know
    (tmp_path / "test.csv").write_text("Path,Mass\nset/train/1.jpg,0.0\n")
    with pytest.raises(TrilabelError, match=r"image 'set/train/1.jpg' is in splits 'train' and 'test'; remove it"):
        read(tmp_path, values="uncertain")


def test_a_comma_at_the_end_of_each_line(tmp_path):
    """As in ChestX-ray14, whose header also has commas inside of names."""
    rows = (
        "Image Index,Finding Labels,Patient ID,OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y],\n"
        "00000001_000.png,Cardiomegaly,1,2682,2749,0.143,0.143,\n"
        "00000001_001.png,Cardiomegaly|Emphysema,1,2894,2729,0.143,0.143,\n"
        "00000002_000.png,No Finding,2,2500,2048,0.171,0.171,\n"
    )
    dataset = read(table(tmp_path, rows), tags="Finding Labels", none_class="No Finding")
    assert dataset.classes == ["Cardiomegaly", "Emphysema", "No Finding"]
    assert dataset.labels.to_signed().tolist() == [[1, 0, 0], [1, 1, 0], [-1, -1, 1]]
    told = refusal(table(tmp_path, rows))
    assert "value 'Cardiomegaly'" in told and "if one of them contains tags, pass tags=NAME" in told
    assert read(table(tmp_path, "image,cat,,\n1.jpg,1,,\n")).classes == ["cat"]
    assert "columns 3, 4 have no name" in refusal(table(tmp_path, "image,cat,,\n1.jpg,1,,\n2.jpg,1,0,\n"))


def test_a_column_of_lists_under_any_name(tmp_path):
    path = tmp_path / "movies.csv"
    path.write_text("Id,Genre\ntt1,\"['Drama', 'War']\"\ntt2,\ntt3,['War']\n")
    assert read(path).classes == ["Drama", "War"] and read(path).labels.known == 3
    path.write_text("Id,a,b\n1,['x'],['y']\n")  # which of the two?
    with pytest.raises(TrilabelError, match="if one of them contains tags, pass tags=NAME"):
        read(path)
