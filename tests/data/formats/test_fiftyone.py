"""FiftyOne's folders: classifications, detections, whole data sets, and writing classifications."""

import json
import os
import pkgutil
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.formats import layouts
from tests.data.formats.layouts import fiftyone as layout
from tests.data.formats.layouts import fiftyone_samples
from tests.support.seen import refusal_of, rows
from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.formats.fiftyone import RULE, detect, read, write
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

refusal = refusal_of(read)

TRUTH = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1], [1, 1, 0]]


@pytest.fixture
def classified(tmp_path) -> Path:
    return layout.write(tmp_path)


@pytest.fixture
def quickstart(tmp_path) -> Path:
    return fiftyone_samples.write(tmp_path)


def dump(folder: Path, name: str, content) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return folder


# ---- labels.json


@pytest.mark.parametrize("inside", ["", "labels.json"])
def test_classifications(classified, inside):
    assert detect(classified / inside)
    dataset = read(classified / inside)
    assert dataset.ids == ["000001", "000002", "sub/000003", "000004", "000005", "000006", "000007"]
    assert dataset.classes == ["cat", "dog", "perro ñ"] and dataset.labels.to_signed().tolist() == TRUTH
    data = classified / "data"
    assert list(dataset.paths)[1:5:3] == [str(data / "000002.png"), str(data / "000005.JPG")]
    assert dataset.splits == {} and dataset.boxes is None
    assert dataset.notes == (
        RULE,
        "1 images have no labels: they are unknown",
        f"1 images have no file in {data}",
    )


def test_unlisted(classified):
    dataset = read(classified, unlisted="absent")
    expected = np.where(np.array(TRUTH) > 0, 1, -1)
    expected[4] = 0
    assert dataset.labels.to_signed().tolist() == expected.tolist()
    assert dataset.notes[0] == "listed labels are present, others absent; images without labels are unknown"
    assert refusal(classified, unlisted="maybe") == "ROOT: unlisted='maybe': use one of 'unknown', 'absent'"


def test_images_elsewhere_or_nowhere(classified, tmp_path):
    shutil.move(classified / "data", tmp_path / "elsewhere")
    dataset = read(classified)
    assert dataset.notes[-1] == "there is no folder data with the images"
    assert dataset.paths[0] == str(classified / "data/000001")
    assert read(classified, images=tmp_path / "elsewhere").paths[0] == str(tmp_path / "elsewhere/000001.jpg")
    assert refusal(classified, images="nowhere") == "nowhere: no such folder of images"


def test_data_json(classified, tmp_path):
    files = {"000001.jpg": "../photos/1.jpg", "000002": "/abs/2.png", "unused.jpg": "u.jpg"}
    dump(classified, "data.json", files)
    assert read(classified).ids[0] == "000001"  # the folder data goes first, as in FiftyOne
    shutil.rmtree(classified / "data")
    dataset = read(classified)
    assert dataset.ids[:3] == ["000001.jpg", "000002", "sub/000003"]
    expected = [str(classified / "../photos/1.jpg"), "/abs/2.png", str(classified / "sub/000003")]
    assert list(dataset.paths[:3]) == expected
    assert dataset.notes[-1] == "5 images are not in data.json"
    dump(classified, "data.json", {"a": 3})
    assert refusal(classified) == "ROOT/data.json, line 2: a is 3, not a text"


def test_detections(tmp_path):
    labels = {"a": [{"label": 1, "bounding_box": [0.25, 0, 0.5, 1.25]}, {"label": 1, "bounding_box": None}], "b": []}
    dataset = read(dump(tmp_path, "labels.json", {"labels": labels, "classes": ["x", "y"]}))
    assert dataset.labels.to_signed().tolist() == [[0, 1], [0, 0]]
    assert dataset.boxes.cls.tolist() == [1] and dataset.boxes.xyxy.tolist() == [[0.25, 0, 0.75, 1]]


