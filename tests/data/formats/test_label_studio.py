"""Label Studio: exports in full and flat, several annotators, and tasks written for it."""

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

import trilabel as tl
from tests.data.formats import layouts
from tests.data.formats.layouts import coco_label_studio, label_studio_csv, label_studio_yolo
from tests.data.formats.layouts import label_studio as layout
from tests.data.formats.layouts.label_studio import annotation, choices, rectangle, task
from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.formats import format_of
from trilabel.data.formats.label_studio import RULE, detect, read, write
from trilabel.data.formats.label_studio.images import short_names
from trilabel.data.image_paths import RootedPaths
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

NOTE = "labels are from {}: what was chosen or drawn is present, the rest of an annotated image is {}"


def save(root: Path, tasks, **options) -> Path:
    file = root / "export.json"
    file.write_text(json.dumps(tasks, **options), encoding="utf-8")
    return file


def refusal(path: Path, **options) -> str:
    with pytest.raises(TrilabelError) as caught:
        read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path.parent), "ROOT")


def one(root: Path, *results, **options) -> Dataset:
    """An image with one annotation, read."""
    return read(save(root, [task(1, "1.jpg", annotation(*results))]), **options)


# ---- the full form


def test_reads_the_export(tmp_path):
    dataset = read(layout.write(tmp_path))
    assert dataset.ids == ["1a2b3c4d-sea_1.jpg", "5e6f7a8b-sea 2.jpg", "photos/été.jpg", "4.jpg", "5.PNG"]
    assert dataset.classes == ["Boat", "Sea", "Sky"]
    assert dataset.labels.to_signed().tolist() == [[1, 1, 1], [0, 1, 0], [0] * 3, [0] * 3, [0] * 3]
    local, remote = list(dataset.paths)[:3], list(dataset.paths)[3:]
    assert dataset.splits == {} and local == [str(tmp_path / name) for name in dataset.ids[:3]]
    assert remote == ["https://example.com/a/b/4.jpg?X-Amz-Date=2024", "s3://bucket/c/5.PNG"]
    assert dataset.notes == (
        NOTE.format("'choice', 'label'", "unknown"),
        "1 images were skipped: they are unknown",
        "1 images have no annotation: they are unknown",
        "1 labels that only some annotators of an image give are unknown",
    )
    assert "unknown" in RULE


def test_unlisted(tmp_path):
    path = layout.write(tmp_path)
    dataset = read(path, unlisted="absent")
    # Where one annotator says present, the silence of the other says absent.
    assert dataset.labels.to_signed().tolist() == [[1, 1, 1], [0, 1, -1], [0] * 3, [-1] * 3, [0] * 3]
    assert dataset.notes[0] == NOTE.format("'choice', 'label'", "absent")
    assert dataset.notes[1:] == read(path).notes[1:]  # the same labels are disputed
    assert refusal(path, unlisted="no").endswith(".json: unlisted='no': use one of 'absent', 'unknown'")


def test_boxes_are_shares_and_stand_around_what_is_turned(tmp_path):
    boxes = read(layout.write(tmp_path)).boxes
    assert boxes.image.tolist() == [0] and boxes.cls.tolist() == [0]
    np.testing.assert_allclose(boxes.xyxy, [[0.1, 0.2, 0.4, 0.6]], rtol=1e-6)
    # In an image of 200 × 100, 20 × 40 per cent are 40 × 40 pixels; turned about the corner they lie left of it.
    turned = one(tmp_path, rectangle("a", 50, 10, 20, 40, rotation=90)).boxes
    np.testing.assert_allclose(turned.xyxy, [[0.3, 0.1, 0.5, 0.5]], rtol=1e-6)
    slanted = one(tmp_path, rectangle("a", 50, 10, 20, 40, rotation=45)).boxes
    half = 40 / 2**0.5
    np.testing.assert_allclose(
        slanted.xyxy * [200, 100, 200, 100], [[100 - half, 10, 100 + half, 10 + 2 * half]], rtol=1e-5
    )


