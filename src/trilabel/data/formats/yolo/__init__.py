"""YOLO: a text file of boxes for each image, with data.yaml (Ultralytics) or obj.names / classes.txt (Darknet)."""

import os
import re
from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from trilabel.data.dataset import Dataset
from trilabel.data.folder_search import files_below
from trilabel.data.formats._shared.assemble import Box, Entry, Unlisted, assemble
from trilabel.data.formats.yolo.layout import (
    SplitImages,
    describe,
    find,
    from_root,
    is_list_of_names,
    label_of,
    labels_folder,
)
from trilabel.data.formats.yolo.writing import write
from trilabel.data.image_paths import RootedPaths, is_image, root_of, split_name
from trilabel.data.options import check_choice
from trilabel.data.text_files import read_lines
from trilabel.errors import TrilabelError
from trilabel.log import track

__all__ = ["RULE", "detect", "read", "write"]

WRITES_FOLDER = True
RULE = "classes with a box are present, others absent; images without a label file are unknown"

_NO_LABELS = re.compile(r"(classes|labels|train|val|valid|validation|test|trainval|readme.*)$", re.I)
_Corners = tuple[float, float, float, float]  # left, top, right, bottom
_SAMPLE = 50  # lines of a list
_EDGE = 0.01  # how far outside the image rounding may move a coordinate


def detect(path: Path) -> bool:
    """Whether this is such a description or a folder with one."""
    try:
        return find(path) is not None
    except TrilabelError:  # several of them: `read` reports it
        return True
    except OSError:
        return False


def read(path: Path, *, images: str | Path | None = None, unlisted: Unlisted = "absent") -> Dataset:
    """Reads boxes as labels. `unlisted` is the value of a class without a box in an image with a label file.

    Ids are the images' paths below the data's root; `images` is a folder that replaces that root for images.
    """
    check_choice(path, "unlisted", unlisted, ("absent", "unknown"))
    layout = describe(path)
    image_root = root_of(images, [layout.root])
    notes = [f"classes with a box are present, others {unlisted}; images without a label file are unknown"]
    splits, more = _split_of_each(layout.root, image_root, layout.sources)
    ids = list(splits)
    if not ids:
        raise TrilabelError(f"{path}: no images or label files in {', '.join(s.where for s in layout.sources)}")
    labeled, entries, boxes, outside = _labels(layout.root, ids, len(layout.classes), layout.pose)
    notes += layout.notes + more
    if len(labeled) < len(ids):
        notes.append(f"{len(ids) - len(labeled)} images have no label file: their labels are unknown")
    if outside:
        notes.append(
            f"{outside} boxes have coordinates outside the image: they are left out, but their classes are present"
        )
    return assemble(
        path,
        ids=ids,
        paths=RootedPaths(image_root, ids),
        classes=layout.classes,
        entries=entries,
        absent_in=labeled if unlisted == "absent" else (),
        split_of=list(splits.values()),
        boxes=boxes,
        notes=notes,
    )


# ---- which images there are


def _split_of_each(root: Path, image_root: Path, sources: Sequence[SplitImages]) -> tuple[dict[str, str], list[str]]:
    """The split of each image, by its name, and notes; an image that is in two splits stays in the first."""
    splits: dict[str, str] = {}
    again: dict[tuple[str, str], int] = {}
    notes = []
    for source in sources:
        is_list = source.where.lower().endswith(".txt")
        found, more = _listed(root, image_root, source) if is_list else _in_folder(root, image_root, source)
        notes += more
        for name in found:
            folders = map(split_name, name.split("/")[:-1]) if not source.split else ()
            split = source.split or next((text for text in folders if text in ("train", "val", "test")), "")
            first = splits.setdefault(name, split)
            if first != split:
                again[split, first] = again.get((split, first), 0) + 1
    notes += [f"{count} images of {split} are also in {first}: kept there" for (split, first), count in again.items()]
    return splits, notes


def _is_part(name: str) -> bool:
    return is_image(name) or name.endswith(".txt")


def _in_folder(root: Path, image_root: Path, source: SplitImages) -> tuple[list[str], list[str]]:
    """The images of a folder; if it has none, the images of its label files."""
    inside = "" if source.where == "." else f"{source.where}/"
    folder = labels_folder(source.where)
    images = [inside + name for name in sorted(files_below(image_root / source.where, _is_part)) if is_image(name)]
    expected = {label_of(name) for name in images}
    labels = [folder + name for name in sorted(files_below(root / folder, _is_part)) if name.endswith(".txt")]
    extra = [name for name in labels if name not in expected and not is_list_of_names(name)]
    if folder == inside:  # other text files are in the same folder
        extra = [name for name in extra if not _NO_LABELS.match(name.rpartition("/")[2][: -len(".txt")])]
    if not extra:
        return images, []
    if images:
        return images, [f"{len(extra)} label files in {folder or '.'} have no image and are left out"]
    names = [inside + name[len(folder) : -len(".txt")] for name in extra]
    return names, [f"{len(extra)} label files in {folder or '.'} belong to images that do not exist"]