def test_classes_that_are_not_declared(tmp_path):
    dump(tmp_path, "labels.json", {"classes": None, "labels": {"a": [10, 9], "b": {"label": [9, 8]}}})
    dataset = read(tmp_path)
    assert dataset.classes == ["8", "9", "10"] and dataset.labels.to_signed().tolist() == [[0, 1, 1], [1, 1, 0]]
    assert dataset.notes[1] == "classes are numbers: labels.json has no names for them"
    dump(tmp_path, "labels.json", {"labels": {"a": "dog", "b": ["cat"]}})
    assert read(tmp_path).classes == ["cat", "dog"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (3, "line 7: labels.b is not one of the 3 classes; correct it"),
        (-1, "line 7: labels.b is not one of the 3 classes; correct it"),
        (True, "line 7: labels.b is not one of the 3 classes; correct it"),
        ("bird", "line 7: labels.b is not one of the 3 classes; correct it"),
        ([0, 10**30], "line 9: labels.b[1] is not one of the 3 classes; correct it"),
        ([0, None], "line 9: labels.b[1] is not one of the 3 classes; correct it"),
        ([[0]], "line 8: labels.b[0] is not one of the 3 classes; correct it"),
        ([{"x": 0}], "line 8: labels.b[0] is not one of the 3 classes; correct it"),
        ({"label": [1, 7]}, "line 10: labels.b.label[1] is not one of the 3 classes; correct it"),
        (
            [{"label": 0, "bounding_box": [0, 0, 1]}],
            "line 10: labels.b[0].bounding_box is not [x, y, width, height] as shares of the image",
        ),
        (
            [{"label": 0, "bounding_box": [0, 0, 1, float("nan")]}],
            "line 10: labels.b[0].bounding_box is not [x, y, width, height] as shares of the image",
        ),
    ],
)
def test_damaged_targets(tmp_path, target, message):
    text = '{"classes": [\n"x",\n"y",\n"z"],\n"labels": {\n"a": 0,\n"b": ' + json.dumps(target, indent=1) + "}}"
    assert refusal(dump(tmp_path, "labels.json", text)) == f"ROOT/labels.json, {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"classes": [',
            "ROOT/labels.json, line 1: damaged JSON: cut short after 13 characters; export or copy it again",
        ),
        ({"classes": ["a"]}, "ROOT/labels.json, line 1: labels is missing"),
        ({"classes": ["a"], "labels": []}, "ROOT/labels.json, line 5: labels is [], not an object"),
        ({"classes": "a", "labels": {}}, 'ROOT/labels.json, line 2: classes is "a", not a list'),
        ({"classes": [1], "labels": {}}, "ROOT/labels.json, line 3: classes[0] is 1, not a text"),
        (
            {"classes": ["a", "a"], "labels": {"x": 0}},
            "ROOT: class 'a' is listed twice, at positions 0 and 1; rename or",
        ),
        ({"labels": {"x": 10**30}}, "ROOT/labels.json, line 3: labels.x is not the name or number of a class; correct"),
        (
            {"labels": {"\ud800": "a"}},
            "ROOT: the name '\\ud800' at position 0 contains bytes that are not text; rename it",
        ),
    ],
)
def test_damaged_labels(tmp_path, content, message):
    assert refusal(dump(tmp_path, "labels.json", content)).startswith(message)


def test_names_that_fit_two_files(classified):
    (classified / "data/000001.png").touch()
    assert refusal(classified) == (
        "ROOT/labels.json: ROOT/data: image '000001' may be 000001.jpg or 000001.png; give its path in the folder"
    )


# ---- samples.json


@pytest.mark.parametrize("inside", ["", "samples.json"])
def test_samples(quickstart, inside):
    assert detect(quickstart / inside)
    dataset = read(quickstart / inside)
    assert dataset.ids == ["000880.jpg", "000868.jpg", "x/000869.jpg", "000870.jpg", "000871.jpg"]
    assert dataset.classes == ["bird", "cat", "horse", "dog"]
    assert dataset.labels.to_signed().tolist() == [[1, 0, 0, 1], [1, 0, 0, 0], [0] * 4, [0] * 4, [0] * 4]
    assert rows(dataset) == {"val": [0], "train": [1], "test": [2]}
    assert dataset.paths[2] == str(quickstart / "data/x/000869.jpg")
    assert dataset.boxes.image.tolist() == [0, 0, 1] and dataset.boxes.cls.tolist() == [0, 3, 0]
    np.testing.assert_allclose(dataset.boxes.xyxy, [[0.25, 0.5, 0.75, 0.75], [0, 0, 1, 1], [0.9, 0.9, 1, 1]])
    assert dataset.notes == (
        RULE,
        "2 images have no labels: they are unknown",
        "1 labels have no name and are left out",
        "1 images have tags of several splits and are in no split",
    )
    absent = read(quickstart, unlisted="absent").labels.to_signed().tolist()
    assert absent == [[1, -1, -1, 1], [1, -1, -1, -1], [-1] * 4, [0] * 4, [0] * 4]


