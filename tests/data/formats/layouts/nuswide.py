"""NUS-WIDE as published: a file of labels for each concept, image lists made on Windows, images in Flickr."""

from pathlib import Path

IMAGES = (
    "actor\\0001_2124494179.jpg",
    "actor\\0002_174174086.jpg",
    "zebra\\0399_2.jpg",
    "zoo\\0005_3.jpg",
    "zoo\\0006_4.jpg",
)
TRAIN = (0, 2, 3)
LABELS = {"airport": "00010", "sky": "10001", "train": "01000"}  # of each image; the fourth concept is in no image
CONCEPTS = ("airport", "sky", "train", "zebra")


def write(root: Path) -> Path:
    """Writes five images with four concepts; AllLabels, TrainTestLabels and all three lists are there."""
    for folder in ("Groundtruth/AllLabels", "Groundtruth/TrainTestLabels", "ImageList", "ConceptsList", "Flickr/actor"):
        (root / folder).mkdir(parents=True)
    parts = {"": range(5), "Train": TRAIN, "Test": tuple(i for i in range(5) if i not in TRAIN)}
    for part, rows in parts.items():
        names = "".join(f"{IMAGES[row]}\r\n" for row in rows)
        (root / f"ImageList/{part}Imagelist.txt").write_bytes(names.encode())
        for concept in CONCEPTS:
            text = "".join(f"{LABELS.get(concept, '00000')[row]}\n" for row in rows)
            file = f"TrainTestLabels/Labels_{concept}_{part}.txt" if part else f"AllLabels/Labels_{concept}.txt"
            (root / "Groundtruth" / file).write_text(text)
    (root / "ConceptsList/Concepts81.txt").write_text("".join(f"{concept}\n" for concept in CONCEPTS))
    (root / "Flickr/actor/0001_2124494179.jpg").touch()
    return root
