"""Annotations as PASCAL VOC has them, without its lists of labels: what CVAT, datumaro, Roboflow, LabelImg write."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, get_args
from xml.etree.ElementTree import Element

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.data.folder_search import files_below
from trilabel.data.formats._shared.assemble import Entry, Unlisted, assemble
from trilabel.data.formats._shared.xml_document import read_xml
from trilabel.data.image_paths import locate, split_name
from trilabel.data.options import check_choice
from trilabel.data.text_files import peek, read_lines
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.log import track

RULE = "classes with an object are present, others absent; images without objects are unknown"
_SPLITS = ("train", "val", "test")
_LOOKED_AT = 1000  # files of a folder, to detect annotations
_IMAGES = ("JPEGImages", "images", "Images")
_SIGNED = re.compile(r"(\S+)\s+-?[01]")  # a name and the label of a class; other names may have blanks
_NO_CLASS = ("background", "ignored")  # of a labelmap.txt
Difficult = Literal["unknown", "absent", "present"]
_SIGN = {"unknown": 0, "absent": -1, "present": 1}


def detect(path: Path) -> bool:
    """Whether this folder has such annotations: in Annotations/, in folders of splits, or beside its images."""
    home = _home(path)
    first = next(_annotations(home, _LOOKED_AT), None) if home is not None else None
    return home is not None and first is not None and _is_annotation(home / first)


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    difficult: Difficult = "unknown",
    unlisted: Unlisted = "absent",
    empty: Literal["unknown", "absent"] = "unknown",
) -> Dataset:
    """Reads annotations with boxes as labels.

    `unlisted` is the value of a class without an object in an image that has others, `empty` that of all classes of an
    image without any, `difficult` that of a class of which an image has only objects marked difficult. Splits are the
    lists in ImageSets/Main, or else the folders train, valid and test.
    """
    check_choice(path, "difficult", difficult, get_args(Difficult))
    check_choice(path, "unlisted", unlisted, get_args(Unlisted))
    check_choice(path, "empty", empty, ("unknown", "absent"))
    home = _home(path)
    files = sorted(_annotations(home)) if home is not None else []
    if home is None or not files:
        raise TrilabelError(f"{path}: no annotations of PASCAL VOC here (.xml, in Annotations or beside the images)")
    lists = _lists(home)
    names = list(dict.fromkeys([*map(_stem, files), *lists]))
    found = _Objects(home, files, {name: row for row, name in enumerate(names)})
    classes = list(dict.fromkeys([*_label_map(home), *sorted(found.classes)]))
    entries, absent_in = _entries(found, classes, difficult, unlisted, empty)
    usual = next((home / name for name in _IMAGES if (home / name).is_dir()), home)
    paths, missing = locate(images or usual, Names(names))
    splits = [lists.get(name, "") if lists else _split_of(name) for name in names]
    counts = {
        f"images without objects are {empty}": len(files) - len(found.described),
        "images have no annotation file: they are unknown": len(names) - len(files),
        "objects have no box or image size: no boxes are read for them": found.boxless,
        f"images have no file in {paths.root}": missing,
        "images are in no split": splits.count("") if any(splits) else 0,
    }
    return assemble(
        path,
        ids=names,
        paths=paths,
        classes=classes,
        entries=entries,
        absent_in=absent_in,
        split_of=splits,
        boxes=[(row, classes.index(name), *box) for row, name, box in found.boxes],
        notes=[
            f"classes with an object are present, others {unlisted}; with difficult ones only, {difficult}",
            *(f"{count} {what}" for what, count in counts.items() if count),
        ],
    )


# ---- files


def _home(path: Path) -> Path | None:
    """The folder that has Annotations, or annotations in it or in folders of splits."""
    if not path.is_dir():
        return None
    if path.name == "Annotations":
        return path.parent
    around = [path, *sorted(path.glob("VOC*")), *sorted(path.glob("VOCdevkit/VOC*"))]
    return next((home for home in around if (home / "Annotations").is_dir()), path)


def _annotations(home: Path, most: int | None = None) -> Iterator[str]:
    """The annotation files, as paths below the folder; with `most`, among so many files of a folder."""

    def below(folder: str) -> Iterator[str]:
        names = islice(files_below(home / folder), most)
        return (f"{folder}/{name}" for name in names if name.endswith(".xml"))

    if (home / "Annotations").is_dir():
        yield from below("Annotations")
        return
    for folder in sorted(home.iterdir()):
        if folder.suffix == ".xml" and folder.is_file() and _is_annotation(folder):
            yield folder.name
        elif split_name(folder.name) in _SPLITS and folder.is_dir():
            yield from below(folder.name)


def _is_annotation(file: Path) -> bool:
    return re.search(rb"<annotation[\s>]", peek(file)[: 1 << 14].replace(b"\0", b"")) is not None


def _stem(file: str) -> str:
    return file.removeprefix("Annotations/")[: -len(".xml")]


def _split_of(name: str) -> str:
    return next((split for part in name.split("/")[:-1] if (split := split_name(part)) in _SPLITS), "")


def _lists(home: Path) -> dict[str, str]:
    """The split of each image in ImageSets/Main; trainval counts where there is no other, default is none."""
    found: dict[str, str] = {}
    for split in (*_SPLITS, "trainval", "default"):
        file = home / "ImageSets" / "Main" / f"{split}.txt"
        if file.is_file():
            for _, line in read_lines(file):
                signed = _SIGNED.fullmatch(line)
                found.setdefault(signed[1] if signed else line, "" if split == "default" else split)
    return found


def _label_map(home: Path) -> list[str]:
    """The classes of labelmap.txt, in its order: name:color:parts:actions."""
    file = home / "labelmap.txt"
    lines = [text for _, text in read_lines(file)] if file.is_file() else []
    names = [line.partition(":")[0].strip() for line in lines if not line.startswith("#")]
    return [name for name in names if name and name not in _NO_CLASS]


# ---- objects


class _Object(NamedTuple):
    row: int
    name: str
    difficult: bool


class _Objects:
    """The objects of all annotation files."""

    def __init__(self, home: Path, files: list[str], row_of: dict[str, int]) -> None:
        self.objects: list[_Object] = []
        self.boxes: list[tuple[int, str, tuple[float, float, float, float]]] = []
        self.boxless, self.bare = 0, list[int]()
        for name in track(files, "reading annotations", len(files)):
            self._add(home / name, row_of[_stem(name)])
        self.described = {thing.row for thing in self.objects}
        self.classes = {thing.name for thing in self.objects}

    def _add(self, file: Path, row: int) -> None:
        root = read_xml(file)
        if root.tag != "annotation":
            raise TrilabelError(f"{file}: its first element is {root.tag[:40]!r}, not 'annotation'; move it elsewhere")
        things = root.findall("object")
        self.bare += [] if things else [row]
        for number, thing in enumerate(things, start=1):
            name = thing.findtext("name", "").strip()
            if not name:
                raise TrilabelError(f"{file}: object {number} has no name; name its class")
            self.objects.append(_Object(row, name, thing.findtext("difficult", "").strip() in ("1", "true", "True")))
            box = _box(root, thing)
            self.boxless += box is None
            self.boxes += [(row, name, box)] if box is not None else []


def _box(root: Element, thing: Element) -> tuple[float, float, float, float] | None:
    """The box as shares of the image, if there are numbers; these programs count pixels from 0."""
    try:
        wide, high = (float(root.findtext(f"size/{key}", "")) for key in ("width", "height"))
        x0, y0, x1, y1 = (float(thing.findtext(f"bndbox/{key}", "")) for key in ("xmin", "ymin", "xmax", "ymax"))
    except ValueError:
        return None
    good = np.isfinite([wide, high, x0, y0, x1, y1]).all() and min(wide, high) > 0
    return (x0 / wide, y0 / high, x1 / wide, y1 / high) if good else None


def _entries(
    found: _Objects, classes: list[str], difficult: Difficult, unlisted: str, empty: str
) -> tuple[list[Entry], list[int]]:
    column = {name: number for number, name in enumerate(classes)}
    easy = Counter((thing.row, column[thing.name]) for thing in found.objects if not thing.difficult)
    hard = {(thing.row, column[thing.name]) for thing in found.objects} - easy.keys()
    entries: list[Entry] = [(row, cls, 1) for row, cls in easy]
    unclear: set[int] = set()  # images in which not all that is not listed is absent
    if difficult != "unknown":
        entries += [(row, cls, _SIGN[difficult]) for row, cls in sorted(hard)]
    elif unlisted == "absent":
        unclear = {row for row, _ in hard}
        listed = easy.keys() | hard
        every = ((row, cls) for row in sorted(unclear) for cls in range(len(classes)))
        entries += [(row, cls, -1) for row, cls in every if (row, cls) not in listed]
    absent_in = sorted(found.described - unclear) if unlisted == "absent" else []
    return entries, absent_in + (found.bare if empty == "absent" else [])
