"""Writing YOLO labels as Ultralytics wants them: data.yaml, images/SPLIT/… and labels/SPLIT/…"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import yaml

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.placed_images import Placing, names_of_images, place_images
from trilabel.data.formats._shared.present_labels import boxes_of_present, by_image, note_lost, present_columns
from trilabel.data.formats.yolo.layout import label_of
from trilabel.errors import TrilabelError
from trilabel.files import write_text

_SPLITS = ("train", "val", "test")
_WHOLE = (0.0, 0.0, 1.0, 1.0)


def write(dataset: Dataset, path: Path, *, files: Placing = "link") -> list[str]:
    """Writes a folder with a label file for each image of which a label is known; returns notes.

    Images are links to their files, or copies (`files`: link, copy or none). A present label without a box becomes a
    box around the whole image. Without any split, all images are train.
    """
    labels = dataset.labels
    if not all(labels.shape):
        raise TrilabelError(f"{path}: nothing to write in {labels.shape[0]} images × {labels.shape[1]} classes")
    notes: list[str] = []
    note_lost(dataset, notes, absent=False)
    split_of = dataset.first_split()[0] if any(map(len, dataset.splits.values())) else ["train"] * len(dataset)
    places = _places(names_of_images(dataset, path), split_of)
    boxes = by_image(boxes_of_present(dataset, notes))
    known = np.diff(labels.csr.indptr)
    boxless = 0
    for row, columns in enumerate(present_columns(labels)):
        if not known[row]:
            continue
        drawn = boxes.get(row, [])
        bare = [(column, _WHOLE) for column in columns if column not in {cls for cls, _ in drawn}]
        boxless += len(bare)
        lines = (_line(column, *corners) for column, corners in chain(drawn, bare))
        write_text(path / label_of(places[row]), "".join(lines))
    place_images(dataset, [path / place for place in places], files, notes)
    _write_description(path, list(labels.classes), split_of, notes)
    if boxless:
        notes.append(f"{boxless} present labels have no box: they are boxes around the whole image")
    if unknown := int((labels.shape[1] - known[known > 0]).sum()):
        notes.append(f"{unknown:,} unknown labels will be read as absent: the format has none in an image with labels")
    return notes


def _places(names: Sequence[str], split_of: Sequence[str]) -> list[str]:
    """images/SPLIT/NAME of each image; of names that begin with such folders already, these are not repeated."""
    splits = [split or "rest" for split in split_of]
    short = [_without_folders(name, split) for name, split in zip(names, splits, strict=True)]
    whole = [f"images/{split}/{name}" for split, name in zip(splits, short, strict=True)]
    if len(set(whole)) == len(whole):
        return whole
    return [f"images/{split}/{name}" for split, name in zip(splits, names, strict=True)]


def _without_folders(name: str, split: str) -> str:
    for folders in (f"images/{split}/", f"{split}/images/", f"{split}/", "images/"):
        if name.startswith(folders):
            return name.removeprefix(folders)
    return name


def _line(column: int, left: float, top: float, right: float, bottom: float) -> str:
    numbers = ((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)
    return f"{column} {' '.join(f'{number:.6g}' for number in numbers)}\n"


def _write_description(path: Path, classes: list[str], split_of: list[str], notes: list[str]) -> None:
    there = [split for split in _SPLITS if split in split_of]
    content = {split: f"images/{split}" for split in there} | {"names": dict(enumerate(classes))}
    write_text(path / "data.yaml", yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=10_000))
    if others := sorted({split or "none" for split in split_of} - set(_SPLITS)):
        notes.append(f"images of other splits ({', '.join(others)}) are written, but data.yaml does not name them")
    if missing := [split for split in ("train", "val") if split not in there]:
        notes.append(f"there is no split {' or '.join(missing)}, which Ultralytics asks for")
