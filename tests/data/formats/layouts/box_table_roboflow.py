"""Roboflow's export for TensorFlow: _annotations.csv in a folder for each split, boxes in pixels, sizes beside."""

from pathlib import Path

HEADER = "filename,width,height,class,xmin,ymin,xmax,ymax\n"
TABLES = {
    "train": "a_jpg.rf.1c8e.jpg,100,50,cat,10,5,60,30\na_jpg.rf.1c8e.jpg,100,50,hot dog,0,0,100,50\n",
    "valid": "b_jpg.rf.77aa.jpg,100,50,cat,20,10,40,20\n",
    "test": "c_jpg.rf.0f00.jpg,100,50,hot dog,20,10,40,20\nc_jpg.rf.0f00.jpg,100,50,hot dog,30,10,50,20\n",
}


def write(root: Path) -> Path:
    """Writes three images with two classes and five boxes."""
    for split, rows in TABLES.items():
        (root / split).mkdir(parents=True)
        (root / split / "_annotations.csv").write_text(HEADER + rows)
    return root
