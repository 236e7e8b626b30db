"""A folder of FiftyOne's type FiftyOneImageClassificationDataset: labels.json and data/."""

import json
from pathlib import Path

LABELS = {
    "classes": ["cat", "dog", "perro ñ"],
    "labels": {
        "000001": [0, 2],
        "000002": 1,
        "sub/000003": "cat",
        "000004": [],
        "000005": None,
        "000006": {"label": 2, "confidence": 0.9, "attributes": {}},
        "000007": [{"label": 0}, {"label": "dog", "confidence": None}],
    },
}
IMAGES = ("000001.jpg", "000002.png", "sub/000003.jpg", "000004.jpg", "000005.JPG", "000006.jpg")


def write(root: Path) -> Path:
    """Writes the folder below `root` and returns it."""
    home = root / "classification"
    for name in IMAGES:
        (home / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "data" / name).touch()
    (home / "labels.json").write_text(json.dumps(LABELS, indent=4), encoding="utf-8")
    return home
