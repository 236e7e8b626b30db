"""Multi-label annotations of MMPretrain: a file for each split, in annotations/."""

import json
from pathlib import Path

LISTS = {
    "train": {"a.jpg": [0, 2], "sub/b.jpg": [1], "c.jpg": []},
    "val": {"d.jpg": [2], "e.jpg": None},
}


def write(root: Path) -> Path:
    """Writes the data set below `root` and returns its folder."""
    home = root / "mydataset"
    (home / "annotations").mkdir(parents=True)
    for split, images in LISTS.items():
        records = []
        for name, classes in images.items():
            (home / split / name).parent.mkdir(parents=True, exist_ok=True)
            (home / split / name).touch()
            records.append({"img_path": name} | ({} if classes is None else {"gt_label": classes}))
        content = {"metainfo": {"classes": ["cat", "dog", "big bird"]}, "data_list": records}
        (home / "annotations" / f"{split}.json").write_text(json.dumps(content, indent=1))
    return home
