"""The files that describe the classes and image folders of a YOLO data set: data.yaml, obj.data, or a list of names."""

import os
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from trilabel.data.folder_search import files_below, too_wide
from trilabel.data.formats.yolo.yaml_keys import Value, read_yaml
from trilabel.data.image_paths import is_image, split_name
from trilabel.data.text_files import peek, read_lines
from trilabel.errors import TrilabelError

_YAML, _NAMES = (".yaml", ".yml"), ("obj.names", "classes.txt", "_darknet.labels")
_SPLITS = ("train", "val", "valid", "validation", "test")
_UP = re.compile(r"^(\.\./)+(?=[^.])")


class SplitImages(NamedTuple):
    """Images of a split: a folder of them or a .txt file that lists them, as a path from the data's root."""

    split: str  # "" if the path of an image determines it
    where: str


class YoloLayout(NamedTuple):
    """The contents of the description."""

    root: Path
    classes: list[str]
    sources: list[SplitImages]
    pose: bool  # whether key points follow each box
    notes: list[str]


def find(path: Path) -> Path | None:
    """The description of the data in this folder (or this file itself); None if there is none."""
    if os.path.isfile(path):  # noqa: PTH113 (pathlib raises for some names)
        return path if _describes(path) else None
    if not os.path.isdir(path):  # noqa: PTH112
        return None
    found = [file for file in sorted(path.iterdir()) if file.suffix in _YAML and _describes(file)]
    usual = [file for file in found if file.stem in ("data", "dataset")] or found
    if len(usual) > 1:
        names = ", ".join(file.name for file in usual)
        raise TrilabelError(f"{path}: has several descriptions, {names}; give the path of one of these files")
    folders = [path, path / "labels", *(path / split for split in _SPLITS)]  # LabelImg puts names beside labels
    others = [folder / name for name in ("obj.data", *_NAMES) for folder in folders]
    return next((file for file in [*usual, *others] if os.path.isfile(file) and _describes(file)), None)  # noqa: PTH113


def describe(path: Path) -> YoloLayout:
    """The classes and sources of the data set at this file or folder."""
    file = find(path)
    if file is None:
        raise TrilabelError(f"{path}: no data.yaml, obj.data, obj.names or classes.txt that describes YOLO labels")
    if file.suffix in _YAML:
        return _from_yaml(file)
    if file.suffix == ".data":
        return _from_data(file)
    inner = file.parent.name == "labels" and (file.parent.parent / "images").is_dir()
    root = file.parent.parent if inner or (file.parent != path and path.is_dir()) else file.parent
    inside = "images" if (root / "images").is_dir() or (root / "labels").is_dir() else "."
    return YoloLayout(root, _names(file), [SplitImages("", inside)], False, [])


def label_of(image: str) -> str:
    """Where the labels of an image are: labels/ in place of the last images/, or else beside the image."""
    before, images, after = f"/{image}".rpartition("/images/")
    moved = f"{before}/labels/{after}" if images else f"/{image}"
    return (moved.rpartition(".")[0] if is_image(moved) else moved)[1:] + ".txt"


def labels_folder(where: str) -> str:
    """The folder of the labels of a folder's images, with a slash at the end; "" is the root."""
    return label_of("x" if where == "." else f"{where}/x")[: -len("x.txt")]


def is_list_of_names(file: str) -> bool:
    """Whether a file has one of the usual names of lists of classes."""
    return file.rpartition("/")[2] in _NAMES


def from_root(root: Path) -> Callable[[str], str]:
    """Makes a path below the root relative to it; other paths stay unchanged."""
    bases = (os.path.abspath(root), os.path.realpath(root))  # noqa: PTH100 (the root may be reached by a link)

    def shorten(name: str) -> str:
        """The path from the root, or as it is."""
        if not (os.path.isabs(name) or name.startswith("../")):  # noqa: PTH117 (for each line of a list)
            return name
        full = os.path.normpath(os.path.join(bases[0], name))  # noqa: PTH118
        for base in bases:
            if full == base:
                return "."
            if full.startswith(start := os.path.join(base, "")):  # noqa: PTH118
                return full[len(start) :].replace(os.sep, "/")
        return name

    return shorten


# ---- detecting descriptions


def _describes(file: Path) -> bool:
    if file.name in _NAMES:
        return _has_labels(file.parent) or (file.parent.name == "labels" and _has_labels(file.parent.parent))
    start = peek(file)
    if file.suffix == ".data":
        return bool(re.search(rb"^\s*names\s*=", start, re.M))
    images, classes = rb"^[\"']?(train|val|test)[\"']?\s*:", rb"^[\"']?(names|nc)[\"']?\s*:"
    start = start.removeprefix(b"\xef\xbb\xbf")
    return file.suffix in _YAML and all(re.search(key, start, re.M) for key in (images, classes))


def _has_labels(folder: Path) -> bool:
    """Whether label files are in labels/ or beside images; only the first files are checked."""
    names = list(islice(files_below(folder / "labels"), 1000))
    if any(name.endswith(".txt") and not is_list_of_names(name) for name in names):
        return True
    images = [name for name in islice(files_below(folder), 1000) if is_image(name)]
    return any((folder / label_of(name)).is_file() for name in images[:20])


# ---- reading descriptions


