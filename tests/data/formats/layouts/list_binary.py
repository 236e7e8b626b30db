"""A list with a 0 or 1 for each class, as HashNet (NUS-WIDE, COCO) and CheXNet publish it, and a class file."""

from pathlib import Path

LIST = """\
images/0001_2124494179.jpg 0 0 1 0
images/0002_174174086.jpg 1 0 1 0
images/0003_2092732840.jpg 0 0 0 0
"""


def write(root: Path) -> Path:
    """Writes three images with four classes."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "database.txt").write_bytes(LIST.replace("\n", " \r\n").encode())
    (root / "classes.txt").write_text("animal\nclouds\nsky\nwater\n")
    return root / "database.txt"
