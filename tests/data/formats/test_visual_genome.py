"""Visual Genome: VG-500 as published, objects of the original release, and what happens to damaged files."""

import json
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

from tests.data.formats import layouts
from tests.data.formats.layouts import visual_genome as layout
from tests.support.seen import refusal_of
from tests.support.seen import rows as splits_of
from trilabel.data.formats.visual_genome import RULE, detect, read

refusal = refusal_of(read)

INDEX = "vg_category_500_labels_index.json"


@pytest.fixture
def home(tmp_path) -> Path:
    return layout.write(tmp_path)


# ---- VG-500 and VG-200


@pytest.mark.parametrize("inside", ["", INDEX, ".."])
def test_reads_labels_splits_and_paths(home, inside):
    assert detect(home / inside)
    dataset = read(home / inside, classes=6)
    assert dataset.ids == ["2416218.jpg", "2.jpg", "107899.jpg", "713521.jpg", "1592810.jpg"]
    assert dataset.classes == ["0", "1", "2", "3", "4", "5"]
    assert dataset.labels.to_signed().tolist() == [
        [1, 1, -1, -1, 1, -1],
        [-1, -1, -1, 1, -1, -1],
        [1, -1, 1, -1, -1, 1],
        [-1, -1, 1, -1, -1, -1],
        [-1, -1, -1, -1, 1, 1],
    ]
    assert splits_of(dataset) == {"train": [0, 1, 2], "test": [3, 4]}
    folders = [Path(path).parent.name for path in dataset.paths]
    assert folders == ["VG_100K_2", "VG_100K", "VG_100K", "VG_100K", "VG_100K_2"]
    assert all(Path(path).is_file() for path in dataset.paths) and dataset.boxes is None
    assert dataset.notes == (
        "listed classes are present, others absent",
        "no vg_category_500.json here: classes are named by their numbers",
    )


def test_number_of_classes(home):
    assert read(home).labels.shape == (5, 500)
    fewer = read(home, classes=2)
    assert fewer.labels.to_signed().tolist() == [[1, 1], [-1, -1], [1, -1], [-1, -1], [-1, -1]]
    assert fewer.notes[2] == "3 images list no class: all are absent"
    (home / "vg_category_200_labels_index.json").write_text(json.dumps({**layout.INDEX, "2.jpg": [199]}))
    assert refusal(home) == "ROOT: contains labels of 200, 500 classes; choose with classes"
    assert read(home, classes=200).labels.to_signed()[1, 199] == 1
    assert splits_of(read(home, classes=200)) == {"train": [0, 1, 2], "test": [3, 4]}  # by lists that are called 500
    assert read(home, classes=500).labels.to_signed()[1, 3] == 1
    assert refusal(home, classes=501) == "ROOT: no labels of 501 classes here, only of 200, 500"
    assert refusal(home, classes=0) == "ROOT: classes=0: use 1 or more"


@pytest.mark.parametrize("form", ["list", "numbers"])
def test_names_of_classes(home, form):
    names = [f"thing {number}" for number in range(500)]
    content = names if form == "list" else {name: number for number, name in reversed(list(enumerate(names)))}
    (home / "vg_category_500.json").write_text(json.dumps(content))
    dataset = read(home, classes=3)
    assert dataset.classes == ["thing 0", "thing 1", "thing 2"]
    assert dataset.notes == (
        "listed classes are present, others absent",
        "2 images list no class: all are absent",
    )
    (home / "vg_category_500.json").write_text(json.dumps(names[:9]))
    assert refusal(home) == (
        "ROOT/vg_category_500.json, line 1: the document names 9 classes, not 500: a list, or an object from name to "
        "number"
    )
    (home / "vg_category_500.json").write_text('["a",\n5]')
    assert refusal(home) == "ROOT/vg_category_500.json, line 2: [1] is 5, not a text"