def test_kinds_of_results(tmp_path):
    def result(kind, **value):
        return {"from_name": "f", "to_name": "image", "type": kind, "value": value}

    dataset = one(
        tmp_path,
        result("polygonlabels", points=[[1, 2]], polygonlabels=["a"]),
        result("brushlabels", format="rle", rle=[0, 1], brushlabels=["b"]),
        result("keypointlabels", x=1, y=2, width=0.3, keypointlabels=["c"]),
        result("ellipselabels", x=1, y=2, radiusX=3, radiusY=4, ellipselabels=["d", "e"]),
        result("rectangle", x=1, y=2, width=3, height=4),
        result("labels", x=10, y=20, width=30, height=40, labels=["f"]),
        result("taxonomy", taxonomy=[["g"], ["h", "i", "j"]]),
        result("textarea", text=["not a class"]),
        result("rectanglelabels", x=1, y=2, width=3, height=4),
        {"from_id": "a", "to_id": "b", "type": "relation", "direction": "right"},
    )
    assert dataset.classes == ["a", "b", "c", "d", "e", "f", "g", "h", "h/i", "h/i/j"]
    assert dataset.labels.to_signed().tolist() == [[1] * 10]
    assert dataset.boxes.cls.tolist() == [5]
    assert dataset.notes[1:] == (
        "1 results of type 'rectangle' left out",
        "1 results of type 'textarea' left out",
        "1 results of type 'rectanglelabels' left out",
        "1 results of type 'relation' left out",
    )


def test_several_fields(tmp_path):
    results = (
        choices("good", "other", field="light"),
        choices("city", "other", field="place"),
        rectangle("city", 1, 2, 3, 4),
    )
    dataset = one(tmp_path, *results)
    assert dataset.classes == ["city", "good", "light: other", "place: other"]
    assert dataset.notes == (
        NOTE.format("'light', 'place', 'label'", "unknown"),
        "2 classes are called 'field: choice', because several fields offer the choice",
    )
    dataset = one(tmp_path, *results, field="place")
    assert dataset.classes == ["city", "other"] and dataset.boxes is None
    assert dataset.notes == (NOTE.format("'place'", "unknown"),)
    assert refusal(tmp_path / "export.json", field="x") == (
        "ROOT/export.json: field='x': nothing was labelled in it; use one of 'light', 'place', 'label'"
    )


def test_absent_is_a_field_of_its_own(tmp_path):
    results = choices("a", "b", field="present"), choices("b", "c", field="absent")
    dataset = one(tmp_path, *results)
    assert dataset.classes == ["a", "b", "c"] and dataset.labels.to_signed().tolist() == [[1, 0, -1]]
    assert dataset.notes[1:] == ("1 labels are given both as present and as absent: they are unknown",)
    assert one(tmp_path, *results, field="present").labels == dataset.labels


ABSENT = annotation(choices("b", field="absent"))
A, AB = choices("a", field="present"), choices("a", "b", field="present")


@pytest.mark.parametrize(
    ("annotations", "unknown", "absent"),
    [
        ([annotation(choices("a", "b")), annotation(choices("b", "a"))], [1, 1], [1, 1]),
        ([annotation(choices("a", "b")), annotation(choices("a"))], [1, 0], [1, 0]),
        ([annotation(choices("a", "b")), annotation()], [1, 1], [0, 0]),
        ([annotation(choices("a", "b")), annotation(choices("a"), was_cancelled=True)], [1, 1], [1, 1]),
        ([annotation(choices("a")), annotation(choices("b"), ground_truth=True)], [0, 1], [-1, 1]),
        ([annotation(AB), ABSENT], [0, 0], [0, 0]),
        ([annotation(A), ABSENT], [0, 0], [0, -1]),
        ([annotation(choices("a", "b"), was_cancelled=True)], [0, 0], [0, 0]),
    ],
)
def test_several_annotators(tmp_path, annotations, unknown, absent):
    field = "present" if ABSENT in annotations else "choice"
    tasks = [task(1, "1.jpg", *annotations), task(2, "2.jpg", annotation(choices("a", "b", field=field)))]
    assert read(save(tmp_path, tasks)).labels.to_signed()[0].tolist() == unknown
    assert read(save(tmp_path, tasks), unlisted="absent").labels.to_signed()[0].tolist() == absent