def test_fields(tmp_path):
    weather = {"_cls": "Classification", "label": "sunny", "confidence": 0.5}
    tags = {"_cls": "Classifications", "classifications": [{"label": "b"}, {"label": "a"}]}
    dump(
        tmp_path,
        "samples.json",
        {"samples": [{"filepath": "/x/1.jpg", "tags": None, "weather": weather, "things": tags}]},
    )
    assert refusal(tmp_path) == (
        "ROOT/samples.json: samples have labels in several fields; pass field=NAME, one of weather, things"
    )
    dataset = read(tmp_path, field="things")
    assert dataset.classes == ["a", "b"] and dataset.ids == ["/x/1.jpg"] and dataset.paths[0] == "/x/1.jpg"
    assert dataset.notes == (RULE, "labels are those of field things; left out: weather")
    assert read(tmp_path, field="weather").classes == ["sunny"]
    assert refusal(tmp_path, field="thing") == (
        "ROOT/samples.json: samples have no labels called 'thing'; pass field=NAME, one of weather, things"
    )


def test_default_classes_and_other_folders(quickstart, tmp_path):
    dump(quickstart, "metadata.json", {"classes": {}, "default_classes": ["dog", "ant"]})
    assert read(quickstart).classes == ["dog", "ant", "bird"]
    (quickstart / "metadata.json").unlink()
    assert read(quickstart).classes == ["bird", "dog"]
    shutil.move(quickstart / "data", tmp_path / "elsewhere")
    assert read(quickstart).paths[0] == str(quickstart / "data/000880.jpg")
    assert read(quickstart, images=tmp_path / "elsewhere").paths[0] == str(tmp_path / "elsewhere/000880.jpg")
    assert refusal(quickstart, images="nowhere") == "nowhere: no such folder of images"


TAG = {"_cls": "Classification", "label": "a"}
SEVERAL = {"_cls": "Classifications"}
GOOD = {"filepath": "1.jpg", "g": TAG}


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], ": samples have no labels; export them with label fields"),
        (
            [{"filepath": "1.jpg", "g": {"_cls": ["Detections"]}}],
            ": samples have no labels; export them with label fields",
        ),
        ([1], ", line 3: samples[0] is 1, not an object"),
        (3, ", line 2: samples is 3, not a list"),
        ([{"g": TAG}], ", line 3: samples[0].filepath is missing"),
        ([{**GOOD, "filepath": 3}], ", line 4: samples[0].filepath is 3, not a text"),
        ([{**GOOD, "tags": 3}], ", line 9: samples[0].tags is 3, not a list"),
        ([{**GOOD, "_media_type": "video"}], ", line 9: samples[0]._media_type is not an image; export only images"),
        (
            [GOOD, {**GOOD, "g": 3}],
            ", line 12: samples[1].g is not one of Classification, Detection, Polyline, Keypoint,",
        ),
        ([{**GOOD, "g": {**TAG, "label": 3}}], ", line 7: samples[0].g.label is 3, not a text"),
        ([{**GOOD, "g": {**SEVERAL, "classifications": 3}}], ", line 7: samples[0].g.classifications is 3, not a list"),
        (
            [{**GOOD, "g": {**SEVERAL, "classifications": [3]}}],
            ", line 8: samples[0].g.classifications[0] is 3, not an obj",
        ),
        (
            [{**GOOD, "g": {**TAG, "bounding_box": 3}}],
            ", line 8: samples[0].g.bounding_box is not [x, y, width, height]",
        ),
    ],
)
def test_damaged_samples(tmp_path, samples, message):
    assert refusal(dump(tmp_path, "samples.json", {"samples": samples})).startswith(f"ROOT/samples.json{message}")


def test_other_mistakes(classified, quickstart, tmp_path):
    assert refusal(tmp_path) == "ROOT: no labels.json or samples.json of FiftyOne in this folder"
    assert refusal(classified, field="x") == "ROOT: field='x': labels.json has no fields; leave it out"
    dump(quickstart, "metadata.json", "{")
    assert refusal(quickstart).startswith("ROOT/metadata.json, line 1: damaged JSON: cut short")
    dump(tmp_path / "twice", "samples.json", {"samples": [GOOD, GOOD]})
    assert (
        refusal(tmp_path / "twice") == "ROOT: image '1.jpg' is listed twice, at positions 0 and 1; rename or remove one"
    )


