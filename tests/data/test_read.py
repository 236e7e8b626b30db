"""`trilabel.data.read`: finding out the format, and splits from lists, files and shares."""

import numpy as np
import pandas as pd
import pytest

import trilabel as tl
from trilabel.data import FORMATS, Boxes, Dataset, read
from trilabel.errors import TrilabelError


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("image,cat\n" + "".join(f"{i}.jpg,1\n" for i in range(20)))
    return path


def rows(dataset) -> dict[str, list[int]]:
    return {name: index.tolist() for name, index in dataset.splits.items()}


def refusal(*arguments, **options) -> str:
    with pytest.raises(TrilabelError) as caught:
        read(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_public_names():
    assert tl.data.read is read and callable(tl.data.scenes)
    assert set(FORMATS) >= {"csv", "voc", "folder"} and Dataset and Boxes


def test_finds_out_the_format(table, tmp_path):
    assert read(table).classes == ["cat"]
    (tmp_path / "photos/dog").mkdir(parents=True)
    (tmp_path / "photos/dog/1.jpg").touch()
    assert read(str(tmp_path / "photos")).classes == ["dog"]
    main = tmp_path / "kit/VOC2007/ImageSets/Main"
    main.mkdir(parents=True)
    (main.parent.parent / "JPEGImages").mkdir()
    (main / "cow_test.txt").write_text("000001  1\n")
    assert read(tmp_path / "kit").classes == ["cow"]


def test_a_format_may_be_named(table):
    odd = table.rename(table.with_name("labels.dat"))
    known = ", ".join(FORMATS)
    assert refusal(odd) == f"{odd}: not recognized as any of these formats: {known}; if it is one, pass format=NAME"
    assert read(odd, "csv").classes == ["cat"]
    assert refusal(odd, "xls") == f"{odd}: no format called 'xls'; use one of {known}"


def test_a_further_format_is_one_line(monkeypatch, tmp_path):
    class Nothing:
        @staticmethod
        def detect(path):
            return path.suffix == ".nothing"

        @staticmethod
        def read(path, *, images=None, count=1):
            labels = tl.Labels.from_signed(np.ones((count, 1)))
            return Dataset(labels.ids, list(labels.ids), labels)

    monkeypatch.setitem(FORMATS.own, "nothing", Nothing)
    path = tmp_path / "a.nothing"
    path.touch()
    assert len(read(path, count=3)) == 3
    assert refusal(path, size=3) == f"{path}: no option 'size' here; use one of count"


def test_nothing_there(tmp_path):
    assert refusal(tmp_path / "labels.csv") == f"{tmp_path / 'labels.csv'}: no such file or folder"
    assert refusal(tmp_path) == f"{tmp_path}: this folder is empty"
    (tmp_path / "table.xlsx").touch()
    assert refusal(tmp_path / "table.xlsx").endswith("a spreadsheet is not read; save it as CSV (UTF-8)")
    assert refusal(tmp_path).startswith(f"{tmp_path}: not recognized as any of these formats: native, voc, voc-xml, ")


def test_all_rows_are_train_where_nothing_is_said(table):
    assert rows(read(table)) == {"train": list(range(20))}


def test_splits_by_ids(table, tmp_path):
    (tmp_path / "val.txt").write_bytes("\ufeff3.jpg\r\n\r\n 1.jpg \n".encode())
    splits = {"val": tmp_path / "val.txt", "test": ["0.jpg", "19.jpg", "0.jpg"]}
    assert rows(read(table, splits=splits)) == {"train": [2, *range(4, 19)], "val": [1, 3], "test": [0, 19]}
    assert rows(read(table, splits={"train": ["2.jpg"]})) == {"train": [2]}


def test_splits_by_ids_replace_those_of_the_data(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("image,split,cat\na,train,1\nb,val,1\nc,test,1\n")
    assert rows(read(path)) == {"train": [0], "val": [1], "test": [2]}
    assert rows(read(path, splits={"val": ["a"]})) == {"train": [1, 2], "val": [0]}


def test_splits_by_shares(table):
    dataset = read(table, splits={"val": 0.1, "test": 0.4}, seed=3)
    assert {name: len(index) for name, index in dataset.splits.items()} == {"train": 10, "val": 2, "test": 8}
    assert sorted(np.concatenate(list(dataset.splits.values()))) == list(range(20))
    assert rows(dataset) == rows(read(table, splits={"val": 0.1, "test": 0.4}, seed=3))
    assert rows(dataset) != rows(read(table, splits={"val": 0.1, "test": 0.4}, seed=4))


def test_shares_are_drawn_from_what_lists_leave(table):
    splits = rows(read(table, splits={"val": 0.5, "test": ["0.jpg", "1.jpg"]}))
    assert splits["test"] == [0, 1] and len(splits["val"]) == len(splits["train"]) == 9


def test_mistaken_splits(table, tmp_path):
    (tmp_path / "val.txt").write_text("1.jpg\n\nx.jpg\n")
    assert refusal(table, splits={"val": tmp_path / "val.txt"}) == (
        f"{tmp_path / 'val.txt'}, line 3: no image 'x.jpg' in {table}"
    )
    assert refusal(table, splits={"val": ["x.jpg"]}) == f"list of ids, position 1: no image 'x.jpg' in {table}"
    assert refusal(table, splits={"val": "nowhere.txt"}) == "nowhere.txt: cannot be read (No such file or directory)"
    assert refusal(table, splits={"val": ["1.jpg"], "test": ["1.jpg"]}) == (
        f"{table}: image '1.jpg' is in splits 'val' and 'test'; choose one"
    )
    for shares in (
        {"val": 0.0},
        {"val": 1.0},
        {"val": 0.6, "test": 0.4},
        {"a": 0.7, "b": 0.2, "c": 0.1},
        {"val": float("inf")},
        {"val": float("nan")},
    ):
        assert "shares must be positive, below 1 in all" in refusal(table, splits=shares)
    assert refusal(table, splits={"val": 12, "test": 8}) == (
        f"{table}: 8 images for split 'test': train has 8, and must keep some"
    )
    assert "0 images for split 'val'" in refusal(table, splits={"val": 0})
    assert "has a split 'train' already" in refusal(table, splits={"train": 0.5})


def test_options_are_passed_on(table):
    assert refusal(table, difficult="absent") == (
        f"{table}: no option 'difficult' here; use one of layout, values, conflict, ignore, delimiter, separator, "
        "image, tags, unlisted, class_columns, positive_values, negative_values, unknown_values, none_class"
    )
    assert read(table, images=table.parent, values="signed").notes[0].startswith("empty cells and 0 are unknown")


@pytest.mark.parametrize("numbers", [{"val": 1}, {"val": 2, "test": 17}, {"a": 7, "b": 7, "c": np.int64(5)}])
def test_splits_by_numbers_are_exact(table, numbers):
    sizes = {name: len(index) for name, index in read(table, splits=numbers).splits.items()}
    assert sizes == {"train": 20 - sum(numbers.values()), **numbers}


def test_images_without_file_are_left_out_after_lists_are_read(table, tmp_path):
    for number in range(5):
        (tmp_path / f"{number}.jpg").touch()
    dataset = read(table, splits={"val": ["0.jpg", "19.jpg"], "test": 2}, missing="drop")
    assert rows(dataset)["val"] == [0] and len(dataset) == 5
    assert {name: len(index) for name, index in dataset.splits.items()} == {"train": 2, "val": 1, "test": 2}
    assert refusal(table, missing="maybe") == f"{table}: missing='maybe': use one of 'keep', 'drop'"
    assert "none of its 20 images has a file" in refusal(table, images=tmp_path.parent, missing="drop")


def test_a_data_set_says_in_a_line_what_it_is():
    found = tl.data.scenes(train=3, val=1, test=2)
    assert repr(found) == "Dataset(Labels(6 images × 14 classes, 100.00% known), train 3, val 1, test 2)"


def test_a_data_frame_is_no_path(tmp_path):
    for given in (tl.data.read, tl.train):
        with pytest.raises(
            TrilabelError, match=r"data: a DataFrame; give the path of a file .* tl\.Labels\.from_frame"
        ):
            given(pd.DataFrame({"image": ["a.jpg"], "cat": [1]}))
        with pytest.raises(TrilabelError, match="data: int; give the path of a file or folder"):
            given(3)
