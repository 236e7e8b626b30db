"""WebDataset shards of a benchmark: numbers of classes in .cls, their names beside, a folder for each split."""

import io
import tarfile
from pathlib import Path

from tests.data.formats.layouts.huggingface_parquet import image

SHARDS = {"train/0.tar": [0, 1, 2], "train/1.tar": [1], "test/0.tar": [2, 0]}


def shard(file: Path, members: dict[str, bytes]) -> None:
    """Writes a .tar."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w") as out:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))


def write(root: Path) -> Path:
    """Writes the shards below `root` and returns their folder."""
    home, start = root / "wds", 0
    for name, classes in SHARDS.items():
        members: dict[str, bytes] = {}
        for number, cls in enumerate(classes, start):
            members |= {f"s{number:07}.cls": b"%d" % cls, f"s{number:07}.png": image(number)}
        shard(home / name, members)
        start += len(classes)
    for split in ("train", "test"):
        (home / split / "nshards.txt").write_text("2\n" if split == "train" else "1\n")
    (home / "classnames.txt").write_text("cat\ndog\nbig bird\n")
    return home
