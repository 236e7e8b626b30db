"""Boxes of Open Images, as shares of the images, with codes for the classes; as datumaro writes them, too."""

from pathlib import Path

HEADER = (
    "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside\n"
)
TABLES = {
    "train": "0001eeaf4aed83f9,xclick,/m/0cmf2,1,0.022673031,0.9642005,0.07103825,0.80054647,0,0,0,0,0\n",
    "validation": "00075905539074f2,xclick,/m/04yx4,1,0.020477816,0.32935154,0.0956023,0.665392,0,0,0,0,0\n"
    "00075905539074f2,activemil,/m/0cmf2,1,0,1,0.5,0.75,-1,-1,-1,-1,-1\n",
}


def write(root: Path) -> Path:
    """Writes two images with two classes and three boxes."""
    (root / "annotations").mkdir(parents=True)
    for split, rows in TABLES.items():
        (root / f"annotations/{split}-annotations-bbox.csv").write_text(HEADER + rows)
    (root / "annotations/class-descriptions-boxable.csv").write_text("/m/04yx4,Man\n/m/0cmf2,Airplane\n")
    return root