def test_what_is_not_detected(tmp_path):
    dump(tmp_path / "coco", "labels.json", {"info": {}, "images": []})
    dump(tmp_path / "list", "samples.json", [])
    dump(tmp_path / "other", "classes.json", {"classes": []})
    (tmp_path / "labels.json").mkdir()
    for path in (tmp_path, *tmp_path.rglob("*"), tmp_path / "nowhere", Path("x" * 5000)):
        assert not detect(path)


def test_does_not_claim_other_layouts(tmp_path):
    for found in pkgutil.iter_modules(layouts.__path__):
        if not found.name.startswith("fiftyone"):
            (tmp_path / found.name).mkdir()
            assert not detect(import_module(f"{layouts.__name__}.{found.name}").write(tmp_path / found.name))


# ---- writing


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_positives_are_read_back(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("written") / "out"
    text = st.text("ab é\"'\n\\", min_size=1, max_size=4)
    classes = data.draw(st.lists(text, min_size=1, max_size=4, unique=True))
    names = [f"{name}.jpg" for name in data.draw(st.lists(text, min_size=1, max_size=5, unique=True))]
    signs = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=20, max_size=20))
    signed = np.resize(np.array(signs), (len(names), len(classes)))
    paths = [str(root.parent / "photos" / f"{number}.png") for number in range(len(names))]
    write(Dataset(names, paths, Labels.from_signed(signed, classes, names)), root)
    again = read(root)
    assert again.labels == Labels.from_signed(np.maximum(signed, 0), classes, names)
    assert [os.path.normpath(path) for path in again.paths] == paths
    fully = np.where(signed.any(1, keepdims=True), np.where(signed > 0, 1, -1), 0)
    assert read(root, unlisted="absent").labels.to_signed().tolist() == fully.tolist()


def test_writes_what_fiftyone_reads(quickstart, tmp_path):
    dataset = read(quickstart, unlisted="absent")
    out = tmp_path / "out"
    assert write(dataset, out) == [
        "9 absent labels are not written: the format has none",
        "the splits val, train, testare not written: the format has no splits",
        "3 boxes are not written",
    ]
    content = json.loads((out / "labels.json").read_text())
    files = json.loads((out / "data.json").read_text())
    assert content["classes"] == ["bird", "cat", "horse", "dog"]
    expected = {"000880": [0, 3], "000868": [0], "x/000869": [], "000870": None, "000871": None}
    assert content["labels"] == expected
    # FiftyOne takes the extension off the names in data.json, and looks those of labels.json up among them.
    assert {name.rpartition(".")[0] for name in files} == set(content["labels"])
    assert files["x/000869.jpg"] == "../quickstart/data/x/000869.jpg"
    assert detect(out) and read(out, unlisted="absent").labels == dataset.labels


def test_what_cannot_be_written(quickstart, tmp_path, small_scenes):
    dataset = read(quickstart)
    with pytest.raises(
        TrilabelError, match=r"quickstart: has a folder data, which FiftyOne uses for the images; choose"
    ):
        write(dataset, quickstart)
    twins = Labels.from_signed([[1], [1]], ["a"], ["1.jpg", "1.png"])
    with pytest.raises(TrilabelError, match=r"images '1.jpg' and '1.png' are the same to FiftyOne; rename one"):
        write(Dataset(twins.ids, list(twins.ids), twins), tmp_path / "not")
    assert not (tmp_path / "not").exists()
    notes = write(small_scenes, tmp_path / "out")
    assert notes[-1] == "the images are in memory: data.json contains their ids and no files"
    assert read(tmp_path / "out").ids == small_scenes.ids
    boxes = Boxes(np.array([0]), np.array([0]), np.zeros((1, 4), np.float32))
    ones = Labels.from_signed([[1]], ["a"], ["1"])
    assert write(Dataset(["1"], ["1"], ones, boxes=boxes), tmp_path / "one") == ["1 boxes are not written"]


def test_a_hundred_thousand_boxes(tmp_path):
    detections = [{"label": number % 80, "bounding_box": [0.1, 0.1, 0.5, 0.5]} for number in range(5)]
    labels = {f"{number:012}": detections for number in range(20_000)}
    (tmp_path / "labels.json").write_text(json.dumps({"classes": list(map(str, range(80))), "labels": labels}))
    assert len(read(tmp_path).boxes.cls) == 100_000
