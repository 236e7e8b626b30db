"""Hugging Face image folders: columns of 0 and 1, lists of labels, objects with boxes, and writing them."""

import json
import pkgutil
import shutil
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.data.formats import layouts
from tests.data.formats.layouts import huggingface as layout
from tests.data.formats.layouts import huggingface_wide
from tests.support.seen import known, refusal_of, rows
from trilabel.data import read as read_any
from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.formats import format_of
from trilabel.data.formats.huggingface import detect, read, write
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

refusal = refusal_of(read)

LISTED = "listed labels are present, others unknown; images without a list are unknown"


@pytest.fixture
def detection(tmp_path) -> Path:
    return layout.write(tmp_path)


@pytest.fixture
def wide(tmp_path) -> Path:
    return huggingface_wide.write(tmp_path)


def jsonl(folder: Path, *rows) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    (folder / "metadata.jsonl").write_text(text, encoding="utf-8")
    return folder


def table(folder: Path, text: str) -> Path:
    (folder / "metadata.csv").write_text(text, encoding="utf-8", newline="")
    return folder


# ---- what is read


def test_objects_in_a_folder_a_split(detection):
    assert detect(detection)
    dataset = read(detection)
    assert dataset.classes == ["0", "2", "10"]
    assert known(dataset) == {
        "test/0009.png": [0, 0, 1],
        "train/0001.png": [0, 1, 0],
        "train/0002.png": [0, 0, 0],
        "train/sub/0003.png": [0, 0, 0],
        "validation/0001.png": [1, 0, 1],
    }
    assert rows(dataset) == {"test": [0], "train": [1, 2, 3], "val": [4]}
    assert dataset.paths[3] == str(detection / "train/sub/0003.png")
    assert dataset.boxes.image.tolist() == [0, 1, 4, 4, 4] and dataset.boxes.cls.tolist() == [2, 1, 0, 2, 0]
    expected = [[0.01, 0.01, 0.03, 0.03], [0.1, 0.1, 0.3, 0.5], [0, 0, 0.505, 1], [0.9, 0, 1, 0.1], [0, 0, 0.01, 0.01]]
    np.testing.assert_allclose(dataset.boxes.xyxy, expected, rtol=1e-6)
    assert dataset.notes == (
        LISTED,
        "1 images have no objects: their labels are unknown",
        "classes are numbers: the metadata has no names for them",
    )


def test_unlisted(detection):
    dataset = read(detection, unlisted="absent")
    assert dataset.labels.to_signed().tolist() == [[-1, -1, 1], [-1, 1, -1], [-1, -1, -1], [0, 0, 0], [1, -1, 1]]
    assert dataset.notes[0] == "listed labels are present, others absent; images without a list are unknown"
    assert refusal(detection, unlisted="maybe") == "ROOT: unlisted='maybe': use one of 'unknown', 'absent'"


@pytest.mark.parametrize("inside", ["", "metadata.csv"])
def test_a_column_a_class(wide, inside):
    assert detect(wide / inside)
    dataset = read(wide / inside)
    assert dataset.classes == ["cat", "hot dog", "año"]
    assert known(dataset) == {
        "train/1.jpg": [1, -1, 0],
        "train/2.jpg": [0, 1, -1],
        "valid/3.jpg": [-1, 0, 1],
        "test/4.jpg": [-1, 1, 0],
    }
    assert rows(dataset) == {"train": [0, 1], "val": [2], "test": [3]}
    assert dataset.notes == ("empty cells are unknown; 0 is absent", "columns left out: caption")
    assert dataset.paths[0] == str(wide / "train/1.jpg") and dataset.boxes is None


def test_a_column_a_class_in_json(tmp_path):
    jsonl(
        tmp_path,
        {"image": "1.jpg", "a": 1, "b": True, "c": None, "id": 0, "split": "dev", "x": [1]},
        {"image": "2.jpg", "a": 0.0, "b": False, "d": "1", "id": 1, "split": None, "x": 0},
        {"image": "./3.jpg", "a": float("nan"), "b": "", "id": 1, "width": 1, "split": "train"},
    )
    dataset = read(tmp_path)
    assert dataset.classes == ["a", "b", "c", "d"]
    assert known(dataset) == {"1.jpg": [1, 1, 0, 0], "2.jpg": [-1, -1, 0, 1], "3.jpg": [0, 0, 0, 0]}
    assert dataset.notes[1] == "columns left out: id, x, width"
    assert rows(dataset) == {"dev": [0], "train": [2]}


