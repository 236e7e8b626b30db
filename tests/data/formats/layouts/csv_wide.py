"""A wide table: an image a row, a class a column, and a column of splits."""

from pathlib import Path

TABLE = """\
image,cat,dog,café,split
photos/1.jpg,1,0,,train
photos/2.jpg,,1,0,val
"photos/3, late.jpg",true,,1.0,test
photos/4.jpg,,,,train
"""


def write(root: Path) -> Path:
    """Writes four images with three classes."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "labels.csv").write_text(TABLE, encoding="utf-8")
    return root / "labels.csv"
