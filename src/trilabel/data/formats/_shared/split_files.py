"""Folders with a table for each split: train.csv and valid.csv, or train/_classes.csv and valid/_classes.csv."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trilabel.data.image_paths import SPLIT_NAMES, split_name
from trilabel.data.tables import table_suffix


class SplitFile(NamedTuple):
    """The table of a split."""

    split: str
    inside: str  # its folder with a slash, where the images of a split lie in a folder of their own
    file: Path


def split_files(path: Path, inside: str, ends: Sequence[str]) -> list[SplitFile]:
    """The tables of the splits of a folder, train first: files called `inside` in folders of splits, or else two or
    more called after splits, with one of these `ends`."""
    if not path.is_dir():
        return []
    entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    found = [
        SplitFile(split_name(entry.name), f"{entry.name}/", entry / inside)
        for entry in entries
        if entry.name.lower() in SPLIT_NAMES and (entry / inside).is_file()
    ]
    if not found:
        named = [(entry, entry.name.split(".")[0]) for entry in entries if table_suffix(entry) in ends]
        found = [SplitFile(split_name(name), "", file) for file, name in named if name.lower() in SPLIT_NAMES]
        found = [one for one in found if one.file.is_file()]
        found = found if len({one.split for one in found}) > 1 else []
    order = ["train", "val", "test"]
    return sorted(found, key=lambda one: order.index(one.split))


def images_of(images: str | Path | None, one: SplitFile) -> str | Path | None:
    """The folder of the images of a split, where the user named one of all images."""
    below = Path(images, one.inside) if images is not None else None
    return below if below is not None and one.inside and below.is_dir() else images
