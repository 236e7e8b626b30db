"""A PASCAL VOC 2007 devkit: two blanks before 1 and 0, a class that is called like a split, tests with labels."""

from pathlib import Path

SETS = {
    "train": {"000012": {"car": " 1", "train": "-1"}, "000017": {"car": " 0", "train": " 1"}},
    "val": {"000005": {"car": "-1", "train": " 0"}},
    "test": {"000001": {"car": "-1", "train": "-1"}},
}
OBJECTS = {
    "000012": [("car", 156, 97, 351, 270)],
    "000017": [("train", 185, 62, 279, 199), ("car", 90, 78, 403, 336)],
    "000005": [("train", 263, 211, 324, 339)],
    "000001": [("dog", 48, 240, 195, 371)],
}


def annotation(name: str) -> str:
    """The annotation of an image of 500 by 375 pixels."""
    objects = "".join(
        f"\t<object>\n\t\t<name>{cls}</name>\n\t\t<pose>Rear</pose>\n\t\t<truncated>0</truncated>\n"
        f"\t\t<difficult>0</difficult>\n\t\t<bndbox>\n\t\t\t<xmin>{x0}</xmin>\n\t\t\t<ymin>{y0}</ymin>\n"
        f"\t\t\t<xmax>{x1}</xmax>\n\t\t\t<ymax>{y1}</ymax>\n\t\t</bndbox>\n\t</object>\n"
        for cls, x0, y0, x1, y1 in OBJECTS[name]
    )
    return (
        f"<annotation>\n\t<folder>VOC2007</folder>\n\t<filename>{name}.jpg</filename>\n\t<size>\n\t\t"
        f"<width>500</width>\n\t\t<height>375</height>\n\t\t<depth>3</depth>\n\t</size>\n{objects}</annotation>\n"
    )


def write(root: Path) -> Path:
    """Writes four images with two classes and returns the folder around VOCdevkit."""
    home = root / "VOCdevkit/VOC2007"
    for folder in ("ImageSets/Main", "Annotations", "JPEGImages"):
        (home / folder).mkdir(parents=True)
    both = {"trainval": SETS["train"] | SETS["val"]}
    for split, images in (SETS | both).items():
        (home / f"ImageSets/Main/{split}.txt").write_text("".join(f"{name}\n" for name in images))
        for cls in ("car", "train"):
            lines = (f"{name} {labels[cls]}\n" for name, labels in images.items())
            (home / f"ImageSets/Main/{cls}_{split}.txt").write_text("".join(lines))
    for name in OBJECTS:
        (home / f"Annotations/{name}.xml").write_text(annotation(name))
        (home / f"JPEGImages/{name}.jpg").touch()
    return root