BOTH = annotation(choices("a", field="present"), choices("a", field="absent"))


@pytest.mark.parametrize("unlisted", ["unknown", "absent"])
@pytest.mark.parametrize(
    ("annotations", "disputed", "both"),
    [
        ([annotation(AB), ABSENT], {"unknown": 2, "absent": 2}, 0),
        ([annotation(A), ABSENT], {"unknown": 2, "absent": 1}, 0),
        ([annotation(A), annotation(AB), annotation(A)], {"unknown": 1, "absent": 1}, 0),
        ([annotation(A), BOTH], {"unknown": 1, "absent": 1}, 0),
        ([BOTH], {"unknown": 0, "absent": 0}, 1),
        ([BOTH, BOTH], {"unknown": 0, "absent": 0}, 1),
    ],
)
def test_disputes_and_contradictions_are_counted_apart(tmp_path, annotations, disputed, both, unlisted):
    tasks = [task(1, "1.jpg", *annotations), task(2, "2.jpg", annotation(AB, choices("c", field="present")))]
    dataset = read(save(tmp_path, tasks), unlisted=unlisted)
    some, contradicted = "labels that only some annotators of an image give", "labels are given both as present and as"
    counted = [sum(int(note.split()[0]) for note in dataset.notes if what in note) for what in (some, contradicted)]
    assert counted == [disputed[unlisted], both]
    unknown = (dataset.labels.to_signed()[0] == 0).sum()
    assert unknown == disputed[unlisted] + both if unlisted == "absent" else unknown >= disputed[unlisted] + both


@pytest.mark.parametrize("unlisted", ["unknown", "absent"])
def test_boxes_of_disputed_labels_are_left_out(tmp_path, unlisted):
    one_box, two = rectangle("cat", 10, 20, 30, 40), [rectangle("dog", 0, 0, 50, 50), rectangle("dog", 50, 50, 50, 50)]
    tasks = [task(1, "1.jpg", annotation(one_box, *two), annotation(one_box)), task(2, "2.jpg", annotation(two[0]))]
    dataset = read(save(tmp_path, tasks), unlisted=unlisted)
    rest = -1 if unlisted == "absent" else 0
    assert dataset.labels.to_signed().tolist() == [[1, 0], [rest, 1]]
    assert dataset.boxes.image.tolist() == [0, 0, 1] and dataset.boxes.cls.tolist() == [0, 0, 1]
    assert dataset.notes[1:] == (
        "1 labels that only some annotators of an image give are unknown",
        "2 boxes of labels that are not present left out",
    )


def test_completions_as_they_once_were_called(tmp_path):
    old = {"id": 1, "completions": [{"result": [choices("a")]}, {"skipped": True, "result": [choices("b")]}]}
    dataset = read(save(tmp_path, [{**old, "data": {"image": "1.jpg"}}]))
    assert dataset.classes == ["a"] and dataset.labels.to_signed().tolist() == [[1]]


# ---- images


@pytest.mark.parametrize(
    ("addresses", "names"),
    [
        (["/data/upload/1/ab%20c.jpg"], ["ab c.jpg"]),
        (["/data/local-files/?d=a%26b/1.jpg&x=1"], ["a&b/1.jpg"]),
        (["http://localhost:8080/data/local-files/?d=a/1.jpg"], ["a/1.jpg"]),
        (["gs://bucket/a/1.jpg", "https://x.org/2.jpg?sig=a/b#c"], ["1.jpg", "2.jpg"]),
        (["https://x.org/a/1.jpg", "https://x.org/b/1.jpg"], ["a/1.jpg", "b/1.jpg"]),
        (["https://x.org/a/1.jpg", "https://y.org/a/1.jpg"], ["x.org/a/1.jpg", "y.org/a/1.jpg"]),
        (["https://x.org/i?n=1", "https://x.org/i?n=2"], ["https://x.org/i?n=1", "https://x.org/i?n=2"]),
        (["photos/a%20b#1.jpg"], ["photos/a b#1.jpg"]),
        (["https://x.org/"], ["x.org/"]),
    ],
)
def test_names_of_images(addresses, names):
    assert short_names(addresses) == names