def _from_yaml(file: Path) -> YoloLayout:
    keys = read_yaml(file, ("path", *_SPLITS, "names", "nc", "kpt_shape"))
    classes = _classes(file, *keys.get("names", (1, None)), *keys.get("nc", (1, None)))
    wanted = [
        (key, line, text.replace("\\", "/").removeprefix("./").rstrip("/") or "/")
        for key, (line, value) in keys.items()
        if key in _SPLITS
        for text in _texts(file, key, line, value)
    ]
    # The folder that `path` names is below the file's folder, or beside it, or on the machine of the author.
    line, folder = keys.get("path", (1, None))
    below = next(iter(_texts(file, "path", line, folder)), ".")
    roots = [file.parent / below, file.parent.parent / below, file.parent]
    forms = [form for _, _, text in wanted for form in (text, _UP.sub("", text))]
    root = next((root for root in roots if any(_place(root, form) for form in forms)), file.parent)
    # Roboflow writes ../train/images for train/images. If the latter exists, ../train/images is another data set.
    own = any(_place(root, _UP.sub("", text)) for _, _, text in wanted if _UP.match(text))
    sources, notes = [], []
    for key, line, text in wanted:
        where = _place(root, _UP.sub("", text) if own else text)
        if where is not None:
            _refuse_too_wide(file, f"line {line}: {key}: {text!r}", root / where)
            sources.append(SplitImages(split_name(key), where))
        elif key == "test":  # Roboflow always names one
            notes.append(f"there is no {text}: no test images")
        else:
            raise TrilabelError(f"{file}, line {line}: {key}: no {text!r} in {root}, nor its labels; correct the path")
    if not sources:
        raise TrilabelError(f"{file}: names no images that exist; write train: and the folder of the images")
    return YoloLayout(root, classes, sources, "kpt_shape" in keys, notes)


def _refuse_too_wide(file: Path, what: str, folder: Path) -> None:
    """Refuses a folder that would take hours to search, and be searched for all that it holds."""
    if (why := too_wide(folder)) is not None:
        raise TrilabelError(
            f"{file}, {what} is {os.path.realpath(folder)}, {why}; name the folder that has only the images"
        )


def _texts(file: Path, key: str, line: int, value: Value) -> list[str]:
    if isinstance(value, dict):
        raise TrilabelError(f"{file}, line {line}: {key} is a map; write a path or a list of paths")
    texts = [value] if isinstance(value, str) else value or ()
    return [text for text in texts if text.lower() not in ("", "~", "null")]


def _place(root: Path, text: str) -> str | None:
    """A path relative to the root; None if neither it nor the folder of its labels exists."""
    where = from_root(root)(text)
    there = [root / where] if where.lower().endswith(".txt") else [root / where, root / labels_folder(where)]
    return where if any(os.path.exists(place) for place in there) else None  # noqa: PTH110


def _classes(file: Path, line: int, names: Value, count_line: int, count: Value) -> list[str]:
    if isinstance(names, dict):
        numbers = [str(number) for number in range(len(names))]
        for key in sorted(names.keys() - set(numbers)):
            raise TrilabelError(f"{file}, line {line}: class number {key[:40]!r}; number the names from 0 up")
        names = [names[number] for number in numbers]
    if isinstance(names, str):
        raise TrilabelError(f"{file}, line {line}: names is a text; write a list such as [cat, dog]")
    if count is not None and not (isinstance(count, str) and count.isascii() and count.isdigit() and len(count) < 7):
        raise TrilabelError(f"{file}, line {count_line}: nc is not a number of classes; write for example nc: 3")
    if names and count and int(str(count)) != len(names):
        raise TrilabelError(f"{file}, line {count_line}: nc is {count}, but there are {len(names)} names; correct one")
    if not names and not count:
        raise TrilabelError(f"{file}, line {line}: no names of classes; write names: [cat, dog]")
    return names or [str(number) for number in range(int(str(count)))]


def _from_data(file: Path) -> YoloLayout:
    keys = {}
    for number, line in read_lines(file):
        key, equals, value = line.partition("=")
        if not equals and not line.startswith("#"):
            raise TrilabelError(f"{file}, line {number}: {line[:60]!r} is not key = value; correct the line")
        keys[key.strip()] = number, value.strip().replace("\\", "/")
    names = _as_written(file.parent, keys.get("names", (1, ""))[1]) or "obj.names"
    sources = []
    for key in _SPLITS:
        number, text = keys.get(key, (0, ""))
        if where := _as_written(file.parent, text):
            sources.append(SplitImages(split_name(key), where))
        elif text and key == "train":
            raise TrilabelError(f"{file}, line {number}: {key}: no list {text!r} in {file.parent}; correct the path")
    if not sources:
        raise TrilabelError(f"{file}: names no list of images that exists; write train = train.txt")
    return YoloLayout(file.parent, _names(file.parent / names), sources, False, [])


def _as_written(root: Path, text: str) -> str:
    """A file below the root, or without the folder that Darknet was started in ("data/train.txt"); "" if none."""
    options = (from_root(root)(text) if text else "", text.partition("/")[2], text.rpartition("/")[2])
    return next((name for name in options if name and os.path.isfile(root / name)), "")  # noqa: PTH113


def _names(file: Path) -> list[str]:
    names = []
    for number, text in read_lines(file):
        names.append(text)
        if number != len(names):
            raise TrilabelError(
                f"{file}, line {number - 1}: blank, which would change the numbers of the classes; remove the line"
            )
    if not names:
        raise TrilabelError(f"{file}: no names of classes; write one per line")
    return names
