"""An image folder with one metadata.csv at the top, and a column of 0 and 1 for each class."""

from pathlib import Path

CSV = (
    "file_name,cat,hot dog,caption,año\r\n"
    'train/1.jpg,1,0,"a cat, ""asleep""",\r\n'
    "train/2.jpg,,true,two,0.0\r\n"
    "valid/3.jpg,0,,,1.0\r\n"
    'test/4.jpg,False,1,"one\ntwo",\r\n'
)


def write(root: Path) -> Path:
    """Writes the image folder below `root` and returns it."""
    home = root / "wide"
    for name in ("train/1.jpg", "train/2.jpg", "valid/3.jpg", "test/4.jpg"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    (home / "metadata.csv").write_bytes(b"\xef\xbb\xbf" + CSV.encode())
    return home