def test_where_the_images_are(tmp_path):
    path = save(tmp_path, [task(n, f"/data/upload/1/0000000{n}-{n}.jpg") for n in (1, 2)])
    assert list(read(path).paths) == [str(tmp_path / f"0000000{n}-{n}.jpg") for n in (1, 2)]
    # Uploaded files have got something before their names, which the files at hand may lack.
    (tmp_path / "images").mkdir()
    (tmp_path / "images/1.jpg").touch()
    dataset = read(path)
    assert dataset.ids == ["00000001-1.jpg", "00000002-2.jpg"]
    assert list(dataset.paths) == [str(tmp_path / f"images/{n}.jpg") for n in (1, 2)]
    (tmp_path / "00000001-1.jpg").touch()
    assert read(path).paths[0] == str(tmp_path / "00000001-1.jpg")
    assert read(path, images=tmp_path / "images").paths[0] == str(tmp_path / "images/1.jpg")
    assert refusal(path, images=tmp_path / "no") == "ROOT/no: no such folder of images"
    same = save(tmp_path, [task(n, f"/data/upload/1/0000000{n}-1.jpg") for n in (1, 2)])
    (tmp_path / "00000001-1.jpg").unlink()
    assert read(same).paths[0] == str(tmp_path / "00000001-1.jpg")  # both would be 1.jpg


def test_images_that_are_not_called_image(tmp_path):
    tasks = [{"data": {"n": 1, "caption": "a", "photo": "/x/1.jpg?a=b"}, "annotations": []}]
    assert read(save(tmp_path, tasks)).ids == ["1.jpg"]
    tasks[0]["data"].pop("photo")
    message = "ROOT/export.json, line 1: [0].data has no image; call the column with the images' addresses 'image'"
    assert refusal(save(tmp_path, tasks)) == message


# ---- the flat form


def record(number, image, **fields):
    end = {"annotator": 1, "annotation_id": number, "created_at": "2024", "updated_at": "2024", "lead_time": 1.5}
    return {"image": image, "caption": "a sea", "id": number, **fields, **end}


