"""COCO's panoptic annotations: an annotation for each image with a list of segments, things and stuff."""

import json
from pathlib import Path

CATEGORIES = [
    {"supercategory": "animal", "isthing": 1, "id": 17, "name": "cat"},
    {"supercategory": "animal", "isthing": 1, "id": 18, "name": "dog"},
    {"supercategory": "sky", "isthing": 0, "id": 187, "name": "sky-other-merged"},
]
SEGMENTS = {  # of each image: category, box
    "train2017": {7: [(17, [0, 0, 30, 20]), (17, [30, 20, 30, 20]), (187, [0, 0, 60, 10])], 9: [(18, [6, 4, 12, 8])]},
    "val2017": {3: [(187, [0, 0, 60, 40])], 4: []},
}


def write(root: Path) -> Path:
    """Writes the release below `root` and returns its folder."""
    home = root / "coco"
    (home / "annotations").mkdir(parents=True)
    for split, images in SEGMENTS.items():
        (home / split).mkdir()
        annotations = []
        for number, segments in images.items():
            (home / split / f"{number:012}.jpg").touch()
            found = [
                {"id": 100 + place, "category_id": cls, "area": 9, "bbox": box, "iscrowd": 0}
                for place, (cls, box) in enumerate(segments)
            ]
            annotations.append({"segments_info": found, "file_name": f"{number:012}.png", "image_id": number})
        records = [
            {"license": 3, "file_name": f"{number:012}.jpg", "height": 40, "width": 60, "id": number}
            for number in images
        ]
        content = {"info": {}, "images": records, "annotations": annotations, "categories": CATEGORIES}
        (home / "annotations" / f"panoptic_{split}.json").write_text(json.dumps(content))
    return home
