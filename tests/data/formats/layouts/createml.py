"""CreateML as Roboflow exports it: _annotations.createml.json in each folder of a split, beside the images."""

import json
from pathlib import Path
from typing import Any

from PIL import Image


def box(label: str, x: float, y: float, width: float, height: float) -> dict[str, Any]:
    """A label, and a box around its center, in pixels."""
    return {"label": label, "coordinates": {"x": x, "y": y, "width": width, "height": height}}


SPLITS: dict[str, list[dict[str, Any]]] = {
    "train": [
        {"image": "a_jpg.rf.1.jpg", "annotations": [box("cat", 50, 25, 100, 50), box("dog", 25, 12.5, 10, 5)]},
        {"image": "b_jpg.rf.2.jpg", "annotations": []},
    ],
    "valid": [{"image": "c_jpg.rf.3.jpg", "annotations": [box("cat", 10, 10, 20, 20), box("cat", 20, 20, 20, 20)]}],
}


def write(root: Path) -> Path:
    """Writes three images of 100 by 50 pixels and returns their folder."""
    home = root / "cats.v1.createml"
    for split, records in SPLITS.items():
        (home / split).mkdir(parents=True)
        (home / split / "_annotations.createml.json").write_text(json.dumps(records))
        for record in records:
            Image.new("RGB", (100, 50)).save(home / split / record["image"])
    return home