def test_lists_that_do_not_name_every_image(home):
    (home / "train_list_500.txt").write_text("2.jpg\r\n\r\n  107899.jpg \r\n\r\n")
    dataset = read(home)
    assert dataset.ids == ["2.jpg", "107899.jpg", "713521.jpg", "1592810.jpg", "2416218.jpg"]
    assert splits_of(dataset) == {"train": [0, 1], "test": [2, 3]}
    assert dataset.notes[-1] == "1 images are in no list and have no split"
    for split in ("train", "test"):
        (home / f"{split}_list_500.txt").unlink()
    assert read(home).splits == {} and read(home).ids == list(layout.INDEX) and len(read(home).notes) == 2


def test_where_the_images_are(home, tmp_path):
    assert read(home, images=home / "VG_100K").paths[0] == str(home / "VG_100K/2416218.jpg")
    (tmp_path / "photos").mkdir()
    (home / "VG_100K").rename(tmp_path / "photos/VG_100K")
    assert read(home, images=tmp_path / "photos").paths[1] == str(tmp_path / "photos/VG_100K/2.jpg")
    assert refusal(home, images=home / "nowhere") == "ROOT/nowhere: no such folder of images"
    assert len(read(home)) == 5


def test_lists_in_a_folder_of_their_own(home):
    (home / "ssgrl_partition").mkdir()
    for file in (*home.glob("*.txt"), home / INDEX):
        file.rename(home / "ssgrl_partition" / file.name)
    dataset = read(home)
    assert splits_of(dataset) == {"train": [0, 1, 2], "test": [3, 4]}
    assert dataset.paths[0] == str(home / "VG_100K_2/2416218.jpg")


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (INDEX, b"", f"{INDEX}, line 1: the file is empty; export or copy it again"),
        (INDEX, b"{}", f"{INDEX}, line 1: the document is empty, so there is nothing to read"),
        (INDEX, b"[1]", f"{INDEX}, line 1: the document is [1], not an object"),
        (INDEX, b'{"2.jpg": [3]}', "train_list_500.txt, line 1: image '2416218.jpg' is not in " + INDEX),
        (
            "train_list_500.txt",
            b"2.jpg\n\n2.jpg\n",
            "train_list_500.txt, line 3: image '2.jpg' is in split 'train' already",
        ),
        ("test_list_500.txt", b"2.jpg\n", "test_list_500.txt, line 1: image '2.jpg' is in split 'train' already"),
        ("test_list_500.txt", b"713521.jpg\n\xff", "test_list_500.txt, line 2: not UTF-8 text; save it as UTF-8"),
        (
            "test_list_500.txt",
            b"713521.jpg\n\x00",
            "test_list_500.txt, line 2: contains a zero byte, so it is not text; write it again",
        ),
    ],
)
def test_damaged_files(home, file, text, message):
    (home / file).write_bytes(text)
    assert refusal(home) == f"ROOT/{message}"


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ("[3,\n500]", "line 2: 2.jpg[1] is 500, not the number of a class, 0 to 499"),
        ("[-1]", "line 1: 2.jpg[0] is -1, not the number of a class, 0 to 499"),
        ("[1.0]", "line 1: 2.jpg[0] is 1.0, not the number of a class, 0 to 499"),
        ("[true]", "line 1: 2.jpg[0] is True, not the number of a class, 0 to 499"),
        ("7", "line 1: 2.jpg is 7, not a list"),
        ("null", "line 1: 2.jpg is missing"),
    ],
)
def test_numbers_that_are_no_classes(home, numbers, message):
    for file in home.glob("*.txt"):
        file.unlink()
    (home / INDEX).write_text('{"2.jpg": ' + numbers + "}")
    assert refusal(home) == f"ROOT/{INDEX}, {message}"


def test_a_line_end_in_a_name_stays_in_the_line(home):
    for file in home.glob("*.txt"):
        file.unlink()
    (home / INDEX).write_text('{"a\\nb": 1}')
    assert refusal(home) == f"ROOT/{INDEX}, line 1: a\\nb is 1, not a list"


def test_folders_where_files_should_be(home):
    for name in ("test_list_500.txt", INDEX):
        (home / name).unlink()
        (home / name).mkdir()
        assert refusal(home) == f"ROOT/{name}: not a regular file (a folder); put the file in its place"


# ---- objects


def thing(*names: str, box=(0, 0, 10, 10)) -> dict:
    x, y, w, h = box
    return {"synsets": [f"{name}.n.01" for name in names], "h": h, "object_id": 1058549, "merged_object_ids": [],
            "names": list(names), "w": w, "y": y, "x": x}  # fmt: skip


