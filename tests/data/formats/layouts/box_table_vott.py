"""VoTT's export as CSV: everything that is text in quotes, boxes in pixels with many digits, no sizes."""

from pathlib import Path

from PIL import Image

TABLE = (
    '\ufeff"image","xmin","ymin","xmax","ymax","label"\r\n'
    '"1.jpg",10.000000000000002,5,60.4166666666666,30,"cat"\r\n'
    '"1.jpg",0,0,100,50,"hot dog"\r\n'
    '"2, late.jpg",20,10,40,20,"cat"\r\n'
)


def write(root: Path) -> Path:
    """Writes two images of 100 by 50 pixels with two classes and three boxes."""
    root.mkdir(parents=True, exist_ok=True)
    for name in ("1.jpg", "2, late.jpg"):
        Image.new("RGB", (100, 50)).save(root / name)
    (root / "vott-export.csv").write_bytes(TABLE.encode())
    return root / "vott-export.csv"
