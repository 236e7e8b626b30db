"""A list of images and class numbers as follow-up work publishes it, with names of the classes beside it."""

from pathlib import Path

LIST = """\
train/000002b66c9c498e.jpg,0,3
train/000002b97e5471a0.jpg,1
train/000002c707c9895e.jpg
train/0000048549557964.jpg,3,1,0
train/000004f4400f6ec5.jpg,2
"""


def write(root: Path) -> Path:
    """Writes five images with five classes, the last of which no image has."""
    (root / "train").mkdir(parents=True)
    (root / "train/000002b66c9c498e.jpg").touch()
    (root / "classes.txt").write_text("person\ntraffic light\ndog\ncafé\nunseen\n", encoding="utf-8")
    (root / "train.csv").write_text(LIST)
    return root / "train.csv"
