"""CUB-200-2011: photographs of birds with 312 attributes (shape of bill, colors, pattern) and how sure people were."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import check_fits
from trilabel.data.image_paths import RootedPaths, root_of
from trilabel.data.options import check_choice
from trilabel.data.text_files import read_lines, shown
from trilabel.errors import TrilabelError
from trilabel.input_files import read_input
from trilabel.labels import Labels

RULE = "attributes marked present are present, others absent; attributes marked not visible are unknown"
_FOLDER = "CUB_200_2011"
_LABELS = "attributes/image_attribute_labels.txt"
_NOT_VISIBLE = 1  # of the certainties: 1 not visible, 2 guessing, 3 probably, 4 definitely


def detect(path: Path) -> bool:
    """Whether this is the folder CUB_200_2011 or the one around it."""
    return any((home / "images.txt").is_file() and (home / _LABELS).is_file() for home in (path, path / _FOLDER))


def read(
    path: Path, *, images: str | Path | None = None, not_visible: Literal["unknown", "absent"] = "unknown"
) -> Dataset:
    """Reads the attributes of CUB-200-2011. `not_visible` is the value of an attribute that people could not see.

    With "absent" every line counts as written, however sure its author was, as in most published comparisons.
    """
    check_choice(path, "not_visible", not_visible, ("unknown", "absent"))
    home = path if (path / "images.txt").exists() else path / _FOLDER
    if not (home / "images.txt").exists():
        raise TrilabelError(f"{path}: no images.txt here or in {_FOLDER}; give the path of the folder {_FOLDER}")
    files = _numbered(home / "images.txt")
    attributes = _numbered(_attribute_file(home))
    splits = _splits(home, files)
    known, signs, unseen = _entries(home / _LABELS, files, attributes)
    if not_visible == "unknown":
        signs = np.where(unseen, np.int8(0), signs)
    check_fits(path, len(files), len(attributes))
    signed = np.zeros(len(files) * len(attributes), np.int8)
    signed[known] = signs
    labels = Labels.from_signed(signed.reshape(len(files), len(attributes)), attributes.values(), files.values())
    root = root_of(images, [home / "images"])
    notes = _notes(not_visible, int(unseen.sum()), signed.size - len(known))
    return Dataset(labels.ids, RootedPaths(root, labels.ids), labels, splits, notes=tuple(notes))


def _notes(not_visible: str, unseen: int, missing: int) -> Iterator[str]:
    if not_visible == "unknown":
        yield f"attributes marked not visible are unknown ({unseen:,} labels)"
    else:
        yield f"attributes marked not visible count as written, nearly all as absent ({unseen:,} labels)"
    if missing:
        yield f"{missing:,} labels have no line: they are unknown"


# ---- small files


def _attribute_file(home: Path) -> Path:
    """attributes.txt, which the archive has beside the folder and some copies inside it."""
    usual = [folder / "attributes.txt" for folder in (home, home / "attributes", home.parent)]
    return next((file for file in usual if file.is_file()), usual[-1])


def _numbered(file: Path) -> dict[int, str]:
    """The name of each number in a file of lines such as "1 some name"; neither is listed twice."""
    names: dict[int, str] = {}
    lines: dict[int | str, int] = {}
    for line, text in read_lines(file):
        first, _, name = text.partition(" ")
        name, number = name.strip(), _whole(first)
        if number is None or not name:
            raise TrilabelError(f"{file}, line {line}: {shown(text, 80)} is not a number and a name")
        for key in (number, name):
            if lines.setdefault(key, line) != line:
                raise TrilabelError(
                    f"{file}, line {line}: {key!r} is listed twice, first in line {lines[key]}; remove one"
                )
        names[number] = name
    if not names:
        raise TrilabelError(f"{file}: is empty; unpack it again")
    return names


def _splits(home: Path, files: Mapping[int, str]) -> dict[str, NDArray[np.int64]]:
    """Rows of the images for training (1) and for testing (0)."""
    file, of = home / "train_test_split.txt", dict.fromkeys(files, -1)
    for line, text in read_lines(file):
        number, _, value = text.partition(" ")
        image = _whole(number)
        if image is None or value.strip() not in ("0", "1"):
            raise TrilabelError(
                f"{file}, line {line}: {shown(text, 80)} is not an image's number and 1 (train) or 0 (test)"
            )
        if of.get(image) != -1:
            what = "is listed twice" if image in of else "is not in images.txt"
            raise TrilabelError(f"{file}, line {line}: image {image} {what}")
        of[image] = int(value)
    for image, split in of.items():
        if split < 0:
            raise TrilabelError(f"{file}: no line for image {image}, {files[image]!r}; unpack it again")
    is_train = np.fromiter(of.values(), np.int64)
    return {"train": np.flatnonzero(is_train == 1), "test": np.flatnonzero(is_train == 0)}


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


# ---- the large one


def _entries(
    file: Path, files: Mapping[int, str], attributes: Mapping[int, str]
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.bool_]]:
    """(places in the matrix of labels, +1 or −1, whether it was marked not visible) of every line."""
    try:
        content = read_input(file)
    except OSError as error:
        raise TrilabelError(f"{file}: cannot be read ({error.strerror or error})") from None
    try:
        # Some lines have six or seven fields; the first four are right in those, too.
        with np.errstate(invalid="ignore"):  # pandas tries "Infinity" as a number before it rejects it
            table = pd.read_csv(
                BytesIO(content), sep=r"\s+", header=None, usecols=range(4), dtype=np.int64, na_filter=False, quoting=3
            ).to_numpy()
    except (ValueError, OverflowError):
        table = np.full((1, 4), -1)
    row, column = _positions(files, table[:, 0]), _positions(attributes, table[:, 1])
    present, certainty = table[:, 2], table[:, 3]
    sound = (row >= 0) & (column >= 0) & (present >= 0) & (present <= 1) & (certainty >= 1) & (certainty <= 4)
    place = row * len(attributes) + column
    if b"\0" in content or not sound.all() or np.bincount(place).max() > 1:
        raise _fault(file, files, attributes)
    return place, np.where(present == 1, np.int8(1), np.int8(-1)), certainty == _NOT_VISIBLE


def _positions(names: Mapping[int, str], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of each of `numbers` among the keys; −1 if it is not a key."""
    keys = np.fromiter(names, np.int64)
    order = np.argsort(keys)
    found = order[np.searchsorted(keys[order], numbers).clip(max=len(keys) - 1)]
    return np.where(keys[found] == numbers, found, -1)


def _fault(file: Path, files: Mapping[int, str], attributes: Mapping[int, str]) -> TrilabelError:
    """The error about the first wrong line."""
    lines: dict[tuple[int | None, ...], int] = {}
    for line, text in read_lines(file):
        where, fields = f"{file}, line {line}:", [_whole(field) for field in text.split()[:4]]
        if len(fields) < 4 or None in fields:
            return TrilabelError(
                f"{where} {shown(text, 80)} does not start with image, attribute, is_present and certainty"
            )
        image, attribute, present, certainty = fields
        if image not in files or attribute not in attributes:
            what = f"image {image} is not in images.txt" if image not in files else f"no attribute {attribute}"
            return TrilabelError(f"{where} {what}; unpack it again")
        if present not in (0, 1) or certainty not in (1, 2, 3, 4):
            return TrilabelError(f"{where} is_present is {present}, certainty {certainty}: use 0 or 1, and 1 to 4")
        if lines.setdefault((image, attribute), line) != line:
            return TrilabelError(
                f"{where} image {image}, attribute {attribute} are listed twice, first in line "
                f"{lines[image, attribute]}; remove one"
            )
    return TrilabelError(f"{file}: is empty or not a table of numbers; unpack it again")
