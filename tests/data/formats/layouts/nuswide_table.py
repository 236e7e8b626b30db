"""The table of the later split of NUS-WIDE: lists of concepts as Python writes them, images in the folder images."""

from pathlib import Path

TABLE = """\
filepath,label,split_name
images/0001_2124494179.jpg,"['clouds', 'sky']",train
images/0002_174174086.jpg,['person'],train
images/0003_2.jpg,"['sky', 'clouds', 'person']",val
images/0004_3.jpg,[],val
images/0005_4.jpg,"['sky', ""farmer's market""]",train
"""


def write(root: Path) -> Path:
    """Writes five images with four concepts."""
    (root / "images").mkdir(parents=True)
    (root / "images/0001_2124494179.jpg").touch()
    (root / "nus_wid_data.csv").write_text(TABLE)
    return root / "nus_wid_data.csv"
