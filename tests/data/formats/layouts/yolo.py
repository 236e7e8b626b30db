"""A data set as Ultralytics describes it: data.yaml, images/{train,val,test} and labels/{train,val,test}."""

from pathlib import Path

YAML = """\
# Ultralytics 🚀 data set of six images
path: ../datasets/six # dataset root dir
train: images/train # train images (relative to 'path')
val: images/val  # val images
test: # test images (optional)

# Classes
names:
  0: person
  1: traffic light
  2: "dog: café"

# Download script/URL (optional)
download: |
  from ultralytics.utils.downloads import download
  names: download([url])
"""
LABELS = {
    "train/000000000009.txt": "1 0.5 0.5 0.2 0.4\n1 0.25 0.25 0.5 0.5\n0 0.1 0.9 0.2 0.2\n",
    "train/000000000025.txt": "2 0.1 0.1 0.3 0.1 0.3 0.4\r\n\r\n",  # a polygon, and Windows line ends
    "train/000000000030.txt": "",
    "val/000000000042.txt": "\ufeff0  0.95 0.5 0.2 1.0",  # a byte-order mark, two blanks, no line end
    "val/README.txt": "0 0.5 0.5 1 1\n",  # labels of no image
}
IMAGES = (
    "train/000000000009.jpg",
    "train/000000000025.jpg",
    "train/000000000030.png",
    "train/000000000034.jpg",
    "val/000000000042.jpg",
)


def write(root: Path) -> Path:
    """Writes the data set below `root` and returns its folder."""
    home = root / "six"
    for folder in ("images/train", "images/val", "labels/train", "labels/val"):
        (home / folder).mkdir(parents=True)
    (home / "data.yaml").write_text(YAML, encoding="utf-8")
    for name, text in LABELS.items():
        (home / "labels" / name).write_bytes(text.encode())
    for name in IMAGES:
        (home / "images" / name).touch()
    (home / "labels/train.cache").write_bytes(b"\x93NUMPY")
    return home