BOX = {"x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0, "rectanglelabels": ["Boat"], "original_width": 9}
FLAT = [
    record(1, "/data/upload/1/1.jpg", choice="Sea", label=[BOX]),
    record(2, "/data/upload/1/2.jpg", choice={"choices": ["Sea", "Sky"]}, stars=3, note={"text": ["a", "b"]}),
    record(2, "/data/upload/1/2.jpg", choice="Sea"),
    record(3, "/data/upload/1/3.jpg", kind=[{"taxonomy": [["Ship", "Tug"]]}], choice=["Sky", {"choices": ["Sea"]}]),
    record(4, "/data/upload/1/4.jpg"),
]


def test_reads_the_flat_form(tmp_path):
    path = save(tmp_path, FLAT)
    assert detect(path)
    dataset = read(path)
    assert dataset.ids == ["1.jpg", "2.jpg", "3.jpg", "4.jpg"]
    assert dataset.classes == ["Boat", "Sea", "Ship", "Ship/Tug", "Sky"]
    assert dataset.labels.to_signed().tolist() == [[1, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 1, 1, 1], [0] * 5]
    np.testing.assert_allclose(dataset.boxes.xyxy, [[0.1, 0.2, 0.4, 0.6]], rtol=1e-6)
    assert dataset.notes == (
        NOTE.format("'choice', 'label', 'kind'", "unknown"),
        "texts in 'choice' are read as labels, chosen or typed; field selects one field",
        "1 labels that only some annotators of an image give are unknown",
        "1 results of type 'stars' left out",
        "1 results of type 'note' left out",
    )
    assert read(path, unlisted="absent").labels.to_signed()[:2].tolist() == [[1, 1, -1, -1, -1], [-1, 1, -1, -1, 0]]
    chosen = read(path, field="choice")
    assert chosen.classes == ["Sea", "Sky"] and chosen.notes[0] == NOTE.format("'choice'", "unknown")
    assert not any("texts in" in note for note in chosen.notes)


def test_typed_texts_cannot_be_told_from_choices(tmp_path):
    fields = {"remark": "a red boat", "choice": {"choices": ["Sea"]}, "tags": ["old"]}
    path = save(tmp_path, [record(1, "1.jpg", **fields), record(2, "2.jpg", remark="fog")])
    dataset = read(path)
    assert dataset.classes == ["Sea", "a red boat", "fog", "old"]
    assert dataset.notes[1] == "texts in 'remark', 'tags' are read as labels, chosen or typed; field selects one field"
    assert read(path, field="choice").classes == ["Sea"]


def test_flat_records_by_hand_or_sorted(tmp_path):
    assert read(save(tmp_path, [{"image": "1.jpg", "choice": "a"}])).classes == ["a"]
    tidy = [{key: value for key, value in row.items() if key != "caption"} for row in FLAT]
    assert read(save(tmp_path, tidy, sort_keys=True)).labels == read(save(tmp_path, FLAT)).labels


# ---- other exports


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_reads_json_in_the_cells_of_a_table(tmp_path, suffix):
    path = label_studio_csv.write(tmp_path, suffix)
    assert detect(path) and format_of(path, None) == "label-studio"
    dataset = read(path)
    assert dataset.classes == ["Boat", "Sea", "Sky"] and len(dataset) == 4
    assert dataset.labels.to_signed().tolist() == [[1, 1, 1], [0, 1, 0], [1, 0, 1], [0] * 3]
    np.testing.assert_allclose(dataset.boxes.xyxy, [[0.1, 0.2, 0.4, 0.6]] * 3, rtol=1e-6)
    flat = save(tmp_path, [{name: _loaded(cell) for name, cell in row.items()} for row in label_studio_csv.ROWS])
    assert read(flat).labels == dataset.labels and read(flat).notes == dataset.notes
    assert read(path, field="label").classes == ["Boat", "Sky"]


def _loaded(cell):
    return json.loads(cell) if isinstance(cell, str) and cell[0] in "[{" else cell


def test_damaged_tables(tmp_path):
    path = label_studio_csv.write(tmp_path, "csv")
    good = path.read_text()
    path.write_text(good.replace('""x"": 10', '""x"": null', 1))
    assert refusal(path) == f"ROOT/{path.name}, row 2: label[0].x is missing"
    path.write_text(good.replace("4.288,", "4.288,5,", 1))
    assert refusal(path) == f"ROOT/{path.name}, row 2: 10 cells, but the header has 9"
    path.write_text(good.splitlines()[0])
    assert refusal(path).endswith("contains no tasks; export the project as JSON, JSON-MIN or CSV")
    path.write_text("annotation_id,annotator,id\n1,2,3\n")
    assert not detect(path)


def test_a_single_task_and_a_single_annotation(tmp_path):
    whole = task(1, "1.jpg", annotation(choices("Sea")))
    stored = {**annotation(choices("Sea"), rectangle("Boat", 10, 20, 30, 40)), "task": {"id": 1, "data": whole["data"]}}
    for record, classes in ((whole, ["Sea"]), (stored, ["Boat", "Sea"])):
        path = save(tmp_path, record)
        assert detect(path) and format_of(path, None) == "label-studio"
        dataset = read(path)
        assert dataset.ids == ["1.jpg"] and dataset.classes == classes and dataset.labels.known == len(classes)
    path = save(tmp_path, {**whole, "data": {}}, indent=1)
    assert refusal(path).endswith("data has no image; call the column with the images' addresses 'image'")


def test_several_tasks_of_one_image(tmp_path):
    tasks = [
        task(1, "/a/1.jpg", annotation(choices("Sea", "Sky")), split="val"),
        task(2, "/a/2.jpg", annotation(choices("Sea"))),
        task(3, "/a/1.jpg", annotation(choices("Sea"))),
        task(4, "/a/2.jpg"),
    ]
    dataset = read(save(tmp_path, tasks))
    assert dataset.ids == ["1.jpg", "2.jpg"] and dataset.classes == ["Sea", "Sky"]
    assert dataset.labels.to_signed().tolist() == [[1, 0], [1, 0]]
    assert "2 tasks have the image of another one: they count as further annotators of it" in dataset.notes
    flat = read(save(tmp_path, [record(1, "1.jpg", choice="Sea"), record(2, "1.jpg", choice="Sea")]))
    assert flat.ids == ["1.jpg"] and flat.labels.to_signed().tolist() == [[1]]


def test_exports_in_formats_of_others(tmp_path):
    yolo = tl.data.read(label_studio_yolo.write(tmp_path / "yolo"))
    assert yolo.classes == ["Boat", "Sky"] and len(yolo) == 3
    assert yolo.labels.to_signed().tolist() == [[1, 1], [-1, 1], [-1, -1]] and len(yolo.boxes.image) == 3
    home = coco_label_studio.write(tmp_path / "coco")
    for path in (home, home / "result.json"):
        coco = tl.data.read(path, missing="drop")
        assert coco.ids == ["images/1a2b3c4d-sea_1.jpg", "images/5e6f7a8b-sea_2.jpg", "images/9-3.jpg"]
        assert coco.labels.to_signed().tolist() == [[1, 1], [-1, 1], [0, 0]] and len(coco.boxes.image) == 3
        assert "1 images are listed again for another annotator: they are joined" in coco.notes


# ---- writing


def dataset_of(root: Path, **more) -> Dataset:
    labels = Labels.from_signed(
        [[1, -1, 0, 0], [0, 0, 0, 0], [-1, 1, 1, 0]], ["z: é", "a", "b", "never"], ["1.jpg", "x/ü &%41?#2.png", "3"]
    )
    return Dataset(labels.ids, RootedPaths(root, ["1.jpg", "x/ü &%41?#2.png", "sub/3.jpg"]), labels, **more)


def test_what_is_written_is_read_again(tmp_path):
    boxes = Boxes(np.array([2, 0, 0]), np.array([1, 0, 1]), np.array([[0.1, 0.2, 0.35, 1]] * 3, np.float32))
    dataset = dataset_of(tmp_path, splits={"val": np.array([1]), "train": np.array([0])}, boxes=boxes)
    path = tmp_path / "tasks.json"
    assert write(dataset, path) == ["1 boxes of labels that are not present are not written"]
    again = read(path)
    assert detect(path) and again.labels == dataset.labels and list(again.paths) == list(dataset.paths)
    assert {name: rows.tolist() for name, rows in again.splits.items()} == {"train": [0], "val": [1]}
    assert again.boxes.image.tolist() == [0, 2] and again.boxes.cls.tolist() == [0, 1]
    np.testing.assert_allclose(again.boxes.xyxy, boxes.xyxy[:2], rtol=1e-6)
    assert again.notes == (
        NOTE.format("'present', 'box'", "unknown"),
        "1 images have no annotation: they are unknown",
    )
    assert sorted(file.name for file in tmp_path.iterdir()) == ["tasks.json"]


def test_what_a_written_task_looks_like(tmp_path):
    write(dataset_of(tmp_path), tmp_path / "tasks.json")
    tasks = json.loads((tmp_path / "tasks.json").read_text("utf-8"))
    assert tasks[0] == {
        "id": 1,
        "data": {"image": "/data/local-files/?d=1.jpg", "trilabel_classes": ["z: é", "a", "b", "never"]},
        "annotations": [
            {
                "result": [
                    {
                        "id": f"1-{number}",
                        "from_name": field,
                        "to_name": "image",
                        "type": "choices",
                        "value": {"choices": [name]},
                    }
                    for number, field, name in ((1, "present", "z: é"), (2, "absent", "a"))
                ],
                "was_cancelled": False,
                "ground_truth": False,
            }
        ],
        "predictions": [],
    }
    assert tasks[1]["annotations"] == []
    assert tasks[2]["data"] == {"image": "/data/local-files/?d=sub/3.jpg", "trilabel_id": "3"}


def test_what_cannot_be_written(tmp_path):
    both = {"train": np.array([0, 1]), "val": np.array([1]), "test": np.array([], np.int64)}
    notes = write(dataset_of(tmp_path, splits=both), tmp_path / "tasks.json")
    assert notes == [
        "1 images are in more than one split: only the first is written",
        "1 splits without images are left out",
    ]
    assert read(tmp_path / "tasks.json").splits["train"].tolist() == [0, 1]
    inside = replace(dataset_of(tmp_path), paths=None, images=torch.zeros(3, 3, 1, 1, dtype=torch.uint8))
    assert write(inside, tmp_path / "tasks.json") == ["the images have no files: their ids are written as file names"]
    assert read(tmp_path / "tasks.json").labels == inside.labels
    for path, what, message in (
        ("tasks.txt", dataset_of(tmp_path), "the name of a Label Studio file must end in .json; change it"),
        ("t.json", dataset_of(tmp_path).take(np.array([], np.int64)), "nothing to write in 0 images × 4 classes"),
    ):
        with pytest.raises(TrilabelError) as caught:
            write(what, tmp_path / path)
        assert str(caught.value) == f"{tmp_path / path}: {message}"


NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), unique=True)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_labels_come_back(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("any")
    classes, ids = (data.draw(NAMES.filter(bool)) for _ in range(2))
    cells = st.lists(st.sampled_from([-1, 0, 1]), min_size=len(classes), max_size=len(classes))
    labels = Labels.from_signed(data.draw(st.lists(cells, min_size=len(ids), max_size=len(ids))), classes, ids)
    paths = RootedPaths(root, [f"{number}.jpg" for number in range(len(ids))])
    write(Dataset(labels.ids, paths, labels), root / "tasks.json")
    again = read(root / "tasks.json")
    assert again.labels == labels and list(again.paths) == list(paths)


# ---- what is wrong


def damaged(*keys, value=None):
    """The export with another value at a place in it."""
    tasks = json.loads(json.dumps(layout.TASKS))
    inner = tasks
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return tasks


RESULT = (0, "annotations", 0, "result")


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([], ": contains no tasks; export the project as JSON, JSON-MIN or CSV"),
        ({}, ", line 1: the document is {}, not a list"),
        (["a"], ', line 1: [0] is "a", not an object'),
        (damaged(0, "data", value=[]), ", line 1: [0].data is [], not an object"),
        (damaged(0, "data", "image", value=3), ", line 1: [0].data.image is 3, not a text"),
        (damaged(0, "annotations", value="x"), ', line 1: [0].annotations is "x", not a list'),
        (damaged(0, "annotations", 0, value=12), ", line 1: [0].annotations[0] is 12, not an object"),
        (damaged(*RESULT), ", line 1: [0].annotations[0].result is missing"),
        (damaged(*RESULT, 0, "type"), ", line 1: [0].annotations[0].result[0].type is missing"),
        (
            damaged(*RESULT, 0, "value", "choices", value="Sea"),
            ', line 1: [0].annotations[0].result[0].value.choices is "Sea", not a list',
        ),
        (
            damaged(*RESULT, 0, "value", "choices", value=[1]),
            ", line 1: [0].annotations[0].result[0].value.choices[0] is 1, not a text",
        ),
        (
            damaged(*RESULT, 1, "value", "x", value=float("nan")),
            ", line 1: [0].annotations[0].result[1].value.x is nan, which is not a valid coordinate or size",
        ),
        (
            damaged(*RESULT, 1, "value", "width", value=10**400),
            f", line 1: [0].annotations[0].result[1].value.width is 1{'0' * 39}, "
            "which is not a valid coordinate or size",
        ),
        (damaged(*RESULT, 1, "value", "y"), ", line 1: [0].annotations[0].result[1].value.y is missing"),
        (
            [record(1, "1.jpg", **{"a\nb": {"choices": "x"}})],
            r', line 1: [0].a\nb.choices is "x", not a list',
        ),
        (
            [record(1, "1.jpg"), record(1, "2.jpg")],
            ", line 1: [1] has the id of [0] but another image; correct one of them",
        ),
        (
            [task(1, "1.jpg", trilabel_id="a"), task(2, "2.jpg", trilabel_id="a")],
            ": image 'a' is listed twice, at positions 0 and 1; rename or remove one",
        ),
    ],
)
def test_damaged_exports(tmp_path, tasks, message):
    assert refusal(save(tmp_path, tasks)) == f"ROOT/export.json{message}"


