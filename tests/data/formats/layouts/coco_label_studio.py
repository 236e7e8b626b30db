"""A project of Label Studio exported as COCO: result.json, with an image for every annotation, and images/."""

import json
from pathlib import Path
from typing import Any


def image(number: int, name: str, width: int | None = 200, height: int | None = 100) -> dict[str, Any]:
    """An image; its size is null where the file could not be loaded and nothing is drawn."""
    return {"width": width, "height": height, "id": number, "file_name": f"images/{name}"}


def box(number: int, of: int, category: int, *xywh: float) -> dict[str, Any]:
    """An annotation."""
    more = {"segmentation": [], "bbox": list(xywh), "ignore": 0, "iscrowd": 0, "area": xywh[2] * xywh[3]}
    return {"id": number, "image_id": of, "category_id": category, **more}


DOCUMENT = {
    "images": [
        image(0, "1a2b3c4d-sea_1.jpg"),
        image(1, "1a2b3c4d-sea_1.jpg"),  # what a second annotator drew
        image(2, "5e6f7a8b-sea_2.jpg"),
        image(3, "9-3.jpg", None, None),
    ],
    "categories": [{"id": 0, "name": "Boat"}, {"id": 1, "name": "Sky"}],
    "annotations": [box(0, 0, 0, 20, 20, 60, 40), box(1, 1, 1, 0, 0, 200, 20), box(2, 2, 1, 0, 0, 200, 20)],
    "info": {
        "year": 2024,
        "version": "1.0",
        "description": "",
        "contributor": "Label Studio",
        "url": "",
        "date_created": "2024-03-10 10:00:00.000000",
    },
}


def write(root: Path) -> Path:
    """Writes the export below `root` and returns its folder."""
    home = root / "project-83"
    (home / "images").mkdir(parents=True)
    for record in DOCUMENT["images"]:
        (home / record["file_name"]).touch()
    (home / "result.json").write_text(json.dumps(DOCUMENT, indent=2))
    return home
