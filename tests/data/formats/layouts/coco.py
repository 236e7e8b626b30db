"""MS-COCO 2014 as published: annotations/instances_*.json and captions_*.json, with train2014 and val2014 beside."""

import json
from pathlib import Path

# As in the real files: ids with holes and not in this order, one line without blanks, objects that are a crowd with
# run lengths for a polygon, an image without any annotation.
CATEGORIES = [
    {"supercategory": "person", "id": 1, "name": "person"},
    {"supercategory": "animal", "id": 18, "name": "dog"},
    {"supercategory": "outdoor", "id": 13, "name": "stop sign"},
    {"supercategory": "indoor", "id": 90, "name": "toothbrush"},
]
IMAGES = {
    "train": [(57870, 640, 480), (384029, 429, 640), (222016, 640, 480)],
    "val": [(391895, 640, 360), (522418, 640, 480)],
}
# image, category, box, crowd
OBJECTS = {
    "train": [
        (384029, 18, [42.9, 64.0, 214.5, 320.0], 0),
        (57870, 1, [0, 0, 640, 480], 1),
        (57870, 18, [320.0, 120.0, 64.0, 48.5], 0),
        (57870, 18, [0.0, 0.0, 6.4, 4.8], 0),
    ],
    "val": [(391895, 13, [160.0, 90.0, 480.0, 270.0], 0), (391895, 90, [64, 36, 128, 72], 0)],
}
CAPTIONS = {
    "train": [
        (57870, "A man's dog, on a street."),
        (57870, "A dog runs \n"),
        (384029, "the Dog sits at a café"),
        (222016, "A stop sign on a street 66"),
    ],
    "val": [(391895, "Two dogs on the street"), (522418, "A zebra.")],
}


def document(split: str) -> dict:
    """A file without annotations."""
    return {
        "info": {"description": "This is stable 1.0 version of the 2014 MS COCO dataset.", "year": 2014},
        "images": [
            {
                "license": 5,
                "file_name": f"COCO_{split}2014_{number:012d}.jpg",
                "coco_url": f"http://mscoco.org/images/{number}",
                "height": height,
                "width": width,
                "date_captured": "2013-11-14 16:28:13",
                "flickr_url": "http://farm4.staticflickr.com/3153/2970773875_164f0c0b83_z.jpg",
                "id": number,
            }
            for number, width, height in IMAGES[split]
        ],
        "licenses": [{"url": "http://creativecommons.org/licenses/by/2.0/", "id": 4, "name": "Attribution License"}],
    }


def instances(split: str) -> dict:
    """The contents of instances_{split}2014.json."""
    objects = [
        {
            "segmentation": {"counts": [272, 2, 4], "size": [480, 640]} if crowd else [[510.66, 423.01, 511.72]],
            "area": box[2] * box[3],
            "iscrowd": crowd,
            "image_id": image,
            "bbox": box,
            "category_id": category,
            "id": number,
        }
        for number, (image, category, box, crowd) in enumerate(OBJECTS[split], 156)
    ]
    return {**document(split), "annotations": objects, "categories": CATEGORIES}


def captions(split: str) -> dict:
    """The contents of captions_{split}2014.json."""
    texts = [{"image_id": image, "id": n, "caption": text} for n, (image, text) in enumerate(CAPTIONS[split], 48)]
    return {**document(split), "annotations": texts}


def write(root: Path) -> Path:
    home = root / "coco"
    for split, images in IMAGES.items():
        (home / f"{split}2014").mkdir(parents=True)
        for number, _, _ in images:
            (home / f"{split}2014/COCO_{split}2014_{number:012d}.jpg").touch()
        (home / "annotations").mkdir(exist_ok=True)
        for name, content in (("instances", instances(split)), ("captions", captions(split))):
            text = json.dumps(content, separators=(",", ":"))
            (home / f"annotations/{name}_{split}2014.json").write_text(text, encoding="utf-8")
    (home / "annotations/person_keypoints_val2014.json").write_text(json.dumps(instances("val")))
    return home