def test_lone_surrogates(tmp_path):
    message = r"the name '\ud800' at position 0 contains bytes that are not text; rename it"
    assert refusal(save(tmp_path, [task(1, "\ud800")])) == f"ROOT/export.json: {message}"
    assert refusal(save(tmp_path, [task(1, "1.jpg", annotation(choices("\ud800")))])) == f"ROOT/export.json: {message}"


def test_files_that_are_no_exports(tmp_path):
    path = tmp_path / "export.json"
    assert refusal(path) == "ROOT/export.json: cannot be read (No such file or directory)"
    path.write_text(json.dumps(layout.TASKS, indent=1)[:-40])
    assert detect(path) and ": damaged JSON: cut short" in refusal(path)
    path.write_text("")
    assert not detect(path) and refusal(path) == "ROOT/export.json, line 1: the file is empty; export or copy it again"
    path.write_text('[{"image_id": 1, "caption": "data"}]')
    assert not detect(path)
    path.write_text(json.dumps([{"data": {"image": "1.jpg"}, "annotations": []}]))
    assert detect(path)
    path.unlink()
    path.mkdir()
    assert not detect(path)


def test_windows_line_ends_and_a_byte_order_mark(tmp_path):
    before = read(layout.write(tmp_path))
    path = tmp_path / "export.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(layout.TASKS, indent=2).replace("\n", "\r\n").encode() + b"\r\n\r\n")
    assert detect(path) and read(path).labels == before.labels


