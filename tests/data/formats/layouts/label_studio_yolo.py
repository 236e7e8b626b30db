"""A project of Label Studio exported as YOLO: classes.txt, notes.json, images/ and labels/."""

import json
from pathlib import Path

CATEGORIES = [{"id": 0, "name": "Boat"}, {"id": 1, "name": "Sky"}]
LABELS = {
    "1a2b3c4d-sea_1": "0 0.25 0.4 0.3 0.4\n1 0.5 0.1 1.0 0.2\n",
    "5e6f7a8b-sea_2": "1 0.5 0.1 1.0 0.2\n",
    "9-3": "",
}


def write(root: Path) -> Path:
    """Writes the export below `root` and returns its folder."""
    home = root / "project-83"
    for folder in ("images", "labels"):
        (home / folder).mkdir(parents=True)
    for name, text in LABELS.items():
        (home / "labels" / f"{name}.txt").write_text(text)
        (home / "images" / f"{name}.jpg").touch()
    (home / "classes.txt").write_text("Boat\nSky\n")
    info = {"year": 2024, "version": "1.0", "contributor": "Label Studio"}
    (home / "notes.json").write_text(json.dumps({"categories": CATEGORIES, "info": info}, indent=2))
    return home
