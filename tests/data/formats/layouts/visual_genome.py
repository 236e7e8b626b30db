"""VG-500 as SSGRL publishes it: an index of labels and two lists; images in two folders."""

import json
from pathlib import Path

INDEX = {
    "107899.jpg": [0, 2, 5],
    "2.jpg": [3],
    "2416218.jpg": [1, 0, 4],
    "1592810.jpg": [5, 4],
    "713521.jpg": [2, 2],
}
LISTS = {"train": ["2416218.jpg", "2.jpg", "107899.jpg"], "test": ["713521.jpg", "1592810.jpg"]}


def write(root: Path) -> Path:
    home = root / "VG"
    for number, folder in enumerate(("VG_100K", "VG_100K_2")):
        (home / folder).mkdir(parents=True)
        for name in sorted(INDEX)[number::2]:
            (home / folder / name).touch()
    for split, names in LISTS.items():
        (home / f"{split}_list_500.txt").write_text("".join(f"{name}\n" for name in names))
    (home / "vg_category_500_labels_index.json").write_text(json.dumps(INDEX))
    return home