OBJECTS = [
    {"image_id": 1, "objects": [thing("clock", box=(421, 91, 79, 339)), thing("Tree "), thing("man", "person")]},
    {"image_id": 2, "objects": [thing("tree"), thing("tree", box=(-8, 30, 16, 6)), thing("man")]},
    {"image_id": 61512, "objects": []},
    {"image_id": 7, "objects": [thing("zebra"), thing(), thing(" ")]},
]
SIZES = [{"width": 800, "height": 600, "image_id": n, "coco_id": None, "flickr_id": 5} for n in (1, 7, 99)]
SIZES[2]["width"] = 1  # of an image that has no objects here
SIZES.append({"width": 80, "height": 60, "image_id": 2, "url": "https://cs.stanford.edu/people/rak248/VG_100K/2.jpg"})


def save_objects(folder: Path, objects=OBJECTS, sizes=SIZES, name="objects.json") -> Path:
    for file, records in ((name, objects), ("image_data.json", sizes)):
        (folder / file).write_text("[\n" + ",\n".join(map(json.dumps, records)) + "\n]")
    return folder


@pytest.mark.parametrize("name", ["objects.json", "objects_v1.json", "objects_v1_2.json"])
def test_objects(tmp_path, name):
    save_objects(tmp_path, name=name)
    assert detect(tmp_path) and detect(tmp_path / name) and not detect(tmp_path / "image_data.json")
    dataset = read(tmp_path, classes=3)
    assert dataset.classes == ["tree", "man", "clock"]  # three, two, and the first of the alphabet of those named once
    assert dataset.ids == ["1.jpg", "2.jpg", "61512.jpg", "7.jpg"]
    assert dataset.labels.to_signed().tolist() == [[1, 1, 1], [1, 1, -1], [0, 0, 0], [-1, -1, -1]]
    assert dataset.splits == {}
    assert dataset.notes == (
        "classes are the 3 most frequent names of objects; named objects are present, others absent",
        "1 images without any object are unknown",
    )
    assert dataset.boxes.image.tolist() == [0, 0, 0, 1, 1, 1] and dataset.boxes.cls.tolist() == [2, 0, 1, 0, 0, 1]
    small = [0, 0, 0.0125, 10 / 600]
    expected = [
        [421 / 800, 91 / 600, 0.625, 430 / 600],
        small,
        small,
        [0, 0, 0.125, 1 / 6],
        [0, 0.5, 0.1, 0.6],
        [0, 0, 0.125, 1 / 6],
    ]
    np.testing.assert_allclose(dataset.boxes.xyxy, expected, rtol=1e-6)
    full = read(tmp_path)
    assert full.classes == ["tree", "man", "clock", "person", "zebra"]
    np.testing.assert_allclose(full.boxes.xyxy[-1], small, rtol=1e-6)


def test_objects_of_the_first_release_and_without_sizes(tmp_path):
    old = [{"id": record["image_id"], "objects": record["objects"]} for record in OBJECTS]
    old_sizes = [{"id": record["image_id"], **{k: v for k, v in record.items() if k != "image_id"}} for record in SIZES]
    first = read(save_objects(tmp_path))
    again = read(save_objects(tmp_path, old, old_sizes))
    assert again.labels == first.labels and again.boxes.xyxy.tolist() == first.boxes.xyxy.tolist()
    (tmp_path / "image_data.json").unlink()
    bare = read(tmp_path)
    assert bare.labels == first.labels and bare.boxes is None
    assert bare.notes[-1] == "no image_data.json here, so the sizes of images are not known: no boxes"
    partly = read(save_objects(tmp_path, sizes=SIZES[:1]))
    assert partly.notes[-1] == "4 objects have no usable box or image size: no boxes are read for them"
    assert len(partly.boxes.cls) == 4 and len(read(save_objects(tmp_path, sizes=[])).boxes.cls) == 0