@pytest.mark.parametrize("column", ["labels", "tags", "genres"])
def test_lists_of_labels(tmp_path, column):
    options = {"column": column} if column == "genres" else {}
    jsonl(
        tmp_path,
        {"file_name": "1.jpg", column: ["dog", "cat", "dog"], "seen": 1},
        {"file_name": "2.jpg", column: []},
        {"file_name": "3.jpg", column: None},
        {"file_name": "4.jpg", column: "cat; hot dog|"},
        {"file_name": "5.jpg", column: "['dog', 'a, b']"},
        {"file_name": "6.jpg", column: 7},
        {"file_name": "7.jpg"},
    )
    dataset = read(tmp_path, **options)
    assert dataset.classes == ["7", "a, b", "cat", "dog", "hot dog"]
    present = {name: [dataset.classes[i] for i in np.flatnonzero(row)] for name, row in known(dataset).items()}
    assert present == {
        "1.jpg": ["cat", "dog"],
        "2.jpg": [],
        "3.jpg": [],
        "4.jpg": ["cat", "hot dog"],
        "5.jpg": ["a, b", "dog"],
        "6.jpg": ["7"],
        "7.jpg": [],
    }
    assert dataset.notes[1:] == (
        "tags in a cell are separated by ';'",
        f"2 images have no {column}: their labels are unknown",
        "columns left out: seen",
    )
    absent = read(tmp_path, unlisted="absent", **options).labels.to_signed()
    assert (absent != 0).all(1).tolist() == [True, True, False, True, True, True, False]


def test_labels_separated_by_blanks(tmp_path):
    cells = [
        "haze primary",
        "clear primary",
        "clear",
        "haze",
        "primary",
        "clear primary road",
        "haze road",
        "road clear",
    ]
    (tmp_path / "metadata.csv").write_text("file_name,tags\n" + "".join(f"{i}.jpg,{c}\n" for i, c in enumerate(cells)))
    dataset = read(tmp_path)
    assert dataset.classes == ["clear", "haze", "primary", "road"] and dataset.labels.known == 14
    assert dataset.notes[1] == "tags in a cell are separated by blanks: 8 different cells have 4 different tags"
    assert len(read(tmp_path, separator="").classes) == 8
    (tmp_path / "metadata.csv").write_text(
        "file_name,tags\n1.jpg,red car\n2.jpg,red bus\n3.jpg,blue car\n4.jpg,blue bus"
    )
    assert refusal(tmp_path).endswith("pass separator='' for one, separator=' ' for several")


def test_a_label_in_the_singular_is_one_label(tmp_path):
    dataset = read(table(tmp_path, 'photo_file_name,label\n1.jpg,"salt, pepper"\n2.jpg,1\n3.jpg,\n'))
    assert dataset.classes == ["1", "salt, pepper"] and known(dataset)["1.jpg"] == [0, 1]


def test_objects_as_a_list_and_without_sizes(tmp_path):
    jsonl(
        tmp_path,
        {"file_name": "1.jpg", "objects": [{"bbox": [0, 0, 1, 1], "category": "cat"}, {"category": "dog", "id": 3}]},
        {"file_name": "2.jpg", "objects": []},
        {"file_name": "3.jpg", "width": 10, "height": 10, "objects": [{"label": "cat"}]},
    )
    dataset = read(tmp_path)
    assert known(dataset) == {"1.jpg": [1, 1], "2.jpg": [0, 0], "3.jpg": [1, 0]} and len(dataset.boxes.cls) == 0
    assert dataset.notes[1:] == ("3 objects have no box or image size: no boxes are read for them",)


PACKED = {"bbox": [[0, 0, 5, 10], [5, 0, 5, 5]], "categories": ["cat", "dog"]}


