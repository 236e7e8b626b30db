"""A folder of FiftyOne's type FiftyOneDataset: metadata.json, samples.json and data/."""

import json
from pathlib import Path
from typing import Any

METADATA = {
    "name": "quickstart",
    "version": "1.3.0",
    "media_type": "image",
    "sample_fields": [{"name": "ground_truth", "ftype": "fiftyone.core.fields.EmbeddedDocumentField"}],
    "classes": {"ground_truth": ["bird", "cat", "horse"]},
    "default_classes": [],
}


def _detection(label: str | None, *box: float) -> dict[str, Any]:
    identity = {"_id": {"$oid": "5f452471ef00e6374aac53c8"}, "_cls": "Detection"}
    return {**identity, "attributes": {}, "tags": [], "label": label, "bounding_box": list(box), "mask": None}


def _sample(name: str, tags: list[str], *detections: dict[str, Any], **more: Any) -> dict[str, Any]:
    truth = {"_cls": "Detections", "detections": list(detections)}
    metadata = {"_cls": "ImageMetadata", "size_bytes": 117054, "width": 640, "height": 480}
    start = {"filepath": f"data/{name}", "tags": tags, "_media_type": "image", "metadata": metadata}
    return {**start, "uniqueness": 0.8, "ground_truth": truth, **more}


SAMPLES = {
    "samples": [
        _sample("000880.jpg", ["validation"], _detection("bird", 0.25, 0.5, 0.5, 0.25), _detection("dog", 0, 0, 1, 1)),
        _sample(
            "000868.jpg", ["train", "checked"], _detection("bird", 0.9, 0.9, 0.2, 0.2), _detection(None, 0, 0, 1, 1)
        ),
        _sample("x/000869.jpg", ["test"]),
        _sample("000870.jpg", ["train", "test"], ground_truth=None),
        {"filepath": "data/000871.jpg", "tags": []},
    ]
}


def write(root: Path) -> Path:
    """Writes the folder below `root` and returns it."""
    home = root / "quickstart"
    (home / "data/x").mkdir(parents=True)
    for sample in SAMPLES["samples"]:
        (home / sample["filepath"]).touch()
    (home / "metadata.json").write_text(json.dumps(METADATA), encoding="utf-8")
    (home / "samples.json").write_text(json.dumps(SAMPLES), encoding="utf-8")
    return home
