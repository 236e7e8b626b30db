"""A folder a class, below a folder a split, with images outside of them and things that are no images."""

from pathlib import Path

FILES = (
    "train/cat/1.jpg",
    "train/cat/deep/2.PNG",
    "train/dog/1.jpeg",
    "val/dog/4.webp",
    "test/café/5.jpg",
    "train/.hidden/6.jpg",
    "val/dog/notes.txt",
    "loose.jpg",
)


def write(root: Path) -> Path:
    """Writes six images with three classes."""
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root