def _listed(root: Path, image_root: Path, source: SplitImages) -> tuple[list[str], list[str]]:
    """The images of a list. Paths are relative to the root or the list's folder, or belong to another machine."""
    file = root / source.where
    numbered = [(number, text.replace("\\", "/").removeprefix("./")) for number, text in read_lines(file)]
    if not numbered and source.split != "test":
        raise TrilabelError(f"{file}, line 1: contains no images; write the paths of images into it")
    if not numbered:
        return [], []
    lines = [line for _, line in numbered]
    beside = os.path.relpath(file.parent, root).replace(os.sep, "/")
    folders = [""] if beside == "." else ["", f"{beside}/"]

    def there(line: str, cut: int, folder: str) -> bool:
        name = folder + _tail(line, cut)
        places = (image_root, name), (root, label_of(name))
        return any(os.path.isfile(os.path.join(*place)) for place in places)  # noqa: PTH113, PTH118 (for many lines)

    found, cut, folder = 0, 0, ""
    for sample in (lines[:: max(1, len(lines) // _SAMPLE)], lines):  # all of them only if a sample finds nothing
        ways = [(cut, folder) for cut in range(1 + max(line.count("/") for line in sample)) for folder in folders]
        counts = [sum(there(line, *way) for line in sample) for way in ways]
        found = max(counts)
        if found:
            cut, folder = ways[counts.index(found)]
            break
    if not found and source.split == "test":  # Ultralytics' COCO lists test images, which few people have
        return [], [f"no line of {file.name} has an image or a label file: no test images"]
    if not found:
        raise TrilabelError(
            f"{file}, line {numbered[0][0]}: neither an image nor a label file of {_short(lines[0])!r} in {root}, "
            "nor of any other line; correct the paths"
        )
    shorten = from_root(root)
    names = [shorten(os.path.normpath(folder + _tail(line, cut)).replace(os.sep, "/")) for line in lines]
    twice = len(names) - len(set(names))
    return names, [f"{twice} lines of {file.name} repeat an image and are left out"] if twice else []


def _tail(line: str, cut: int) -> str:
    """A path without its first parts."""
    return line.split("/", cut)[-1]


# ---- label files


def _labels(root: Path, ids: Sequence[str], classes: int, pose: bool) -> tuple[list[int], list[Entry], list[Box], int]:
    """The images with a label file, the labels and boxes in these, and how many boxes are too far outside."""
    labeled, entries, boxes, outside = [], [], [], 0
    for row, name in enumerate(track(ids, "reading label files", len(ids))):
        file = os.path.join(root, label_of(name))  # noqa: PTH118 (118,000 times, and pathlib is slow)
        if not os.path.exists(file):  # noqa: PTH110
            continue
        labeled.append(row)
        for number, line in read_lines(Path(file)):
            words = line.split()
            try:
                cls, numbers = _whole(words[0]), [float(word) for word in words[1:]]
            except (ValueError, OverflowError):
                raise _fault(file, number, line, "a class number and coordinates") from None
            if not 0 <= cls < classes:
                only = f"there are {classes} names, for 0 to {classes - 1}"
                raise TrilabelError(f"{file}, line {number}: class {words[0][:40]}, but {only}; correct one of them")
            if not all(map(isfinite, numbers)):
                raise _fault(file, number, line, "finite coordinates")
            is_box = len(numbers) in (4, 5) or (pose and len(numbers) > 4)  # a score or key points may follow
            if not is_box and (len(numbers) < 6 or len(numbers) % 2):
                raise _fault(file, number, line, "class x y width height, nor class and x y of three points or more")
            entries.append((row, cls, 1))
            described = numbers[:4] if is_box else numbers
            if min(described) >= -_EDGE and max(described) <= 1 + _EDGE:
                boxes.append((row, cls, *(_corners(*described) if is_box else _around(numbers))))
            else:
                outside += 1
    return labeled, entries, boxes, outside


def _corners(x: float, y: float, width: float, height: float) -> _Corners:
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _around(polygon: list[float]) -> _Corners:
    return min(polygon[::2]), min(polygon[1::2]), max(polygon[::2]), max(polygon[1::2])


def _whole(text: str) -> int:
    """A class number; some programs write 3.0 for 3."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        return int(number) if number.is_integer() else -1


def _fault(file: str, number: int, line: str, expected: str) -> TrilabelError:
    return TrilabelError(f"{file}, line {number}: {_short(line)!r} is not {expected}; correct the line")


def _short(line: str) -> str:
    return line if len(line) <= 60 else line[:59] + "…"
