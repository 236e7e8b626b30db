"""A project of Label Studio exported as JSON: choices and rectangles, two annotators, a skipped and a new task."""

import json
from pathlib import Path
from typing import Any


def choices(*names: str, field: str = "choice") -> dict[str, Any]:
    """The result of a <Choices> control."""
    return {
        "id": "CkRNBWbSiK",
        "from_name": field,
        "to_name": "image",
        "type": "choices",
        "value": {"choices": list(names)},
        "origin": "manual",
    }


def rectangle(name: str, x: float, y: float, width: float, height: float, rotation: float = 0) -> dict[str, Any]:
    """The result of a <RectangleLabels> control; coordinates are per cent."""
    return {
        "id": "Dx_aB91ISN",
        "from_name": "label",
        "to_name": "image",
        "type": "rectanglelabels",
        "original_width": 200,
        "original_height": 100,
        "image_rotation": 0,
        "value": {
            "x": x,
            "y": y,
            "width": width,
            "height": height,
            "rotation": rotation,
            "rectanglelabels": [name],
        },
    }


def annotation(*results: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What one annotator handed in."""
    return {
        "id": 7,
        "completed_by": 1,
        "result": list(results),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2024-03-09T22:16:08.728353Z",
        "lead_time": 4.288,
        "unique_id": "0b1f3c1c-7f3c-4e8e-9d0c-7d2d3b0d8a11",
        **more,
    }


def task(number: int, image: str, *annotations: dict[str, Any], **data: Any) -> dict[str, Any]:
    """A task as it is exported: what is in `data` comes after the annotations."""
    return {
        "id": number,
        "annotations": list(annotations),
        "file_upload": image.rpartition("/")[2],
        "drafts": [],
        "predictions": [{"model_version": "v1", "result": [choices("Fog")], "score": 0.9}],
        "data": {"image": image, **data},
        "meta": {},
        "created_at": "2024-03-09T21:52:49.513742Z",
        "inner_id": number,
        "total_annotations": len(annotations),
        "project": 83,
    }


TASKS = [
    task(1, "/data/upload/83/1a2b3c4d-sea_1.jpg", annotation(choices("Sea", "Sky"), rectangle("Boat", 10, 20, 30, 40))),
    task(2, "/data/upload/83/5e6f7a8b-sea%202.jpg", annotation(choices("Sea", "Boat")), annotation(choices("Sea"))),
    task(3, "/data/local-files/?d=photos/%C3%A9t%C3%A9.jpg", annotation(was_cancelled=True)),
    task(4, "https://example.com/a/b/4.jpg?X-Amz-Date=2024", annotation()),
    task(5, "s3://bucket/c/5.PNG"),
]


def write(root: Path) -> Path:
    """Writes the export below `root`, named as Label Studio names it, and returns its path."""
    file = root / "project-83-at-2024-03-10-10-00-1a2b3c4d.json"
    file.write_text(json.dumps(TASKS, ensure_ascii=False), encoding="utf-8")
    return file