@pytest.mark.parametrize(
    "spell", [json.dumps, repr, lambda value: repr(value).replace("[0, 0, 5, 10]", "(0, 0, 5, 10)")]
)
@pytest.mark.parametrize("as_list", [False, True])
def test_objects_as_texts(tmp_path, spell, as_list):
    cell = [{"bbox": b, "category": c} for b, c in zip(*PACKED.values(), strict=True)] if as_list else PACKED
    rows = [
        ("1.jpg", "[]" if as_list else spell({"bbox": [], "categories": []})),
        ("2.jpg", ""),
        ("3.jpg", spell(cell)),
    ]
    frame = pd.DataFrame([(*row, 10, 20) for row in rows], columns=["file_name", "objects", "width", "height"])
    frame.to_csv(tmp_path / "metadata.csv", index=False)
    dataset = read(tmp_path, unlisted="absent")
    assert known(dataset) == {"1.jpg": [-1, -1], "2.jpg": [0, 0], "3.jpg": [1, 1]} and dataset.classes == ["cat", "dog"]
    assert dataset.boxes.image.tolist() == [2, 2]
    np.testing.assert_allclose(dataset.boxes.xyxy, [[0, 0, 0.5, 0.5], [0.5, 0, 1, 0.25]])


def test_objects_as_texts_that_are_damaged(tmp_path):
    table(tmp_path, """file_name,objects\n1.jpg,"{'categories': ['cat']}"\n2.jpg,"{'categories': ['cat'"\n""")
    message = (
        """ROOT/metadata.csv, line 3: objects is "{'categories': ['cat'", not a list or object; write for example"""
    )
    assert refusal(tmp_path).startswith(message)
    table(tmp_path, """file_name,objects\n1.jpg,"{'categories': ['cat']}"\n2.jpg,"{'categories': [{(1, 2): 3}]}"\n""")
    message = 'ROOT/metadata.csv, line 3: objects contains {"(1, 2)": 3}, not the name or number of a label'
    assert refusal(tmp_path) == message
    table(tmp_path, """file_name,objects\n1.jpg,"{'categories': ['cat']}"\n2.jpg,cat\n""")
    message = 'ROOT/metadata.csv, line 3: objects is "cat", not an object with lists bbox and categories'
    assert refusal(tmp_path) == message


def test_a_chosen_column_of_0_and_1_is_one_class(tmp_path):
    table(tmp_path, "file_name,cat,dog,kind,score,none\n1.jpg,1,0,1,-1,\n2.jpg,0,1,5,1,\n3.jpg,,1,,0,\n")
    dataset = read(tmp_path, column="cat")
    assert dataset.classes == ["cat"] and known(dataset) == {"1.jpg": [1], "2.jpg": [-1], "3.jpg": [0]}
    assert dataset.notes == ("empty cells are unknown; 0 is absent", "columns left out: dog, kind, score, none")
    assert read(tmp_path, column="kind").classes == ["1", "5"]
    assert read(tmp_path, column="none").classes == []
    message = 'ROOT/metadata.csv, line 2: score is "-1"; use 1 present, 0 absent, empty unknown'
    assert refusal(tmp_path, column="score") == message
    table(tmp_path, "file_name,label\n1.jpg,1\n2.jpg,0\n")  # a column of that name holds numbers of classes
    assert read(tmp_path, column="label").classes == read(tmp_path).classes == ["0", "1"]


def test_folders_below_data_and_images_elsewhere(tmp_path):
    jsonl(tmp_path / "data/train", {"file_name": "1.jpg", "tags": ["a"]})
    jsonl(tmp_path / "data/evaluation", {"file_name": "1.jpg", "a": 1})
    dataset = read(tmp_path, images=tmp_path / "data")
    assert dataset.ids == ["data/evaluation/1.jpg", "data/train/1.jpg"] and rows(dataset) == {"test": [0], "train": [1]}
    assert dataset.paths[0] == str(tmp_path / "data/data/evaluation/1.jpg")
    assert refusal(tmp_path, images="nowhere") == "nowhere: no such folder of images"


