"""LVIS v1 as published: no file names, negative categories for each image; images in the folders of COCO 2017."""

import json
from pathlib import Path

CATEGORIES = [
    {"id": 1, "name": "aerosol_can", "frequency": "c", "synset": "aerosol.n.02", "image_count": 64},
    {"id": 2, "name": "air_conditioner", "frequency": "f", "synset": "air_conditioner.n.01", "image_count": 364},
    {"id": 3, "name": "airplane", "frequency": "f", "synset": "airplane.n.01", "image_count": 1911},
]
# folder and number of the image; negative and not exhaustively annotated categories; annotated ones
IMAGES = {
    "train": [("train2017", 391895, [1], [], [3]), ("train2017", 522418, [], [3], [3, 2])],
    "val": [("val2017", 397133, [2, 3], [], []), ("train2017", 37777, [], [], [])],
}


def document(split: str) -> dict:
    images, annotations = [], []
    for folder, number, negative, not_exhaustive, annotated in IMAGES[split]:
        images.append(
            {
                "date_captured": "2013-11-14 17:02:52",
                "neg_category_ids": negative,
                "id": number,
                "license": 4,
                "height": 480,
                "width": 640,
                "flickr_url": "http://farm9.staticflickr.com/8186/8119368305_4e622c8349_z.jpg",
                "coco_url": f"http://images.cocodataset.org/{folder}/{number:012d}.jpg",
                "not_exhaustive_category_ids": not_exhaustive,
            }
        )
        annotations += [
            {"area": 64.0, "id": 9 + c, "segmentation": [[1, 2, 3.5]], "image_id": number, "bbox": [64, 48, 8, 8.0],
             "category_id": c}
            for c in annotated
        ]  # fmt: skip
    return {"info": {"version": "v1.0"}, "annotations": annotations, "images": images, "licenses": [],
            "categories": CATEGORIES}  # fmt: skip


def write(root: Path) -> Path:
    home = root / "lvis"
    (home / "annotations").mkdir(parents=True)
    for split, images in IMAGES.items():
        for folder, number, *_ in images:
            (home / folder).mkdir(exist_ok=True)
            (home / folder / f"{number:012d}.jpg").touch()
        (home / f"annotations/lvis_v1_{split}.json").write_text(json.dumps(document(split)))
    return home
