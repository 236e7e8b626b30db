"""CelebA and sets like it: list_attr_celeba.txt (a count, the names of the attributes, then 1 or -1 for each)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.image_paths import RootedPaths, is_image, root_of
from trilabel.data.text_files import peek, read_lines, shown
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names

RULE = "1 is present, -1 is absent"
_FILE, _PARTITION = "list_attr_celeba.txt", "list_eval_partition.txt"
_SPLITS = ("train", "val", "test")  # 0, 1 and 2 of the partition
_IMAGES = ("img_align_celeba", "img_celeba", "Img/img_align_celeba", "Img/img_celeba", "images", "")
_SIGNS = {"1", "-1", "0"}


def detect(path: Path) -> bool:
    """Whether this is such a file under any name, or a folder with list_attr_celeba.txt, itself or in Anno."""
    file = _file(path)
    if file is None or file.suffix.lower() != ".txt":
        return False
    lines = peek(file)[: 1 << 16].decode("utf-8-sig", errors="replace").split("\n")[:3]
    if len(lines) < 3 or not lines[0].strip().isdigit():
        return False
    name, *signs = lines[2].split() or [""]
    return is_image(name) and len(signs) == len(lines[1].split()) > 0 and set(signs) <= _SIGNS


def read(path: Path, *, images: str | Path | None = None) -> Dataset:
    """Reads the attributes of all images, and the splits in list_eval_partition.txt where it is there."""
    file = _file(path)
    if file is None:
        raise TrilabelError(f"{path}: no {_FILE} in this folder or in Anno")
    ids, classes, signs = _attributes(file)
    labels = Labels.from_signed(signs, classes, ids)
    homes = [file.parent, file.parent.parent] if file.parent.name == "Anno" else [file.parent]
    root = root_of(images, [home / name for home in homes for name in _IMAGES], ids)
    splits, notes = _splits(homes, labels.ids)
    rule = RULE + ("; 0 is unknown" if (signs == 0).any() else "")
    return Dataset(labels.ids, RootedPaths(root, labels.ids), labels, splits, notes=(rule, *notes))


def _file(path: Path) -> Path | None:
    if path.is_file():
        return path
    return next((file for file in (path / _FILE, path / "Anno" / _FILE) if file.is_file()), None)


def _attributes(file: Path) -> tuple[list[str], list[str], NDArray[np.int8]]:
    lines = read_lines(file)
    count, classes = _header(file, lines)
    ids: dict[str, int] = {}
    rows: list[NDArray[np.int8]] = []
    known: dict[str, NDArray[np.int8]] = {}  # many lines are equal, and numbers of 200,000 images are slow to read
    for number, line in lines:
        name, _, rest = line.partition(" ")
        if ids.setdefault(name, number) != number:
            raise TrilabelError(f"{file}, line {number}: image {shown(name)} is also in line {ids[name]}; remove one")
        if rest not in known:
            cells = rest.split()
            if len(cells) != len(classes):
                what = f"{len(cells)} values, but line 2 names {len(classes)} attributes"
                raise TrilabelError(f"{file}, line {number}: {what}")
            if wrong := [cell for cell in cells if cell not in _SIGNS]:
                raise TrilabelError(f"{file}, line {number}: {shown(wrong[0])} is neither 1 (present) nor -1 (absent)")
            known[rest] = np.array(cells, np.int8)
        rows.append(known[rest])
    if len(rows) != count:
        raise TrilabelError(f"{file}: line 1 says {count} images, but {len(rows)} are listed; get the file again")
    if not rows:
        raise TrilabelError(f"{file}: lists no images")
    return list(ids), classes, np.stack(rows)


def _header(file: Path, lines: Iterator[tuple[int, str]]) -> tuple[int, list[str]]:
    _, first = next(lines, (1, ""))
    _, names = next(lines, (2, ""))
    classes = names.split()
    if not (first.isascii() and first.isdigit() and len(first) < 12) or not classes:
        raise TrilabelError(f"{file}: its first line must be the number of images, its second the names of attributes")
    if len(set(classes)) < len(classes):
        twice = next(name for name in classes if classes.count(name) > 1)
        raise TrilabelError(f"{file}, line 2: attribute {shown(twice)} is named twice; rename one")
    return int(first), classes


def _splits(homes: list[Path], ids: Names) -> tuple[dict[str, NDArray[np.int64]], list[str]]:
    places = [home / folder / _PARTITION for home in homes for folder in ("", "Eval")]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        return {}, [f"no {_PARTITION}: there are no splits"]
    names, of = [], []
    for number, line in read_lines(file):
        name, *cells = line.split()
        if len(cells) != 1 or cells[0] not in ("0", "1", "2"):
            raise TrilabelError(f"{file}, line {number}: {shown(line)} is not an image and 0, 1 or 2")
        names.append(name)
        of.append(int(cells[0]))
    rows, part = ids.positions(Names(names)), np.array(of, np.int64)
    left_out = int((rows < 0).sum())
    notes = [f"{left_out} images in {_PARTITION} have no attributes: they are left out"] if left_out else []
    splits = {name: np.unique(rows[(part == code) & (rows >= 0)]) for code, name in enumerate(_SPLITS)}
    return {name: found for name, found in splits.items() if len(found)}, notes