def test_parquet(tmp_path, monkeypatch):
    (tmp_path / "metadata.parquet").write_bytes(b"PAR1")
    assert detect(tmp_path)

    def missing(_):
        raise ImportError("Unable to find a usable engine")

    def damaged(_):
        raise OSError("Couldn't deserialize thrift\nNo more data")

    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)  # as where it is not installed
    monkeypatch.setattr(pd, "read_parquet", missing)
    expected = "ROOT/metadata.parquet: needs pyarrow to be read; install it, or save as metadata.csv or .jsonl"
    assert refusal(tmp_path) == expected
    small = SimpleNamespace(num_rows=2, num_columns=2, num_row_groups=0)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", SimpleNamespace(read_metadata=lambda _: small))
    monkeypatch.setattr(pd, "read_parquet", damaged)
    assert refusal(tmp_path) == (
        "ROOT/metadata.parquet: cannot be read as a Parquet table (Couldn't deserialize thrift)"
    )
    frame = pd.DataFrame({"file_name": ["1.jpg", "2.jpg"], "tags": [np.array(["a", "b"], object), None]})
    monkeypatch.setattr(pd, "read_parquet", lambda _: frame)
    assert known(read(tmp_path)) == {"1.jpg": [1, 1], "2.jpg": [0, 0]}
    small.num_rows = 10**10
    assert "ROOT/metadata.parquet: 160,000,000,000 bytes in memory, more than the" in refusal(tmp_path)


@pytest.mark.interop
def test_a_parquet_file_of_few_bytes_and_many_rows(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"file_name": ["1.jpg"] * 100_000, "cat": 1}).to_parquet(tmp_path / "metadata.parquet")
    monkeypatch.setenv("TRILABEL_MAX_TEXT_BYTES", "1000000")
    assert "1,600,000 bytes in memory, more than the 1,000,000 allowed" in refusal(tmp_path)


# ---- mistakes

ONE = {"file_name": "1.jpg", "tags": ["a"]}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([ONE, "{"], "line 2: damaged JSON (Expecting property name enclosed in double quotes)"),
        ([ONE, "", "[" * 100_000], "line 3: damaged JSON (maximum recursion depth exceeded"),
        ([ONE, "[1]"], 'line 2: not a JSON object; write one per line, like {"file_name": …}'),
        ([ONE, ONE], "line 2: image '1.jpg' is listed twice, first in line 1; remove one"),
        ([{"tags": ["a"]}], "line 1: no column file_name; add one with the path of each image"),
        ([ONE, {"tags": ["a"]}], "line 2: file_name is null, not the path of an image"),
        ([{**ONE, "file_name": 3}], "line 1: file_name is 3, not the path of an image"),
        ([{**ONE, "file_name": "a\0"}], 'line 1: file_name "a\\u0000" has a zero byte; correct the path'),
        ([{**ONE, "split": 3}], "line 1: split is 3, not a text such as train"),
        ([{**ONE, "trilabel_id": 3}], "line 1: trilabel_id is 3, not a text"),
        ([{**ONE, "tags": [None]}], "line 1: tags contains null, not the name or number of a label"),
        ([{**ONE, "tags": [1.5]}], "line 1: tags contains 1.5, not the name or number of a label"),
        ([{**ONE, "tags": "['a'"}], 'line 1: tags is "[\'a\'", not a list or object; write for example ["cat", "dog"]'),
        (
            [{**ONE, "tags": "{cat,dog}"}],
            'line 1: tags is "{cat,dog}", not a list or object; write for example ["cat", "dog"]',
        ),
        (
            [{"a_file_name": "1", "b_file_name": "2"}],
            "line 1: columns a_file_name, b_file_name all name files; call the",
        ),
        ([{"file_name": "1.jpg", "cat": 1}, {"file_name": "2.jpg", "cat": -1}], "line 2: cat is -1; use 1 present, 0"),
    ],
)
def test_damaged_lines(tmp_path, lines, message):
    assert refusal(jsonl(tmp_path, *lines)).startswith(f"ROOT/metadata.jsonl, {message}")


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ({"bbox": []}, "objects has no categories, category, category_id, labels or label; add one of these"),
        ({"categories": 3}, 'objects is {"categories": 3}, not an object with lists bbox and categories'),
        ({"categories": [[1]]}, "objects contains [1], not the name or number of a label"),
        ({"categories": [1], "bbox": []}, "objects has 1 labels, but bbox is []"),
        ({"categories": [1], "bbox": 3}, "objects has 1 labels, but bbox is 3"),
        (
            {"categories": [1], "bbox": [[1, 2, 3]]},
            "objects has the bbox [1, 2, 3], not [x, y, width, height] in pixels",
        ),
        (
            {"categories": [1], "bbox": [[1, 2, 3, "4"]]},
            'objects has the bbox [1, 2, 3, "4"], not [x, y, width, height]',
        ),
        ({"categories": [1], "bbox": [[1, 2, 3, float("inf")]]}, "objects has the bbox [1, 2, 3, Infinity], not"),
    ],
)
def test_damaged_objects(tmp_path, objects, message):
    good = {"file_name": "1.jpg", "width": 9, "height": 9, "objects": {"categories": [1], "bbox": [[0, 0, 1, 1]]}}
    jsonl(tmp_path, good, {**good, "file_name": "2.jpg", "objects": objects})
    assert refusal(tmp_path).startswith(f"ROOT/metadata.jsonl, line 2: {message}")


