"""An image folder with a folder and metadata.jsonl for each split, as for object detection."""

import json
from pathlib import Path

ROWS = {
    "train": [
        {
            "file_name": "0001.png",
            "width": 200,
            "height": 100,
            "objects": {"bbox": [[20, 10, 40, 40]], "categories": [2]},
        },
        {"file_name": "0002.png", "width": 200, "height": 100, "objects": {"bbox": [], "categories": []}},
        {"file_name": "sub/0003.png", "width": 50, "height": 50, "objects": None},
    ],
    "validation": [
        {
            "file_name": "0001.png",
            "width": 100,
            "height": 100,
            "objects": {"bbox": [[0, 0, 50.5, 100], [90, 0, 20, 10], [0, 0, 1, 1]], "categories": [0, 10, 0]},
        },
    ],
    "test": [
        {"file_name": "0009.png", "width": 100, "height": 100, "objects": {"bbox": [[1, 1, 2, 2]], "categories": [10]}}
    ],
}


def write(root: Path) -> Path:
    """Writes the image folder below `root` and returns it."""
    home = root / "detection"
    for split, rows in ROWS.items():
        (home / split / "sub").mkdir(parents=True)
        lines = [json.dumps(row) + "\n" for row in rows]
        (home / split / "metadata.jsonl").write_text("".join(lines), encoding="utf-8")
        for row in rows:
            (home / split / str(row["file_name"])).touch()
    (home / "README.md").write_text("---\nlicense: mit\n---\n")
    (home / ".gitattributes").write_text("*.png filter=lfs\n")
    return home
