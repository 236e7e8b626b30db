"""COCO: a small copy of the published layout, exports of other tools, damaged files, and what is written back."""

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.data.formats import layouts
from tests.data.formats.layouts import coco as layout
from tests.data.formats.layouts import coco_lvis
from tests.support.seen import refusal_of
from tests.support.seen import rows as splits_of
from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.formats.coco import RULE, detect, read, write
from trilabel.data.formats.coco.captions import words_of
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

refusal = refusal_of(read)


@pytest.fixture
def home(tmp_path) -> Path:
    return layout.write(tmp_path)


def small(**changes) -> dict:
    """A document of two images and two categories, one of each a record a line."""
    return {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 50}, {"id": 2, "file_name": "b.jpg"}],
        "annotations": [{"image_id": 1, "category_id": 7, "bbox": [10, 5, 20, 10]}, {"image_id": 2, "category_id": 3}],
        "categories": [{"id": 7, "name": "cat"}, {"id": 3, "name": "dog"}],
        **changes,
    }


def save(path: Path, document) -> Path:
    """One record a line, so that messages name lines that differ."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lists = (f'"{key}": [\n' + ",\n".join(map(json.dumps, value)) + "\n]" for key, value in document.items())
    path.write_text("{\n" + ",\n".join(lists) + "\n}")
    return path


# ---- as published


@pytest.mark.parametrize("inside", ["", "annotations"])
def test_reads_labels_splits_paths_and_boxes(home, inside):
    assert detect(home / inside)
    dataset = read(home / inside)
    assert dataset.ids == [
        "COCO_train2014_000000057870.jpg",
        "COCO_train2014_000000384029.jpg",
        "COCO_train2014_000000222016.jpg",
        "COCO_val2014_000000391895.jpg",
        "COCO_val2014_000000522418.jpg",
    ]
    assert dataset.classes == ["person", "stop sign", "dog", "toothbrush"]  # in the order of ids, not of the file
    assert dataset.labels.to_signed().tolist() == [
        [1, -1, 1, -1],
        [-1, -1, 1, -1],
        [0, 0, 0, 0],
        [-1, 1, -1, 1],
        [0, 0, 0, 0],
    ]
    assert splits_of(dataset) == {"train": [0, 1, 2], "val": [3, 4]}
    assert dataset.paths[4] == str(home / "val2014/COCO_val2014_000000522418.jpg")
    assert dataset.notes == (
        "annotated categories are present, others absent",
        "2 images without annotations are unknown",
    )
    assert dataset.boxes.image.tolist() == [1, 0, 0, 0, 3, 3] and dataset.boxes.cls.tolist() == [2, 0, 2, 2, 1, 3]
    expected = [
        [0.1, 0.1, 0.6, 0.6],
        [0, 0, 1, 1],
        [0.5, 0.25, 0.6, 168.5 / 480],
        [0, 0, 0.01, 0.01],
        [0.25, 0.25, 1, 1],
        [0.1, 0.1, 0.3, 0.3],
    ]
    np.testing.assert_allclose(dataset.boxes.xyxy, expected, rtol=1e-6)


def test_one_file(home):
    file = home / "annotations/instances_val2014.json"
    assert detect(file)
    dataset = read(file)
    assert splits_of(dataset) == {"val": [0, 1]} and len(dataset) == 2
    assert dataset.paths[0] == str(home / "val2014/COCO_val2014_000000391895.jpg")


def test_images_without_annotations(home):
    dataset = read(home, empty="absent")
    assert dataset.labels.to_signed()[[2, 4]].tolist() == [[-1] * 4] * 2
    assert dataset.notes[1] == "2 images without annotations are absent"


def test_unlisted_categories(home):
    dataset = read(home, unlisted="unknown")
    assert dataset.labels.to_signed()[[0, 1, 3]].tolist() == [[1, 0, 1, 0], [0, 0, 1, 0], [0, 1, 0, 1]]
    assert dataset.notes[0] == "annotated categories are present, others unknown"
    assert read(home, unlisted="absent").labels == read(home).labels


def test_years(home):
    for split in ("train", "val"):
        file = home / f"annotations/instances_{split}2014.json"
        file.with_name(f"instances_{split}2017.json").write_bytes(file.read_bytes())
    assert refusal(home) == "ROOT: contains instances of 2014, 2017; choose one with year"
    assert len(read(home, year=2017)) == 5
    assert refusal(home, year=2015) == (
        "ROOT: no instances of 2015 here, only instances_train2014.json, instances_train2017.json, "
        "instances_val2014.json, instances_val2017.json"
    )
    assert refusal(home / "annotations/instances_val2014.json", home, year=2017) == (
        "ROOT/annotations/instances_val2014.json: no instances of 2017 here, only instances_val2014.json"
    )


def test_where_the_images_are(home, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (home / "train2014").rename(elsewhere)
    paths = read(home, images=elsewhere).paths
    assert paths[0] == str(elsewhere / "COCO_train2014_000000057870.jpg")
    elsewhere.rename(tmp_path / "train2014")
    elsewhere.mkdir()
    (tmp_path / "train2014").rename(elsewhere / "train2014")
    (elsewhere / "train2014/COCO_train2014_000000057870.jpg").unlink()  # of a partial download the first is missing
    assert read(home, images=elsewhere).paths[1] == str(elsewhere / "train2014/COCO_train2014_000000384029.jpg")
    assert refusal(home, images=home / "nowhere") == "ROOT/nowhere: no such folder of images"
    assert len(read(home)) == 5  # without any image there


# ---- captions


def test_captions(home):
    dataset = read(home, labels="captions", words=6)
    # a 5, dog 3, on 2, street 2, then 66 at café man's runs sign sits stop the, each once: by the alphabet
    assert dataset.classes == ["a", "dog", "on", "street", "66", "at"]
    assert dataset.labels.to_signed().tolist() == [
        [1, 1, 1, 1, -1, -1],
        [1, 1, -1, -1, -1, 1],
        [1, -1, 1, 1, 1, -1],
        [-1, -1, 1, 1, -1, -1],
        [1, -1, -1, -1, -1, -1],
    ]
    assert dataset.notes == (
        "classes are the 6 most frequent words in captions of the train split; words of an image's captions are "
        "present, others absent",
    )
    assert dataset.boxes is None and splits_of(dataset) == {"train": [0, 1, 2], "val": [3, 4]}
    everything = read(home, labels="captions")
    assert len(everything.classes) == 13 and "zebra" not in everything.classes and "café" in everything.classes


def test_captions_without_a_train_split(home):
    (home / "annotations/captions_train2014.json").unlink()
    dataset = read(home, labels="captions")
    assert sorted(dataset.classes) == ["a", "dogs", "on", "street", "the", "two", "zebra"]
    assert dataset.notes[0].startswith("classes are the 7 most frequent words in captions of all splits")


def test_captions_that_are_missing(tmp_path):
    images = [{"id": number, "file_name": f"{number}.jpg"} for number in (1, 2, 3)]
    texts = [{"image_id": 2, "caption": "b a"}, {"image_id": 3, "caption": " . "}]
    file = save(tmp_path / "captions.json", {"images": images, "annotations": texts})
    dataset = read(file, labels="captions")
    assert dataset.classes == ["a", "b"] and dataset.labels.to_signed().tolist() == [[0, 0], [1, 1], [-1, -1]]
    assert dataset.notes[1] == "1 images without captions are unknown"
    images[2]["split"] = "train"
    save(file, {"images": images, "annotations": texts})
    assert refusal(file, labels="captions") == (
        "ROOT: captions of the train split contain no words, so there are no classes"
    )
    save(file, small(annotations=[{"image_id": 2}]))
    assert refusal(file, labels="captions") == "ROOT, line 7: annotations[0].caption is missing"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man's dog -- isn't it?", ["a", "man's", "dog", "isn't", "it"]),
        ("'quoted' rock'n'roll 'tis", ["quoted", "rock'n'roll", "tis"]),
        ("snake_case, 7pm/8PM", ["snake", "case", "7pm", "8pm"]),
        ("the man’s CAFE\u0301 日本", ["the", "man's", "café", "日本"]),
        (" \n", []),
    ],
)
def test_words(text, words):
    assert words_of(text) == words


def test_words_against_plain_counting(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in rng.geometric(0.2, 6)) for _ in range(60)]
    images = [{"id": i, "file_name": f"{i}.jpg", "split": "train" if i % 3 else "test"} for i in range(20)]
    captions = [{"image_id": i % 20, "caption": text} for i, text in enumerate(texts)]
    dataset = read(save(tmp_path / "c.json", {"images": images, "annotations": captions}), labels="captions", words=7)
    times: dict[str, int] = {}
    for i, text in enumerate(texts):
        for word in text.split() if i % 20 % 3 else ():
            times[word] = times.get(word, 0) + 1
    best = sorted(times, key=lambda word: (-times[word], word))[:7]
    assert dataset.classes == best
    for image in range(20):
        there = {word for i, text in enumerate(texts) if i % 20 == image for word in text.split()}
        assert dataset.labels.to_signed()[image].tolist() == [1 if word in there else -1 for word in best]


# ---- what tools export


def test_lvis_as_published(tmp_path):
    home = coco_lvis.write(tmp_path)
    dataset = read(home)
    assert dataset.classes == ["aerosol_can", "air_conditioner", "airplane"]
    assert dataset.labels.to_signed().tolist() == [[-1, 0, 1], [0, 1, 1], [0, -1, -1], [0, 0, 0]]
    assert splits_of(dataset) == {"train": [0, 1], "val": [2, 3]} and dataset.ids[3] == "train2017/000000037777.jpg"
    assert all(Path(path).is_file() for path in dataset.paths) and len(dataset.boxes.cls) == 3


def test_lvis(tmp_path):
    url = "http://images.cocodataset.org/train2017/00000000000{}.jpg"
    document = small(
        images=[
            {"id": 1, "coco_url": url.format(1), "neg_category_ids": [3], "not_exhaustive_category_ids": [7]},
            {"id": 2, "coco_url": url.format(2), "neg_category_ids": [], "not_exhaustive_category_ids": []},
            {"id": 3, "coco_url": url.format(3), "neg_category_ids": [7, 3], "not_exhaustive_category_ids": []},
            {"id": 4, "coco_url": url.format(4), "neg_category_ids": [], "not_exhaustive_category_ids": []},
        ],
        categories=[{"id": number, "name": name} for number, name in ((3, "dog"), (7, "cat"), (9, "cow"))],
    )
    (tmp_path / "train2017").mkdir()
    (tmp_path / "train2017/000000000001.jpg").touch()
    file = save(tmp_path / "annotations/lvis_v1_train.json", document)
    dataset = read(tmp_path)
    assert dataset.ids[0] == "train2017/000000000001.jpg"
    assert dataset.paths[0] == str(tmp_path / "train2017/000000000001.jpg")
    assert dataset.labels.to_signed().tolist() == [[-1, 1, 0], [1, 0, 0], [-1, -1, 0], [0, 0, 0]]
    assert splits_of(dataset) == {"train": [0, 1, 2, 3]}
    assert dataset.notes == (
        "annotated categories are present, negative ones absent, others unknown",
        "1 images without annotations are unknown",
        "2 annotations have no usable box or image size: no boxes are read for them",
    )
    assert read(file, empty="absent").labels == dataset.labels  # a list of negatives, even an empty one, says enough
    closed = read(file, unlisted="absent")
    assert closed.labels.to_signed().tolist() == [[-1, 1, -1], [1, -1, -1], [-1, -1, -1], [0, 0, 0]]
    both = read(file, unlisted="absent", empty="absent")
    assert both.labels.to_signed()[3].tolist() == [-1, -1, -1]
    document["images"][0]["neg_category_ids"] = [3, 7]
    again = read(save(file, document))
    assert again.labels.to_signed()[0].tolist() == [-1, 0, 0]
    assert again.notes[-1] == "1 labels are given both as present and as absent: they are unknown"


def test_negative_categories_in_one_split_only(tmp_path):
    save(tmp_path / "train.json", small())
    images = [{"id": 1, "file_name": "c.jpg", "neg_category_ids": []}, {"id": 2, "file_name": "d.jpg"}]
    save(tmp_path / "val.json", small(images=images))
    assert read(tmp_path).labels.to_signed().tolist() == [[-1, 1], [1, -1], [0, 1], [1, -1]]


def test_roboflow(tmp_path):
    categories = [
        {"id": 0, "name": "Workers", "supercategory": "none"},
        {"id": 1, "name": "head", "supercategory": "Workers"},
        {"id": 2, "name": "helmet", "supercategory": "Workers"},
    ]
    for split, number in (("train", 1), ("valid", 2), ("test", 2)):
        document = small(categories=categories, annotations=[{"image_id": 1, "category_id": number}])
        document["images"] = [{"id": 1, "file_name": f"{split}.jpg"}]
        save(tmp_path / split / "_annotations.coco.json", document)
        (tmp_path / split / f"{split}.jpg").touch()
    assert detect(tmp_path) and detect(tmp_path / "valid")
    dataset = read(tmp_path)
    assert dataset.classes == ["head", "helmet"]
    assert dataset.labels.to_signed().tolist() == [[1, -1], [-1, 1], [-1, 1]]
    assert splits_of(dataset) == {"train": [0], "val": [1], "test": [2]}
    assert dataset.paths[1] == str(tmp_path / "valid/valid.jpg")
    assert "category 'Workers' is a group without annotations: left out" in dataset.notes
    assert splits_of(read(tmp_path / "valid")) == {"val": [0]}
    save(tmp_path / "train.json", small())  # something else that lies about
    assert read(tmp_path).ids == ["train.jpg", "valid.jpg", "test.jpg"]
    # annotated, it is a class like any other
    document["annotations"].append({"image_id": 1, "category_id": 0})
    save(tmp_path / "test/_annotations.coco.json", document)
    assert read(tmp_path).classes == ["Workers", "head", "helmet"]


@pytest.mark.parametrize(
    ("categories", "classes"),
    [
        ([("none", "none")], ["none"]),
        ([("head", "none"), ("head", "head")], ["head"]),
        ([("head", "none"), ("hat", "none")], ["head", "hat"]),
        ([("people", "none"), ("head", "people")], ["head"]),
        ([("people", "beings"), ("head", "people")], ["people", "head"]),
    ],
)
def test_categories_that_are_groups(tmp_path, categories, classes):
    records = [{"id": n, "name": name, "supercategory": group} for n, (name, group) in enumerate(categories)]
    dataset = read(save(tmp_path / "a.json", small(categories=records, annotations=[])))
    assert dataset.classes == classes and dataset.labels.known == 0


def test_the_same_file_name_in_two_splits(tmp_path):
    for split in ("train", "val"):
        save(tmp_path / f"{split}.json", small())
    dataset = read(tmp_path)
    assert dataset.ids == ["train/a.jpg", "train/b.jpg", "val/a.jpg", "val/b.jpg"]
    assert dataset.notes[-1] == "2 file names are in two splits: ids are split/file_name"


def test_categories_are_the_same_by_name(tmp_path):
    save(tmp_path / "train.json", small())
    other = [{"id": 1, "name": "cow"}, {"id": 2, "name": "cat"}, {"id": 4, "name": "cat"}]
    images = [{"id": 1, "file_name": "c.jpg"}, {"id": 2, "file_name": "d.jpg"}]
    annotations = [{"image_id": 1, "category_id": 4}, {"image_id": 2, "category_id": 1}]
    save(tmp_path / "val.json", small(images=images, categories=other, annotations=annotations))
    dataset = read(tmp_path)
    assert dataset.classes == ["dog", "cat", "cow"]
    assert dataset.labels.to_signed().tolist() == [[-1, 1, -1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    assert "1 categories have the name of another one: they become one class" in dataset.notes


def test_ids_of_images_that_are_texts_and_paths_of_windows(tmp_path):
    images = [{"id": "x-1", "file_name": "images\\a.jpg"}, {"id": "x-2", "file_name": "images\\b.jpg"}]
    annotations = [{"image_id": "x-2", "category_id": 3}]
    dataset = read(save(tmp_path / "out.json", small(images=images, annotations=annotations)))
    assert dataset.ids == ["images\\a.jpg", "images\\b.jpg"] and dataset.splits == {}
    assert dataset.paths[1] == str(tmp_path / "images/b.jpg")
    assert dataset.labels.to_signed().tolist() == [[0, 0], [1, -1]]


@pytest.mark.parametrize(
    "box", [None, [], [1, 2, -3, 4], [float("nan"), 0, 1, 1], [0, 0, float("inf"), 1], [0, 0, 1, 10**400]]
)
def test_boxes_that_are_none(tmp_path, box):
    document = small()
    document["annotations"][0]["bbox"] = box
    dataset = read(save(tmp_path / "a.json", document))
    assert dataset.boxes is None and dataset.labels.to_signed().tolist() == [[-1, 1], [1, -1]]
    assert dataset.notes[-1] == "2 annotations have no usable box or image size: no boxes are read for them"


def test_boxes_are_kept_inside_the_image(tmp_path):
    document = small()
    document["annotations"][0]["bbox"] = [-10, 25, 200, 50]
    boxes = read(save(tmp_path / "a.json", document)).boxes
    assert boxes.xyxy.tolist() == [[0, 0.5, 1, 1]] and boxes.cls.tolist() == [1]


def test_windows_text_and_byte_order_mark(home):
    file = home / "annotations/instances_val2014.json"
    before = read(file)
    text = json.dumps(json.loads(file.read_text()), indent=1).replace("\n", "\r\n")
    file.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\r\n")
    assert detect(file) and read(file).labels == before.labels


# ---- which files


def test_files_whose_names_tell_no_split(tmp_path):
    save(tmp_path / "one.json", small())
    assert splits_of(read(tmp_path)) == {}
    save(tmp_path / "two.json", small())
    message = "ROOT: one.json, two.json: their splits are unclear; give the path of one of them"
    assert refusal(tmp_path) == message
    save(tmp_path / "my-test.json", small())
    assert read(tmp_path).notes[-1] == "left out, because their names contain no split: one.json, two.json"
    save(tmp_path / "my_test_2.json", small())
    assert refusal(tmp_path) == "ROOT: my-test.json, my_test_2.json are both of split 'test'; give the path of one"


def test_what_is_not_there(tmp_path, home):
    assert refusal(tmp_path / "coco/train2014") == (
        "ROOT: no COCO file of instances here (such as annotations/instances_train2014.json); give a file, or choose "
        "other labels"
    )
    for file in (home / "annotations").glob("instances_*"):
        file.unlink()
    assert detect(home)
    assert refusal(home) == (
        "ROOT: no COCO file of instances here, only captions_train2014.json, captions_val2014.json, "
        "person_keypoints_val2014.json; give a file, or choose other labels"
    )
    assert refusal(home / "annotations/captions_val2014.json") == (
        "ROOT, line 1: the document has captions and no categories; choose labels='captions'"
    )


def test_detection(tmp_path):
    for module in iter_modules(layouts.__path__):
        (tmp_path / module.name).mkdir()
        written = import_module(f"tests.data.formats.layouts.{module.name}").write(tmp_path / module.name)
        assert detect(written) == module.name.startswith("coco"), module.name
    for name, text in (
        ("list", "[]"),
        ("datumaro", '{"info": {}, "categories": {}, "items": []}'),
        ("cut", '{"ima'),
        ("", ""),
    ):
        (tmp_path / f"{name}.json").write_text(text)
        assert not detect(tmp_path / f"{name}.json")
    assert not detect(tmp_path / "nowhere") and not detect(tmp_path / "coco/coco/train2014")
    (tmp_path / "odd/annotations").parent.mkdir()
    (tmp_path / "odd/annotations").touch()
    (tmp_path / "odd/x.json").mkdir()
    assert not detect(tmp_path / "odd") and not detect(tmp_path / "odd/x.json")
    assert RULE


# ---- damaged files


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": [{"file_name": "a.jpg"}]}, "line 3: images[0].id is missing"),
        ({"images": [{"id": 1.5, "file_name": "a.jpg"}]}, "line 3: images[0].id is 1.5, not a whole number"),
        ({"images": ["a.jpg"]}, 'line 3: images[0] is "a.jpg", not an object'),
        ({"images": [{"id": 1}]}, "line 3: images[0].file_name is missing; every image needs one"),
        ({"images": [{"id": 1, "file_name": 5}]}, "line 3: images[0].file_name is 5, not a text"),
        (
            {"images": [{"id": 1, "file_name": "a"}, {"id": 1, "file_name": "b"}]},
            "line 4: images[1].id is 1, as of images[0]; ids must be unique",
        ),
        (
            {"images": [{"id": 1, "file_name": "a"}, {"id": 2, "file_name": "a"}]},
            "line 4: images[1].file_name is 'a', as of images[0]; remove one",
        ),
        (
            {"annotations": [{"image_id": 9, "category_id": 3}]},
            "line 7: annotations[0].image_id is 9, which is no id in images",
        ),
        (
            {"annotations": [{"image_id": 1, "category_id": 3}, {"image_id": 1, "category_id": 4}]},
            "line 8: annotations[1].category_id is 4, which is no id in categories",
        ),
        ({"annotations": [{"image_id": 1}]}, "line 7: annotations[0].category_id is missing"),
        (
            {"annotations": [{"image_id": 1, "category_id": True}]},
            "line 7: annotations[0].category_id is true, not a whole number",
        ),
        (
            {"annotations": [{"image_id": 1, "category_id": 3, "bbox": [1, 2, 3]}]},
            "line 7: annotations[0].bbox is not [x, y, width, height] in numbers",
        ),
        (
            {"annotations": [{"image_id": 1, "category_id": 3, "bbox": ["1", 2, 3, 4]}]},
            "line 7: annotations[0].bbox is not [x, y, width, height] in numbers",
        ),
        (
            {"images": [{"id": 1, "file_name": "a", "width": "9"}, {"id": 2, "file_name": "b"}]},
            'line 3: images[0].width is "9", not a number',
        ),
        (
            {"categories": [{"id": 3, "name": "a"}, {"id": 7, "name": "b"}, {"id": 3, "name": "c"}]},
            "line 13: categories[2].id is 3, as of categories[0]; ids must be unique",
        ),
        ({"categories": [{"id": 3}, {"id": 7, "name": "b"}]}, "line 11: categories[0].name is missing"),
        ({"categories": []}, "line 7: annotations[0].category_id is 7, which is no id in categories"),
        ({"categories": [], "annotations": []}, "line 9: categories is empty, so there are no classes"),
        (
            {"images": [{"id": 1, "file_name": "a", "neg_category_ids": [7, 8]}, {"id": 2, "file_name": "b"}]},
            "line 3: images[0].neg_category_ids[1] is 8, which is no id in categories",
        ),
        (
            {"images": [{"id": 1, "file_name": "a", "neg_category_ids": [[7]]}, {"id": 2, "file_name": "b"}]},
            "line 3: images[0].neg_category_ids[0] is [7], which is no id in categories",
        ),
        (
            {"images": [{"id": 1, "file_name": "a", "neg_category_ids": 7}, {"id": 2, "file_name": "b"}]},
            "line 3: images[0].neg_category_ids is 7, not a list",
        ),
        (
            {"images": [{"id": 1, "file_name": "a", "split": 7}, {"id": 2, "file_name": "b"}]},
            "line 3: images[0].split is 7, not a text",
        ),
    ],
)
def test_damaged_records(tmp_path, changes, message):
    assert refusal(save(tmp_path / "a.json", small(**changes))) == f"ROOT, {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", ", line 1: the file is empty; export or copy it again"),
        (b'{"images": [\n{"id"', ", line 2: damaged JSON: cut short after 18 characters; export or copy it again"),
        (b"[]", ", line 1: the document is [], not an object"),
        (b'{"annotations": []}', ", line 1: images is missing"),
        (b'{"images": []}', ", line 1: annotations is missing"),
        (b'{"images": [], "annotations": []}', ", line 1: categories is missing"),
        (
            b'{"images": [], "annotations": [], "categories": [{"id": 1, "name": "a"}]}',
            ": the list of images is empty, so there is nothing to read",
        ),
        (b'{"images": {}}', ", line 1: images is {}, not a list"),
        (b"\n\xff", ", line 2: not UTF-8 text; save it as UTF-8"),
        (
            b'{"images": [{"id": 1, "file_name": "\\ud800"}], "annotations": [],'
            b'"categories": [{"id": 1, "name": "a"}]}',
            ": the name '\\ud800' at position 0 contains bytes that are not text; rename it",
        ),
    ],
)
def test_damaged_documents(tmp_path, text, message):
    (tmp_path / "a.json").write_bytes(text)
    assert refusal(tmp_path / "a.json") == f"ROOT{message}"


def test_a_folder_where_a_file_should_be(home):
    file = home / "annotations/instances_val2014.json"
    file.unlink()
    file.mkdir()
    assert (
        refusal(home)
        == "ROOT/annotations/instances_val2014.json: not a regular file (a folder); put the file in its place"
    )


def test_options_out_of_range(home):
    assert refusal(home, labels="boxes") == "ROOT: labels='boxes': use one of 'instances', 'captions', 'panoptic'"
    assert refusal(home, empty="no") == "ROOT: empty='no': use one of 'unknown', 'absent'"
    assert refusal(home, unlisted="no") == "ROOT: unlisted='no': use one of 'auto', 'absent', 'unknown'"
    assert refusal(home, labels="captions", words=0) == "ROOT: words=0: use 1 or more"


# ---- writing


def dataset_of(signed, root: Path, **more) -> Dataset:
    ids = [f"ü{row}.jpg" for row in range(len(signed))]
    labels = Labels.from_signed(np.array(signed, np.int8), [f"class {c}" for c in range(len(signed[0]))], ids)
    return Dataset(labels.ids, [str(root / name) for name in ids], labels, **more)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda c: st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=c, max_size=c), min_size=1, max_size=5)
    )
)
def test_labels_are_read_back(tmp_path_factory, signed):
    folder = tmp_path_factory.mktemp("coco")
    dataset = dataset_of(signed, folder / "photos")
    assert write(dataset, folder / "out.json") == [
        f"width and height of {len(dataset)} images are not written, as their files cannot be read"
    ]
    back = read(folder / "out.json")
    assert back.labels == dataset.labels and list(back.paths) == dataset.paths and back.boxes is None


def test_what_is_written_is_read_back(tmp_path):
    splits = {"train": np.array([0, 2]), "odd ones": np.array([1])}
    boxes = Boxes(
        np.array([0, 0, 1, 2, 0]),
        np.array([0, 0, 1, 1, 1]),
        np.array([[0, 0.25, 0.5, 1], [0.1, 0.1, 0.2, 0.2], [0, 0, 1, 1], [0, 0, 0.5, 0.5], [0, 0, 1, 1]], np.float32),
    )
    dataset = dataset_of([[1, 0], [0, 1], [-1, 1], [0, 0]], tmp_path / "photos", splits=splits, boxes=boxes)
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (80, 40)).save(dataset.paths[0])
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright
    Image.new("RGB", (60, 30)).save(dataset.paths[1], exif=exif)
    file = tmp_path / "annotations/out.json"
    assert write(dataset, file) == [
        "width and height of 2 images are not written, as their files cannot be read",
        "1 boxes of labels that are not present are not written",
        "1 boxes are not written, as the files of their images cannot be read",
    ]
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["images"][:2] == [
        {
            "id": 1,
            "file_name": "ü0.jpg",
            "width": 80,
            "height": 40,
            "split": "train",
            "neg_category_ids": [],
        },
        {
            "id": 2,
            "file_name": "ü1.jpg",
            "width": 30,
            "height": 60,
            "split": "odd ones",
            "neg_category_ids": [],
        },
    ]
    assert written["images"][2]["neg_category_ids"] == [1]
    assert written["categories"] == [{"id": 1, "name": "class 0"}, {"id": 2, "name": "class 1"}]
    assert written["info"]["trilabel_images"] == "../photos"
    more = {"iscrowd": 0, "segmentation": []}
    first = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 10, 40, 30], "area": 1200, **more}
    assert written["annotations"][0] == first and len(written["annotations"]) == 4
    assert written["annotations"][3] == {
        "id": 4, "image_id": 3, "category_id": 2, "bbox": [0, 0, 0, 0], "area": 0, **more,
    }  # fmt: skip
    back = read(file)
    assert back.labels == dataset.labels and back.ids == dataset.ids
    assert splits_of(back) == {"train": [0, 2], "odd ones": [1]}
    assert [Path(path).resolve() for path in back.paths] == [Path(path).resolve() for path in dataset.paths]
    assert back.boxes.image.tolist() == [0, 0, 1] and back.boxes.cls.tolist() == [0, 0, 1]
    np.testing.assert_allclose(back.boxes.xyxy, boxes.xyxy[:3], atol=1e-4)


def with_files(root: Path) -> Dataset:
    """Images in two folders beside the annotations, one label with a box and two without."""
    boxes = Boxes(np.array([0]), np.array([0]), np.array([[0, 0.25, 0.5, 1]], np.float32))
    dataset = dataset_of([[1, -1], [1, 1]], root / "photos", boxes=boxes)
    paths = [str(root / "photos" / folder / name) for folder, name in zip("ab", dataset.ids, strict=True)]
    for path in paths:
        Path(path).parent.mkdir(parents=True)
        Image.new("RGB", (80, 40)).save(path)
    return replace(dataset, paths=paths)


def test_what_is_written_has_all_that_other_programs_ask_for(tmp_path):
    assert write(with_files(tmp_path), tmp_path / "annotations/instances_train.json") == []
    document = json.loads((tmp_path / "annotations/instances_train.json").read_text(encoding="utf-8"))
    assert [(image["file_name"], image["width"], image["height"]) for image in document["images"]] == [
        ("a/ü0.jpg", 80, 40),
        ("b/ü1.jpg", 80, 40),
    ]
    for annotation in document["annotations"]:
        assert len(annotation["bbox"]) == 4 and {"area", "iscrowd", "id", "segmentation"} <= set(annotation)
    back = read(tmp_path / "annotations/instances_train.json")
    assert back.labels == with_files(tmp_path / "again").labels and len(back.boxes.image) == 1
    assert all(Path(path).is_file() for path in back.paths)


@pytest.mark.interop
def test_pycocotools_reads_what_is_written(tmp_path):
    coco = pytest.importorskip("pycocotools.coco")
    write(with_files(tmp_path), tmp_path / "labels.json")
    found = coco.COCO(str(tmp_path / "labels.json"))
    assert len(found.getImgIds()) == 2 and len(found.getAnnIds()) == 3
    assert len(found.getAnnIds(catIds=found.getCatIds(["class 0"]))) == 2
    assert len(found.getAnnIds(areaRng=[1, 1e9], iscrowd=False)) == 1


@pytest.mark.interop
def test_datumaro_reads_what_is_written(tmp_path):
    datumaro = pytest.importorskip("datumaro")
    dataset = with_files(tmp_path)
    (tmp_path / "photos").rename(tmp_path / "images")
    dataset = replace(dataset, paths=[path.replace("photos", "images") for path in dataset.paths])
    write(dataset, tmp_path / "annotations/instances_train.json")
    found = datumaro.Dataset.import_from(str(tmp_path), "coco_instances")
    assert len(found) == 2 and sum(len(item.annotations) for item in found) == 3


def test_a_fully_labeled_set_is_plain_coco(tmp_path):
    write(dataset_of([[1, -1], [1, 1]], tmp_path), tmp_path / "full.json")
    document = json.loads((tmp_path / "full.json").read_text())
    assert [sorted(image) for image in document["images"]] == [["file_name", "id"]] * 2
    write(dataset_of([[1, -1], [-1, -1]], tmp_path), tmp_path / "bare.json")
    assert "neg_category_ids" in (tmp_path / "bare.json").read_text()


def test_images_in_memory_and_several_splits(tmp_path):
    boxes = Boxes(np.array([1]), np.array([0]), np.array([[0, 0, 0.5, 0.5]], np.float32))
    splits = {"val": np.array([0, 1]), "train": np.array([1])}
    dataset = dataset_of([[-1], [1]], tmp_path, boxes=boxes, splits=splits)
    dataset = replace(dataset, paths=None, images=torch.zeros(2, 3, 16, 32, dtype=torch.uint8))
    assert write(dataset, tmp_path / "out.json") == [
        "the images have no files: their ids are written as file names",
        "1 images are in more than one split: only the first is written",
    ]
    back = read(tmp_path / "out.json")
    assert back.labels == dataset.labels and splits_of(back) == {"val": [0, 1]}
    assert back.boxes.xyxy.tolist() == [[0, 0, 0.5, 0.5]]


def test_what_cannot_be_written(tmp_path):
    dataset = dataset_of([[1]], tmp_path)
    for path, message in (
        (tmp_path / "a.txt", "the name of a COCO file must end in .json; change it, or give a folder"),
    ):
        with pytest.raises(TrilabelError) as caught:
            write(dataset, path)
        assert str(caught.value) == f"{path}: {message}" and not path.exists()
    with pytest.raises(TrilabelError, match="nothing to write in 0 images × 1 classes"):
        write(replace(dataset, labels=dataset.labels[:0], ids=[], paths=[]), tmp_path / "a.json")


# ---- size


def test_twenty_thousand_objects(tmp_path):
    rng = np.random.default_rng(0)
    images = [{"id": i, "file_name": f"{i:012d}.jpg", "width": 640, "height": 480} for i in range(3_000)]
    polygon = [rng.random(60).round(2).tolist()]
    pairs = zip(rng.integers(3_000, size=20_000).tolist(), rng.integers(80, size=20_000).tolist(), strict=True)
    objects = [
        {"image_id": i, "category_id": c, "bbox": [1.5, 2.5, 30.25, 40.5], "segmentation": polygon} for i, c in pairs
    ]
    file = tmp_path / "instances_train2014.json"
    categories = [{"id": c, "name": f"class {c}"} for c in range(80)]
    file.write_text(json.dumps({"images": images, "annotations": objects, "categories": categories}))
    dataset = read(file)
    assert len(dataset.boxes.cls) == 20_000


def test_images_of_no_split_stay_in_none(tmp_path):
    labels = Labels.from_signed([[1], [1]], ["cat"], ["a.jpg", "b.jpg"])
    dataset = Dataset(labels.ids, ["a.jpg", "b.jpg"], labels, {"val": np.array([0])})
    write(dataset, tmp_path / "my_train.json")
    assert {name: rows.tolist() for name, rows in read(tmp_path / "my_train.json").splits.items()} == {"val": [0]}


def test_files_of_another_kind_are_mentioned(home):
    (home / "annotations/lvis_v1_train.json").write_text('{"images": [], "categories": [], "annotations": []}')
    assert read(home).notes[-1] == "left out: lvis_v1_train.json; give the path of one of these to read it"


def test_a_category_needs_a_name(home):
    file = home / "annotations/instances_val2014.json"
    file.write_text(file.read_text().replace('"dog"', '""'))
    assert refusal(home).endswith("categories[1].name is empty; give the category a name")
