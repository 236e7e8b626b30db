"""CUB-200-2011 as unpacked: attributes.txt beside CUB_200_2011, ragged lines among the attributes of images."""

from pathlib import Path

IMAGES = (
    "001.Black_footed_Albatross/Black_Footed_Albatross_0046_18.jpg",
    "001.Black_footed_Albatross/Black_Footed_Albatross_0009_34.jpg",
    "002.Laysan_Albatross/Laysan_Albatross_0002_1027.jpg",
    "200.Common_Yellowthroat/Common_Yellowthroat_0003_190521.jpg",
)
ATTRIBUTES = ("has_bill_shape::curved_(up_or_down)", "has_bill_shape::dagger", "has_wing_color::blue")
LABELS = """\
1 1 0 3 27.708
1 2 0 3 27.708
1 3 1 4 13.176
2 1 0 1 5.268
2 2 1 1 0 5.268
2 3 0 2 0 0 8.129
3 1 1 2 1.5
3 2 0 4 0
3 3 0 4 16.12
4 1 1 3 9.0
4 2 1 4 9.0
4 3 0 1 2.0
"""


def write(root: Path) -> Path:
    """Writes four images with three attributes and returns the folder around CUB_200_2011."""
    home = root / "CUB_200_2011"
    for image in IMAGES:
        (home / "images" / image).parent.mkdir(parents=True, exist_ok=True)
        (home / "images" / image).touch()
    (home / "attributes").mkdir()
    (home / "images.txt").write_text("".join(f"{number} {name}\n" for number, name in enumerate(IMAGES, 1)))
    (home / "train_test_split.txt").write_text("1 0\n2 1\n3 1\n4 0\n")
    (home / "image_class_labels.txt").write_text("1 1\n2 1\n3 2\n4 200\n")
    (home / "classes.txt").write_text(
        "1 001.Black_footed_Albatross\n2 002.Laysan_Albatross\n200 200.Common_Yellowthroat\n"
    )
    (home / "bounding_boxes.txt").write_text("1 60.0 27.0 325.0 304.0\n2 139.0 30.0 153.0 264.0\n")
    (home / "attributes/certainties.txt").write_text("1 not visible\n2 guessing\n3 probably\n4 definitely\n")
    (home / "attributes/image_attribute_labels.txt").write_text(LABELS)
    (root / "attributes.txt").write_text("".join(f"{number} {name}\n" for number, name in enumerate(ATTRIBUTES, 1)))
    return root
