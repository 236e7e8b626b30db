"""Round trips with the tools themselves as judges; `make interop` installs them and runs these."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from trilabel.data import Boxes, Dataset, read, write
from trilabel.labels import Labels

pytestmark = pytest.mark.interop
CLASSES = ["cat", "dog", "big bird"]
OBJECTS = {"a": ("train", [0, 1, 1]), "b": ("train", [2]), "c": ("val", [0]), "d d": ("val", [])}
COUNTS = {"cat": 2, "dog": 1, "big bird": 1}


def counts(dataset: Dataset) -> dict[str, int]:
    present, _ = dataset.labels.counts_per_class()
    return dict(zip(dataset.classes, present.tolist(), strict=True))


def photo(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.arange(40 * 60 * 3, dtype=np.uint8).reshape(40, 60, 3)).save(path)
    return path


def own(root: Path) -> Dataset:
    """The same objects as a data set of ours, with images beside."""
    paths = [str(photo(root / f"images/{name}.jpg")) for name in OBJECTS]
    signs = np.full((4, 3), -1)
    for row, (_, labels) in enumerate(OBJECTS.values()):
        signs[row, labels] = 1
    drawn = [(row, cls) for row, (_, labels) in enumerate(OBJECTS.values()) for cls in labels]
    image, cls = np.array(drawn).T
    boxes = Boxes(image, cls, np.tile(np.array([0.1, 0.2, 0.5, 0.6], np.float32), (len(drawn), 1)))
    labels = Labels.from_signed(signs, CLASSES, [f"{name}.jpg" for name in OBJECTS])
    return Dataset(labels.ids, paths, labels, {"train": np.array([0, 1]), "val": np.array([2, 3])}, boxes)


# ---- datumaro


@pytest.mark.parametrize(
    "kind", ["coco_instances", "voc_detection", "yolo", "yolo_ultralytics", "cvat", "label_me", "open_images"]
)
def test_what_datumaro_writes(tmp_path, kind):
    dm = pytest.importorskip("datumaro")
    pixels = np.arange(40 * 60 * 3, dtype=np.uint8).reshape(40, 60, 3)
    items = [
        dm.DatasetItem(
            name,
            subset=split,
            media=dm.Image.from_numpy(pixels),
            annotations=[dm.Bbox(5 + i, 5, 20, 10, label=cls, id=i, group=i + 1) for i, cls in enumerate(labels)],
        )
        for name, (split, labels) in OBJECTS.items()
    ]
    dm.Dataset.from_iterable(items, categories=CLASSES).export(str(tmp_path), kind, save_media=True)
    found = read(tmp_path)
    bare = int(kind != "open_images")  # which lists no image without a box
    assert counts(found) == COUNTS and len(found) == 3 + bare
    assert {name: len(rows) for name, rows in found.splits.items()} == {"train": 2, "val": 1 + bare}
    assert all(Path(path).is_file() for path in found.paths)
    assert kind == "label_me" or len(found.boxes.cls) == 5  # it has polygons


def test_datumaro_reads_our_coco(tmp_path):
    dm = pytest.importorskip("datumaro")
    write(own(tmp_path), tmp_path / "annotations/instances_train.json", "coco")
    found = dm.Dataset.import_from(str(tmp_path), "coco_instances")
    assert len(found) == 4 and sum(len(item.annotations) for item in found) == 5


# ---- pycocotools


def test_pycocotools_counts_our_coco(tmp_path):
    coco = pytest.importorskip("pycocotools.coco")
    write(own(tmp_path), tmp_path / "labels.json", "coco")
    found = coco.COCO(str(tmp_path / "labels.json"))
    assert {name: len(found.getImgIds(catIds=found.getCatIds([name]))) for name in CLASSES} == COUNTS
    assert len(found.getAnnIds()) == 5


# ---- Hugging Face's datasets


def test_datasets_counts_our_folder_and_we_its_metadata(tmp_path):
    datasets = pytest.importorskip("datasets")
    before = own(tmp_path)
    write(replace(before, boxes=None, splits={}), tmp_path / "images", "huggingface")
    loaded = datasets.load_dataset("imagefolder", data_dir=str(tmp_path / "images"), cache_dir=str(tmp_path / "cache"))
    table = loaded["train"].remove_columns("image")
    assert {name: sum(value == 1 for value in table[name]) for name in CLASSES} == COUNTS
    named = table.add_column("file_name", [f"{name}.jpg" for name in OBJECTS])
    (tmp_path / "again").mkdir()
    named.to_parquet(tmp_path / "again/metadata.parquet")
    named.to_csv(tmp_path / "labels.csv")
    assert counts(read(tmp_path / "again")) == COUNTS
    assert counts(read(tmp_path / "labels.csv")) == COUNTS


# ---- Label Studio's own converter

VIEW = '<View><Image name="image" value="$image"/>{}</View>'
CHOICES = VIEW.format(
    '<Choices name="t" toName="image" choice="multiple">'
    + "".join(f'<Choice value="{name}"/>' for name in CLASSES)
    + "</Choices>"
)
DRAWN = VIEW.format(
    '<RectangleLabels name="l" toName="image">'
    + "".join(f'<Label value="{name}"/>' for name in CLASSES)
    + "</RectangleLabels>"
)


def result(kind: str, labels: list[int]) -> list[dict]:
    names = [CLASSES[cls] for cls in labels]
    if kind == "choices":
        value = {"choices": list(dict.fromkeys(names))}
        return [{"id": "x", "from_name": "t", "to_name": "image", "type": kind, "value": value}] if names else []
    size = {"original_width": 60, "original_height": 40, "image_rotation": 0}
    box = {"x": 10, "y": 10, "width": 30, "height": 20, "rotation": 0}
    return [
        {"id": f"r{i}", "from_name": "l", "to_name": "image", "type": kind, **size, "value": {kind: [name], **box}}
        for i, name in enumerate(names)
    ]


@pytest.mark.parametrize(
    ("kind", "export"),
    [("choices", name) for name in ("JSON", "JSON_MIN", "CSV", "TSV")]
    + [("rectanglelabels", name) for name in ("JSON", "JSON_MIN", "CSV", "COCO", "VOC", "YOLO")],
)
def test_what_label_studio_converts_to(tmp_path, kind, export):
    converter = pytest.importorskip("label_studio_sdk.converter")
    tasks = [
        {
            "id": number,
            "data": {"image": str(photo(tmp_path / f"photos/{name}.jpg"))},
            "annotations": [{"id": number, "result": result(kind, labels), "completed_by": 1, "was_cancelled": False}],
        }
        for number, (name, (_, labels)) in enumerate(OBJECTS.items())
    ]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    tool = converter.Converter(CHOICES if kind == "choices" else DRAWN, str(tmp_path), upload_dir=str(tmp_path))
    tool.convert(str(tmp_path / "tasks.json"), str(tmp_path / "out"), export, is_dir=False)
    single = [file for file in (tmp_path / "out").glob("result.*") if export != "COCO"]
    found = read(single[0] if single else tmp_path / "out")
    assert counts(found) == COUNTS
    assert kind == "choices" or len(found.boxes.cls) == 5


def test_label_studio_converts_ours(tmp_path):
    converter = pytest.importorskip("label_studio_sdk.converter")
    before = own(tmp_path)
    write(before, tmp_path / "tasks.json", "label-studio")
    fields = "".join(CHOICES[CHOICES.index("<Choices") :].replace("</View>", "").replace('name="t"', f'name="{name}"')
                     for name in ("present", "absent"))  # fmt: skip
    boxes = DRAWN[DRAWN.index("<Rectangle") :].replace('name="l"', 'name="box"').removesuffix("</View>")
    tool = converter.Converter(VIEW.format(fields + boxes), str(tmp_path), download_resources=False)
    tool.convert(str(tmp_path / "tasks.json"), str(tmp_path / "out"), "JSON_MIN", is_dir=False)
    after = read(tmp_path / "out/result.json")
    assert after.labels == before.labels and len(after.boxes.cls) == 5
