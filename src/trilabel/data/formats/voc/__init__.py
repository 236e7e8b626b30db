"""PASCAL VOC devkits (2007, 2012): a file of labels for each class and split, and annotations with boxes."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.xml_document import read_xml
from trilabel.data.formats.voc.writing import write
from trilabel.data.image_paths import RootedPaths, locate
from trilabel.data.text_files import read_lines, shown
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names

__all__ = ["RULE", "detect", "read", "write"]

WRITES_FOLDER = True
RULE = "1 is present, -1 is absent; classes with difficult objects only are unknown"
_SPLITS = ("train", "val", "trainval", "test")
_DIFFICULT = {"unknown": 0, "absent": -1, "present": 1}


def detect(path: Path) -> bool:
    """Whether this is VOC2012 (or another year), the VOCdevkit around it, or the folder around that.

    With annotations and without a list of labels such as dog_train.txt it is something else, as programs write it.
    """
    found = _years(path)
    return any(_has_labels(home) or not (home / "Annotations").is_dir() for home in found)


def _has_labels(home: Path) -> bool:
    return any(file.stem.rpartition("_")[2] in _SPLITS for file in (home / "ImageSets" / "Main").glob("*_*.txt"))


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    year: int | str | None = None,
    difficult: Literal["unknown", "absent", "present"] = "unknown",
    boxes: bool = True,
    trainval: bool = False,
) -> Dataset:
    """Reads a VOC devkit. `difficult` is the value of a class of which an image has only objects marked difficult.

    Splits are train, val and test if they exist; trainval only if neither train nor val does. With `trainval` that
    is split train in any case, as papers on VOC 2007 train on it, and there is no split val.
    """
    if difficult not in _DIFFICULT:
        raise TrilabelError(f"{path}: difficult={difficult!r}: use one of {', '.join(_DIFFICULT)}")
    home = _home(path, year)
    sets = _image_sets(home / "ImageSets" / "Main", trainval)
    classes = sorted(set().union(*sets.values()))
    members = {split: _ids(home / "ImageSets" / "Main" / f"{split}.txt", sets[split]) for split in sets}
    row = {name: number for number, name in enumerate(dict.fromkeys(i for ids in members.values() for i in ids))}
    signed = np.zeros((len(row), len(classes)), np.int8)
    notes = [f"classes with difficult objects only are {difficult}"]
    splits = {}
    for split, ids in members.items():
        splits[split] = np.array([row[name] for name in ids], np.int64)
        for column, name in enumerate(classes if sets[split] else ()):
            signed[splits[split], column] = _labels(sets[split].get(name), ids, home, name, split, difficult)
        if not sets[split]:
            notes.append(f"split {split} has no labels: they are unknown")
    if trainval:
        splits["train"] = splits.pop("trainval")
    labels = Labels.from_signed(signed, classes, row)
    all_boxes, more = _boxes(home / "Annotations", labels.ids, classes) if boxes else (None, [])
    paths, missing = _paths(images, home / "JPEGImages", labels.ids)
    if missing:
        notes.append(f"{missing} images have no file in {paths.root}")
    return Dataset(labels.ids, paths, labels, splits, all_boxes, notes=(*notes, *more))


def _paths(images: str | Path | None, usual: Path, ids: Names) -> tuple[RootedPaths, int]:
    """The paths of the images, and how many were not found; labels can be read without any image."""
    if images is None and not usual.is_dir():
        return RootedPaths(usual, ids), len(ids)
    return locate(images or usual, ids)


# ---- where it is


def _years(path: Path) -> list[Path]:
    folders = [path, *sorted(path.glob("VOC*")), *sorted(path.glob("VOCdevkit/VOC*"))]
    return [folder for folder in folders if (folder / "ImageSets" / "Main").is_dir()]


def _home(path: Path, year: int | str | None) -> Path:
    found = _years(path)
    names = ", ".join(folder.name for folder in found)
    if not found:
        raise TrilabelError(f"{path}: not a VOC devkit, whose folder VOC2012 (or VOC2007) contains ImageSets/Main")
    if year is not None:
        found = [folder for folder in found if folder.resolve().name == f"VOC{year}"]
        if not found:
            raise TrilabelError(f"{path}: no VOC{year} here, only {names}")
    if len(found) > 1:
        raise TrilabelError(f"{path}: contains {names}; choose one with year")
    return found[0]


# ---- labels


def _image_sets(main: Path, trainval: bool) -> dict[str, dict[str, Path]]:
    """For every split to use, the file of each class."""
    sets: dict[str, dict[str, Path]] = {split: {} for split in _SPLITS}
    for file in main.glob("*.txt"):
        name, _, split = file.stem.rpartition("_")  # train_val.txt is class train, split val; train.txt is not a class
        if name and split in sets:
            sets[split][name] = file
    there = [split for split in _SPLITS if sets[split] or (main / f"{split}.txt").is_file()]
    if trainval and "trainval" not in there:
        raise TrilabelError(f"{main}: no trainval.txt, and no file such as dog_trainval.txt; leave trainval out")
    if trainval:
        there = [split for split in there if split not in ("train", "val")]
    elif "train" in there or "val" in there:
        there = [split for split in there if split != "trainval"]
    if not any(sets[split] for split in there):
        raise TrilabelError(
            f"{main}: no image sets with labels, such as dog_train.txt, in this folder; for annotations alone pass "
            "format='voc-xml'"
        )
    return {split: sets[split] for split in there}


def _ids(file: Path, sets: dict[str, Path]) -> list[str]:
    """The images of a split, from its own list or, if there is none, from the labels of its first class."""
    file = file if file.is_file() else min(sets.values())
    return list(dict.fromkeys(cells[0] for _, cells in _lines(file)))


def _labels(file: Path | None, ids: list[str], home: Path, name: str, split: str, difficult: str) -> NDArray[np.int8]:
    """+1, −1 or 0 for each of the images `ids`."""
    if file is None:
        raise TrilabelError(f"{home / 'ImageSets' / 'Main' / f'{name}_{split}.txt'}: missing, unlike other classes'")
    meaning = {"1": 1, "-1": -1, "0": _DIFFICULT[difficult]}
    found = {}
    for line, cells in _lines(file):
        if len(cells) != 2 or cells[1] not in meaning:
            raise TrilabelError(f"{file}, line {line}: {shown(' '.join(cells))} is not an image id and 1, -1 or 0")
        found[cells[0]] = meaning[cells[1]]
    unlabeled = next((i for i in ids if i not in found), None)
    if unlabeled is not None or len(found) > len(ids):
        what = f"no label of {unlabeled!r}" if unlabeled is not None else "labels of images not in this split"
        raise TrilabelError(f"{file}, line {line if found else 1}: {what}; {len(found)} labels for {len(ids)} images")
    return np.array([found[i] for i in ids], np.int8)


def _lines(file: Path) -> Iterator[tuple[int, list[str]]]:
    """(number, words) of every line that is not blank."""
    return ((number, text.split()) for number, text in read_lines(file))


# ---- boxes


def _boxes(folder: Path, ids: Iterable[str], classes: Sequence[str]) -> tuple[Boxes, list[str]]:
    """All boxes of objects whose class has labels, and notes about what was left out."""
    there = {file.name for file in folder.iterdir()} if folder.is_dir() else set()
    column = {name: number for number, name in enumerate(classes)}
    image, cls, xyxy = [], [], []
    missing = others = 0
    for row, name in enumerate(ids):
        if f"{name}.xml" not in there:
            missing += 1
            continue
        for what, box in _objects(folder / f"{name}.xml"):
            if what not in column:
                others += 1
                continue
            image.append(row)
            cls.append(column[what])
            xyxy.append(box)
    notes = [f"{missing} images have no annotation file: no boxes are read for them"] if missing else []
    notes += [f"{others} boxes of classes without labels left out"] if others else []
    corners = np.array(xyxy, np.float64).reshape(-1, 4).clip(0, 1).astype(np.float32)
    return Boxes(np.array(image, np.int64), np.array(cls, np.int64), corners), notes


def _objects(file: Path) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    """(class, box) of each object. Pixels count from 1 and both ends belong to the box.

    Shares are of the size in the annotation: the image file may have been resized since.
    """
    root = read_xml(file)
    for number, thing in enumerate(root.iterfind("object"), start=1):
        try:
            width, height = _numbers(root.find("size"), "width", "height")
            if min(width, height) <= 0:
                raise ValueError("no size")
            x0, y0, x1, y1 = _numbers(thing.find("bndbox"), "xmin", "ymin", "xmax", "ymax")
            box = ((x0 - 1) / width, (y0 - 1) / height, x1 / width, y1 / height)
        except ValueError:
            raise TrilabelError(f"{file}: object {number} has no box, or the image has no size, in numbers") from None
        yield thing.findtext("name", "").strip(), box


def _numbers(element: Element | None, *names: str) -> list[float]:
    if element is None:
        raise ValueError("element missing")
    numbers = [float(element.findtext(name, "")) for name in names]
    if not np.isfinite(numbers).all():
        raise ValueError("a number that is not finite")
    return numbers
