"""Round trips with the tools themselves as judges; `make interop` installs them and runs these."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support.fiftyone_in_memory import import_fiftyone
from trilabel.data import Boxes, Dataset, read, write
from trilabel.data.decode import decode
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


def counted(dm: Any, found: Any) -> dict[str, int]:
    """In how many images datumaro finds each class."""
    names = [label.name for label in found.categories()[dm.AnnotationType.label]]
    each = [{names[one.label] for one in item.annotations} for item in found]
    return {name: sum(name in labels for labels in each) for name in CLASSES}


@pytest.mark.parametrize(
    ("ours", "theirs", "out", "annotations"),
    [
        ("yolo", "yolo", "out", 5),
        ("voc", "voc_detection", "out", 5),
        ("voc", "voc_classification", "out", 4),
        ("cvat", "cvat", "annotations.xml", 5),
        ("coco", "coco_instances", "out", 5),
    ],
)
def test_datumaro_reads_what_we_write(tmp_path, ours, theirs, out, annotations):
    dm = pytest.importorskip("datumaro")
    write(own(tmp_path), tmp_path / out, ours)
    if ours == "coco":  # it asks for a folder of images for each split
        for split in ("train", "val"):
            shutil.copytree(tmp_path / "images", tmp_path / "out/images" / split)
    found = dm.Dataset.import_from(str(tmp_path / out), theirs)
    assert counted(dm, found) == COUNTS and sum(len(item.annotations) for item in found) == annotations
    assert {name: len(items) for name, items in found.subsets().items()} == {"train": 2, "val": 2}
    assert counts(read(tmp_path / out)) == COUNTS


def test_panoptic_segments_of_datumaro(tmp_path):
    dm = pytest.importorskip("datumaro")
    items = []
    for name, (split, labels) in OBJECTS.items():
        masks = []
        for number, cls in enumerate(labels):
            mask = np.zeros((40, 60), bool)
            mask[10 * number : 10 * number + 5, :5] = True
            about = {"id": number + 1, "group": number + 1, "attributes": {"is_crowd": False}}
            masks.append(dm.Mask(mask, label=cls, **about))
        pixels = np.zeros((40, 60, 3), np.uint8)
        items.append(dm.DatasetItem(name, subset=split, media=dm.Image.from_numpy(pixels), annotations=masks))
    dm.Dataset.from_iterable(items, categories=CLASSES).export(str(tmp_path), "coco_panoptic", save_media=True)
    found = read(tmp_path)
    assert counts(found) == COUNTS and len(found.boxes.cls) == 5 and len(found) == 4


# ---- FiftyOne's own importers


def test_fiftyone_imports_what_we_write(tmp_path):
    fo = import_fiftyone()
    before = own(tmp_path)
    for ours, kind, out in (
        ("yolo", fo.types.YOLOv5Dataset, "yolo"),
        ("voc", fo.types.VOCDetectionDataset, "voc"),
        ("cvat", fo.types.CVATImageDataset, "images/labels.xml"),
        ("coco", fo.types.COCODetectionDataset, "images/labels.json"),
    ):
        # It looks for images of a subset of CVAT in a folder of its name, where an export of CVAT has them.
        write(replace(before, splits={}) if ours == "cvat" else before, tmp_path / out, ours)
        places = {"dataset_dir": str(tmp_path / out)}
        if ours in ("cvat", "coco"):
            places = {"data_path": str(tmp_path / "images"), "labels_path": str(tmp_path / out)}
        elif ours == "voc":
            places = {"data_path": str(tmp_path / "voc/JPEGImages"), "labels_path": str(tmp_path / "voc/Annotations")}
        found = fo.Dataset()
        for split in ("train", "val") if ours == "yolo" else (None,):
            more = {"split": split, "yaml_path": "data.yaml"} if split else {}
            found.add_dir(dataset_type=kind, label_field="truth", **places, **more)
        field = next(name for name in found.get_field_schema() if name.startswith("truth"))
        told = [set(filter(None, labels or [])) for labels in found.values(f"{field}.detections.label")]
        assert {name: sum(name in labels for labels in told) for name in CLASSES} == COUNTS, ours


# ---- MMEngine, on which OpenMMLab's data sets stand


def test_mmengine_reads_ours(tmp_path):
    mmengine = pytest.importorskip("mmengine.dataset")
    before = own(tmp_path)
    write(before, tmp_path / "images/labels.json", "openmmlab")

    class Plain(mmengine.BaseDataset):
        """Records as they are in the file."""

        def parse_data_info(self, raw):
            return raw

    found = Plain(ann_file=str(tmp_path / "images/labels.json"))
    lists = [found.get_data_info(row)["gt_label"] for row in range(len(found))]
    assert {
        name: sum(number in one for one in lists) for number, name in enumerate(found.metainfo["classes"])
    } == COUNTS
    assert counts(read(tmp_path / "images/labels.json")) == COUNTS


# ---- shards


# ---- pycocotools


def test_pycocotools_counts_our_coco(tmp_path):
    coco = pytest.importorskip("pycocotools.coco")
    write(own(tmp_path), tmp_path / "labels.json", "coco")
    found = coco.COCO(str(tmp_path / "labels.json"))
    assert {name: len(found.getImgIds(catIds=found.getCatIds([name]))) for name in CLASSES} == COUNTS
    assert len(found.getAnnIds()) == 5


def test_webdataset_writes_and_counts(tmp_path):
    wds = pytest.importorskip("webdataset")
    with wds.ShardWriter(str(tmp_path / "train-%04d.tar"), maxcount=3, verbose=0) as writer:
        for name, (_, labels) in OBJECTS.items():
            content = photo(tmp_path / "photo.jpg").read_bytes()
            writer.write({"__key__": name, "jpg": content, "json": {"labels": [CLASSES[cls] for cls in labels]}})
    found = read(tmp_path)
    assert counts(found) == COUNTS and len(found) == sum(1 for _ in wds.WebDataset(
        [str(file) for file in sorted(tmp_path.glob("*.tar"))], shardshuffle=False
    ))  # fmt: skip
    assert all(decode(path, 8).shape == (3, 8, 8) for path in found.paths)


@pytest.mark.parametrize("kind", ["parquet", "disk", "objects"])
def test_datasets_with_images_inside(tmp_path, kind):
    datasets = pytest.importorskip("datasets")
    labels = [sorted(set(labels)) for _, labels in OBJECTS.values()]
    names = datasets.ClassLabel(names=CLASSES)
    columns = {"image": [str(photo(tmp_path / f"photos/{number}.jpg")) for number in range(4)], "labels": labels}
    features = {"image": datasets.Image(), "labels": datasets.Sequence(names)}
    if kind == "objects":
        drawn = [{"bbox": [[6.0, 4, 12, 8]] * len(each), "category": each} for _, each in OBJECTS.values()]
        columns = {"image": columns["image"], "width": [60] * 4, "height": [40] * 4, "objects": drawn}
        features = {"image": datasets.Image(), "width": datasets.Value("int32"), "height": datasets.Value("int32")}
        features["objects"] = {
            "bbox": datasets.Sequence(datasets.Sequence(datasets.Value("float32"))),
            "category": datasets.Sequence(names),
        }
    made = datasets.Dataset.from_dict(columns, datasets.Features(features))
    parts = datasets.DatasetDict({"train": made.select([0, 1]), "validation": made.select([2, 3])})
    if kind == "disk":
        parts.save_to_disk(str(tmp_path / "out"))
    else:
        (tmp_path / "out/data").mkdir(parents=True)
        for split, part in parts.items():
            part.to_parquet(tmp_path / f"out/data/{split}-00000-of-00001.parquet")
    found = read(tmp_path / "out")
    assert counts(found) == COUNTS and list(found.classes) == CLASSES
    assert {name: len(rows) for name, rows in found.splits.items()} == {"train": 2, "val": 2}
    assert kind != "objects" or (len(found.boxes.cls) == 5 and np.allclose(found.boxes.xyxy[0], [0.1, 0.1, 0.3, 0.3]))
    for path in found.paths:
        pixels = np.asarray(made[0]["image"].convert("RGB").resize((8, 8), Image.Resampling.BILINEAR), np.int16)
        assert np.abs(decode(path, 8).permute(1, 2, 0).numpy().astype(np.int16) - pixels).max() < 60


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


def test_label_studio_takes_our_predictions(tmp_path):
    interface = pytest.importorskip("label_studio_sdk.label_interface")
    before = own(tmp_path)
    write(before, tmp_path / "tasks.json", "label-studio", predictions=True, present="t", absent="")
    config = VIEW.format(
        CHOICES[CHOICES.index("<Choices") :].removesuffix("</View>")
        + DRAWN[DRAWN.index("<Rectangle") :].replace('name="l"', 'name="box"').removesuffix("</View>")
    )
    judge = interface.LabelInterface(config)
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    told = [prediction for task in tasks for prediction in task["predictions"]]
    assert len(told) == 3 and all(judge.validate_prediction(prediction) for prediction in told)
    chosen = [name for one in told for result in one["result"] for name in result["value"].get("choices", ())]
    assert {name: chosen.count(name) for name in CLASSES} == COUNTS