def test_damaged_sizes(tmp_path):
    row = {"file_name": "1.jpg", "height": 9, "objects": {"categories": [1], "bbox": [[0, 0, 1, 1]]}}
    for size in (-1, "wide", [1], 10**400, "nan"):
        jsonl(tmp_path, {**row, "width": size})
        assert "line 1: width is " in refusal(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": no rows; write one for each image"),
        ("file_name,cat\n", ": no rows; write one for each image"),
        ("file_name,cat\n1.jpg\n", ", line 2: 1 cells, but the header has 2"),
        ("file_name,cat,cat\n1.jpg,1,1\n", ", line 1: two columns are called 'cat'; rename or remove one"),
        ("file_name,cat\n,1\n", ", line 2: file_name is null, not the path of an image"),
        ("name,cat\n1.jpg,1\n", ", line 2: no column file_name; add one with the path of each image"),
        ('file_name,cat\n1.jpg,"1\n', ", row 2: cannot be read as a table (unexpected end of data)"),
    ],
)
def test_damaged_tables(tmp_path, text, message):
    assert refusal(table(tmp_path, text)) == f"ROOT/metadata.csv{message}"


def test_other_mistakes(tmp_path):
    assert refusal(tmp_path) == "ROOT: no metadata.csv or metadata.jsonl in this folder or its sub-folders"
    table(tmp_path, "file_name,text\n1.jpg,hello\n")
    assert refusal(tmp_path) == (
        "ROOT: no column of 0 and 1 and none called labels, label, tags or objects, only file_name, text; "
        "pass column=NAME, the one that contains labels"
    )
    assert refusal(tmp_path, column="tag") == "ROOT: no column 'tag' here, only file_name, text"
    jsonl(tmp_path, ONE)
    assert refusal(tmp_path) == "ROOT/metadata.jsonl: metadata.csv is also in this folder; remove one of them"
    jsonl(tmp_path, '{"file_name": "1.jpg", "tags": ["\\ud800"]}')
    (tmp_path / "metadata.csv").unlink()
    assert refusal(tmp_path).startswith("ROOT: the name '\\ud800' at position 0 contains bytes that are not text")
    jsonl(tmp_path / "a", ONE)
    shutil.move(tmp_path / "metadata.jsonl", tmp_path / "old.jsonl")
    (tmp_path / "a/metadata.jsonl").write_bytes(b'{"file_name": "\xff"}')
    assert refusal(tmp_path) == "ROOT/a/metadata.jsonl, line 1: not UTF-8 text; save it as UTF-8"


def test_what_is_not_detected(tmp_path):
    (tmp_path / "metadata.csv").mkdir()
    (tmp_path / "labels.csv").write_text("file_name,cat\n")
    for path in (tmp_path, *tmp_path.iterdir(), tmp_path / "nowhere", Path("x" * 5000)):
        assert not detect(path)
    assert not detect(jsonl(tmp_path / "x", {"images": 3})) and not detect(jsonl(tmp_path / "y"))


@pytest.mark.parametrize(
    ("header", "ours"),
    [
        ("file_name,cat", True),
        ("\ufeffcat,file_name\r", True),
        ('"file_name","cat"', True),
        ("cat,left_file_name,x", True),
        ("image,label,value", False),
        ("image,path,cat", False),
        ("image,file_names", False),
        ("file_name_old,image", False),
        ("profile_name,image", False),
    ],
)
def test_a_table_is_ours_by_its_column_file_name(tmp_path, header, ours):
    cells = ",".join(["1"] * (header.count(",") + 1))
    table(tmp_path, f"{header}\n{cells}\n")
    assert detect(tmp_path) == detect(tmp_path / "metadata.csv") == ours
    assert format_of(tmp_path / "metadata.csv", None) == ("huggingface" if ours else "csv")
    keys = header.strip("\ufeff\r").replace('"', "").split(",")
    assert detect(jsonl(tmp_path / "json", dict.fromkeys(keys, "1.jpg"))) == ours


