"""VinBigData's train.csv: a row a box and radiologist, no box where nothing was found; images named without ending."""

from pathlib import Path

TABLE = """\
image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max
50a418190bc3fb1ef1633bf9678929b3,No finding,14,R11,,,,
9a5094b2563a1ef3ff50dc5c7ff71345,Cardiomegaly,3,R10,691.0,1375.0,1653.0,1831.0
9a5094b2563a1ef3ff50dc5c7ff71345,Aortic enlargement,0,R10,1264.0,743.0,1611.0,1019.0
9a5094b2563a1ef3ff50dc5c7ff71345,Cardiomegaly,3,R8,700.0,1380.0,1650.0,1830.0
"""


def write(root: Path) -> Path:
    """Writes two images with three classes and three boxes."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "train.csv").write_text(TABLE)
    return root / "train.csv"
