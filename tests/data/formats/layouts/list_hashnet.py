"""Lists of HashNet: train.txt, test.txt (the queries) and database.txt, which repeats the images of train."""

from pathlib import Path

LINES = {
    "train": ["images/a.jpg 1 0 0", "images/b.jpg 0 1 1"],
    "test": ["images/c.jpg 0 1 0"],
    "database": ["images/b.jpg 0 1 1", "images/d.jpg 0 0 1", "images/a.jpg 1 0 0"],
}


def write(root: Path) -> Path:
    """Writes the lists below `root` and returns their folder."""
    home = root / "coco"
    (home / "images").mkdir(parents=True)
    for split, lines in LINES.items():
        (home / f"{split}.txt").write_text("".join(f"{line}\n" for line in lines))
    for name in "abcd":
        (home / f"images/{name}.jpg").touch()
    return home