def test_a_column_image_will_do_where_the_format_is_given(tmp_path):
    table(tmp_path, "image,cat\n1.jpg,1\n")
    assert known(read_any(tmp_path, "huggingface")) == {"1.jpg": [1]}


def test_does_not_claim_other_layouts(tmp_path):
    for found in pkgutil.iter_modules(layouts.__path__):
        if not found.name.startswith("huggingface"):
            (tmp_path / found.name).mkdir()
            assert not detect(import_module(f"{layouts.__name__}.{found.name}").write(tmp_path / found.name))


# ---- writing

NAME = st.text("ab é,\"'\n;", min_size=1, max_size=4).filter(lambda name: name.strip() not in ("", ".", ".."))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_what_is_written_is_read_back(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("written")
    classes = data.draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
    names = data.draw(st.lists(NAME, min_size=1, max_size=5, unique=True))
    signed = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=len(names) * len(classes)).map(np.array))
    signed = np.resize(signed, (len(names), len(classes)))
    of = np.array(data.draw(st.lists(st.sampled_from(["", "train", "val"]), min_size=len(names), max_size=len(names))))
    splits = {str(name): np.flatnonzero(of == name) for name in dict.fromkeys(of.tolist()) if name}
    inside = data.draw(st.sampled_from(["", "train/", "../x/"]))
    paths = [str(root / "out" / f"{inside}{number}.jpg") for number in range(len(names))]
    dataset = Dataset(names, paths, Labels.from_signed(signed, classes, names), splits)
    assert all("outside this folder" in note for note in write(dataset, root / "out"))
    again = read(root / "out")
    assert again.labels == dataset.labels and rows(again) == rows(dataset)
    assert [Path(path).resolve() for path in again.paths] == [Path(path).resolve() for path in paths]


def test_writes_what_others_read(wide, tmp_path):
    out = tmp_path / "out"
    assert write(read(wide), out) == [
        "4 images are outside this folder: Hugging Face's loader needs them in it; move them"
    ]
    assert (out / "metadata.csv").read_text() == (
        "file_name,trilabel_id,split,cat,hot dog,año\n"
        "../wide/train/1.jpg,train/1.jpg,train,1.0,0.0,\n"
        "../wide/train/2.jpg,train/2.jpg,train,,1.0,0.0\n"
        "../wide/valid/3.jpg,valid/3.jpg,val,0.0,,1.0\n"
        "../wide/test/4.jpg,test/4.jpg,test,0.0,1.0,\n"
    )


def test_each_split_folder_has_its_own_metadata(wide):
    before = read(wide)
    assert write(before, wide) == [f"{wide / 'metadata.csv'} is removed: the files in the folders of splits replace it"]
    assert {file.relative_to(wide).as_posix() for file in wide.rglob("metadata.csv")} == {
        "train/metadata.csv", "valid/metadata.csv", "test/metadata.csv",
    }  # fmt: skip
    text = (wide / "train/metadata.csv").read_text()
    assert text == "file_name,cat,hot dog,año\n1.jpg,1.0,0.0,\n2.jpg,,1.0,0.0\n"
    again = read(wide)
    assert known(again) == known(before) and {name: len(of) for name, of in again.splits.items()} == {
        name: len(of) for name, of in before.splits.items()
    }


def split_folders(root: Path) -> Dataset:
    """Images in folders of splits; class a is known everywhere, b has holes in val alone, c in train alone."""
    names = ["images/train/1.png", "images/val/1.png", "images/train/2.png", "images/val/2.png"]
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 6)).save(root / name)
    labels = Labels.from_signed([[1, 1, 0], [-1, 0, 1], [1, -1, -1], [-1, 1, -1]], ["a", "b", "c"], names)
    splits = {"train": np.array([0, 2]), "val": np.array([1, 3])}
    return Dataset(names, [str(root / name) for name in names], labels, splits)