@pytest.mark.parametrize("name", [module.name for module in iter_modules(layouts.__path__)])
def test_detects_its_own_layout_alone(tmp_path, name):
    path = import_module(f"tests.data.formats.layouts.{name}").write(tmp_path)
    own = name in ("label_studio", "label_studio_csv")
    assert detect(path) == own
    assert own or not any(map(detect, tmp_path.rglob("*")))
    assert not detect(tmp_path / "nowhere.json") and not detect(Path("a\0b.json"))


@pytest.mark.parametrize("seed", range(60))
def test_broken_bytes_raise_nothing_else(tmp_path, seed):
    """Whatever bytes are changed, it is read or refused in one line."""
    draw = np.random.default_rng(seed)
    content = bytearray(json.dumps(FLAT if seed % 3 == 0 else layout.TASKS).encode())
    for place in draw.integers(len(content), size=draw.integers(1, 5)):
        content[place] = draw.choice(list(b'\x00{}[]":,9-eE\\ u\xffa\n'))
    path = tmp_path / "export.json"
    path.write_bytes(bytes(content))
    detect(path)
    for options in ({}, {"unlisted": "absent"}, {"field": "choice"}):
        try:
            read(path, **options)
        except TrilabelError as error:
            assert "\n" not in str(error)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=3), lambda x: st.lists(x, max_size=2), max_leaves=4
    ),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_any_value_in_any_place(tmp_path_factory, value, data):
    """A value of the wrong kind is left out or refused in one line, wherever it stands."""
    inner = tasks = json.loads(json.dumps(data.draw(st.sampled_from([layout.TASKS, FLAT]))))
    while True:
        key = data.draw(st.sampled_from(list(inner) if isinstance(inner, dict) else range(len(inner))))
        if not isinstance(inner[key], dict | list) or not inner[key] or data.draw(st.booleans()):
            break
        inner = inner[key]
    inner[key] = value
    try:
        read(save(tmp_path_factory.getbasetemp(), tasks))
    except TrilabelError as error:
        assert "\n" not in str(error)
