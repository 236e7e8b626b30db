"""A folder of LabelMe: a JSON file beside each image, of several versions, and the labels that it was started with."""

import json
from pathlib import Path
from typing import Any


def shape(label: str, *points: list[float], kind: str = "polygon") -> dict[str, Any]:
    """A shape as version 5 writes it."""
    more = {"group_id": None, "description": "", "shape_type": kind, "flags": {}, "mask": None}
    return {"label": label, "points": list(points), **more}


def document(image: str, *shapes: dict[str, Any], flags: dict[str, bool] | None = None, **more: Any) -> dict[str, Any]:
    """A file about an image of 100 by 50 pixels."""
    size = {"imageHeight": 50, "imageWidth": 100}
    start = {"version": "5.4.1", "flags": flags or {}, "shapes": list(shapes)}
    return {**start, "imagePath": image, "imageData": None, **size, **more}


FILES = {
    "train/1.json": document(
        "1.jpg", shape("person", [10, 5], [60, 45], kind="rectangle"), shape("person", [0, 0], [50, 0], [50, 25])
    ),
    "train/2.json": document(
        "..\\train\\2.jpg",
        shape("sofa", [50, 25], [60, 25], kind="circle"),
        shape("lamp", [3, 4], kind="point"),
        shape("__ignore__", [0, 0], [9, 0], [9, 9]),
        flags={"indoor": True, "night": False, "__ignore__": False},
    ),
    "val/3.json": {  # an old version: no version, no size, no types of shapes
        "flags": {},
        "shapes": [{"label": "sofa", "line_color": None, "fill_color": None, "points": [[1, 1], [9, 1], [9, 9]]}],
        "lineColor": [0, 255, 0, 128],
        "fillColor": [255, 0, 0, 128],
        "imagePath": "3.jpg",
        "imageData": "/9j/4AAQSkZJRgABAQAAAQABAAD",
    },
    "val/4.json": document("4.jpg", flags={"indoor": False}),
}


def write(root: Path) -> Path:
    """Writes four images with files and returns their folder."""
    home = root / "data_annotated"
    for name, content in FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(json.dumps(content, indent=2), encoding="utf-8")
        (home / name).with_suffix(".jpg").touch()
    (home / "labels.txt").write_text("__ignore__\n_background_\nsofa\nperson\ntable\n")
    return home