def test_types_agree_between_split_folders(tmp_path):
    """By the rule of `datasets`: the types that pandas guesses for each metadata file must be equal."""
    assert write(split_folders(tmp_path), tmp_path) == []
    tables = [pd.read_csv(tmp_path / f"images/{split}/metadata.csv") for split in ("train", "val")]
    assert tables[0].dtypes.to_dict() == tables[1].dtypes.to_dict()
    assert tables[1]["file_name"].tolist() == ["1.png", "2.png"] and tables[1]["b"].isna().tolist() == [True, False]
    assert known(read(tmp_path)) == known(split_folders(tmp_path))
    assert rows(read(tmp_path)) == {"train": [0, 1], "val": [2, 3]}


@pytest.mark.interop
def test_the_loader_of_hugging_face_finds_the_labels(tmp_path):
    datasets = pytest.importorskip("datasets")
    write(split_folders(tmp_path / "data"), tmp_path / "data")
    found = datasets.load_dataset("imagefolder", data_dir=str(tmp_path / "data"), cache_dir=str(tmp_path / "cache"))
    assert {name: len(split) for name, split in found.items()} == {"train": 2, "validation": 2}
    assert found["train"]["a"] == [1, 1] and found["validation"]["b"] == [None, 1.0]
    assert found["validation"]["c"] == [1.0, 0.0]


def test_images_inside_and_outside_folders_of_splits(tmp_path):
    labels = Labels.from_signed([[1], [1]], ["cat"], ["train/a.jpg", "b.jpg"])
    notes = write(Dataset(labels.ids, [str(tmp_path / name) for name in labels.ids], labels), tmp_path)
    assert notes[0].startswith("1 images are in folders of splits and others are not: Hugging Face's loader shows no")
    assert (tmp_path / "metadata.csv").is_file() and read(tmp_path).labels == labels


def test_a_folder_called_train_is_no_split_where_there_are_none(tmp_path):
    labels = Labels.from_signed([[1]], ["cat"], ["train/1.jpg"])
    write(Dataset(labels.ids, [str(tmp_path / "train/1.jpg")], labels), tmp_path)
    again = read(tmp_path)
    assert again.labels == labels and again.splits == {}


def test_what_cannot_be_written(tmp_path):
    def made(classes=("cat",), ids=("1.jpg",), **more):
        return Dataset(
            list(ids), list(ids), Labels.from_signed(np.ones((len(ids), len(classes)), int), classes, ids), **more
        )

    boxes = Boxes(np.array([0]), np.array([0]), np.zeros((1, 4), np.float32))
    assert write(made(boxes=boxes), tmp_path)[0] == "1 boxes are not written"
    empty = {"train": np.array([0]), "val": np.array([], np.int64), "test": np.array([], np.int64)}
    assert write(made(splits=empty), tmp_path)[0] == "2 splits without images are left out"
    assert rows(read(tmp_path)) == {"train": [0]}
    for bad in (made(["split"]), made(["x_file_name"]), made(["a\rb"]), made([""]), made(ids=["a\0"])):
        with pytest.raises(TrilabelError, match=r"metadata.csv: cannot contain a (class|image) called .*; rename it"):
            write(bad, tmp_path / "not")
    both = {"train": np.array([0]), "val": np.array([0])}
    with pytest.raises(TrilabelError, match=r"image '1.jpg' is in splits 'train' and 'val'; a table allows one"):
        write(made(splits=both), tmp_path / "not")
    with pytest.raises(TrilabelError, match="nothing to write in 1 images × 0 classes"):
        write(made([]), tmp_path / "not")
    assert not (tmp_path / "not").exists()


def test_writes_images_in_memory(tmp_path, small_scenes):
    assert write(small_scenes, tmp_path)[-1] == "the images are in memory: file_name contains their ids and no files"
    assert read(tmp_path).labels == small_scenes.labels


def test_a_hundred_thousand_images(tmp_path):
    rows = "".join(f"train/{number:06}.jpg,1,0,,1,0,,1,0,,1\n" for number in range(100_000))
    table(tmp_path, "file_name,a,b,c,d,e,f,g,h,i,j\n" + rows)
    assert read(tmp_path).labels.known == 700_000


def test_images_outside_the_folder_are_pointed_out(tmp_path):
    labels = Labels.from_signed([[1], [1]], ["cat"], ["a.jpg", "b.jpg"])
    notes = write(Dataset(labels.ids, [str(tmp_path / "a.jpg"), str(tmp_path / "hf/b.jpg")], labels), tmp_path / "hf")
    assert notes == ["1 images are outside this folder: Hugging Face's loader needs them in it; move them"]
