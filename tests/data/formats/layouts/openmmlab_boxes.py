"""Detection annotations of OpenMMLab: objects with boxes in pixels, some to be ignored."""

import json
from pathlib import Path

CONTENT = {
    "metainfo": {"classes": ["cat", "dog"], "dataset_type": "det_dataset", "task_name": "det_task"},
    "data_list": [
        {
            "img_path": "a.jpg",
            "height": 40,
            "width": 60,
            "instances": [
                {"bbox": [0, 0, 30, 20], "bbox_label": 1, "ignore_flag": 0},
                {"bbox": [30, 20, 60, 40], "bbox_label": 1, "mask": [[0, 0, 1, 1, 0, 1]]},
                {"bbox": [1, 1, 2, 2], "bbox_label": 0, "ignore_flag": 1},
            ],
        },
        {"img_path": "b.jpg", "height": 40, "width": 60, "instances": []},
    ],
}


def write(root: Path) -> Path:
    """Writes the file below `root` and returns it."""
    (root / "images").mkdir(parents=True)
    for name in ("a.jpg", "b.jpg"):
        (root / "images" / name).touch()
    file = root / "objects.json"
    file.write_text(json.dumps(CONTENT, indent=1))
    return file