def test_objects_with_lists_of_splits(tmp_path):
    save_objects(tmp_path)
    (tmp_path / "train_list_500.txt").write_text("2.jpg\n7.jpg\n")
    (tmp_path / "test_list_500.txt").write_text("1.jpg\n")
    dataset = read(tmp_path)
    assert splits_of(dataset) == {"test": [0], "train": [1, 3]}
    assert dataset.notes[-1] == "1 images are in no list and have no split"


def test_the_index_goes_before_objects(home):
    save_objects(home)
    assert len(read(home).classes) == 500
    for file in home.glob("*.txt"):
        file.unlink()
    assert len(read(home / "objects.json", classes=3).classes) == 3


def test_several_lists_of_objects(tmp_path):
    save_objects(tmp_path)
    save_objects(tmp_path, name="objects_v1_2.json")
    assert refusal(tmp_path) == "ROOT: contains objects.json, objects_v1_2.json; give the path of one of them"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ([], "line 1: the document is empty, so there is nothing to read"),
        ([5], "line 2: [0] is 5, not an object"),
        ([{"objects": []}], "line 2: [0].image_id is missing"),
        ([OBJECTS[0], OBJECTS[1], OBJECTS[0]], "line 4: [2].image_id is 1, as of [0]; ids must be unique"),
        ([{"image_id": 1}], "line 2: [0].objects is missing"),
        (
            [{"image_id": 1, "objects": []}],
            "line 1: the document contains no names of objects, so there are no classes",
        ),
        ([OBJECTS[0], {"image_id": 3, "objects": [5]}], "line 3: [1].objects[0] is 5, not an object"),
        ([{"image_id": 3, "objects": [{"x": 1, "y": 1, "w": 1, "h": 1}]}], "line 2: [0].objects[0].names is missing"),
        ([{"image_id": 3, "objects": [thing("a"), thing(5)]}], "line 2: [0].objects[1].names[0] is 5, not a text"),
        (
            [{"image_id": 3, "objects": [thing("a", box=("1", 1, 1, 1))]}],
            'line 2: [0].objects[0].x is "1", not a number',
        ),
        (
            [{"image_id": 3, "objects": [{"names": ["a"], "x": 1, "y": 1, "w": 1}]}],
            "line 2: [0].objects[0].h is missing",
        ),
    ],
)
def test_damaged_objects(tmp_path, change, message):
    assert refusal(save_objects(tmp_path, objects=change)) == f"ROOT/objects.json, {message}"


def test_damaged_sizes(tmp_path):
    assert refusal(save_objects(tmp_path, sizes=[SIZES[0], SIZES[0]])) == (
        "ROOT/image_data.json, line 3: [1].image_id is 1, as of [0]; ids must be unique"
    )
    assert refusal(save_objects(tmp_path, sizes=[{"image_id": 1, "width": []}])) == (
        "ROOT/image_data.json, line 2: [0].width is [], not a number"
    )
    huge = [{"image_id": 1, "width": 10**400, "height": 9}]
    assert len(read(save_objects(tmp_path, sizes=huge)).boxes.cls) == 0


# ---- detection and size


def test_detection(tmp_path):
    for module in iter_modules(layouts.__path__):
        (tmp_path / module.name).mkdir()
        written = import_module(f"tests.data.formats.layouts.{module.name}").write(tmp_path / module.name)
        assert detect(written) == (module.name == "visual_genome"), module.name
    (tmp_path / "objects.json").write_text('{"a": 1}')
    assert not detect(tmp_path / "objects.json") and not detect(tmp_path / "nowhere")
    assert refusal(tmp_path / "nowhere") == (
        "ROOT: not Visual Genome, which has vg_category_500_labels_index.json or objects.json"
    )
    assert RULE


def test_an_index_of_the_published_size(tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.integers(500, size=(108_249, 13)).tolist()
    (tmp_path / INDEX).write_text(json.dumps({f"{i}.jpg": row for i, row in enumerate(numbers)}))
    (tmp_path / "train_list_500.txt").write_text("".join(f"{i}.jpg\n" for i in range(98_249)))
    (tmp_path / "test_list_500.txt").write_text("".join(f"{i}.jpg\n" for i in range(98_249, 108_249)))
    dataset = read(tmp_path, classes=200)
    assert len(dataset) == 108_249 and len(dataset.splits["test"]) == 10_000
