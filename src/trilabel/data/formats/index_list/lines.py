"""The lines of a list of images and class numbers: fast where the list is plain, line by line where it is not.

A plain list, as programs write it, is ASCII with one kind of separator and only digits in the cells. Any other list,
and every error, is left to the slow reader, which knows the line.
"""

from array import array
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.data.image_paths import is_image
from trilabel.data.tables import UNREADABLE, open_table
from trilabel.data.text_files import decoded, lines_of, read_text, shown
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names

MOST_CLASSES = 1_000_000  # if no file names them: a larger number is a mistake, not a class
_DIGITS = 9  # of the longest number that is read
Listed = tuple[Names, NDArray[np.int64], NDArray[np.int64]]  # images, all numbers in a row, how many each image has


def read_listed(path: Path, classes: int, named_by: Path | None) -> Listed:
    """The contents of a list; numbers are below `classes`, the number of names in the file `named_by`."""
    text = _text_of(path)
    listed = _plain(text, classes) if text.isascii() else None
    images, numbers, counts = listed or _any(path, text, classes, named_by)
    _, distinct = images.distinct()
    if len(distinct) < len(images):
        raise _repeated(path, text)
    return distinct, numbers, counts


def _text_of(path: Path) -> str:
    if path.suffix.lower() != ".gz":
        return read_text(path)
    try:
        with open_table(path) as file:
            return decoded(path, file.read())
    except UNREADABLE as error:
        raise TrilabelError(f"{path}: cannot be unpacked ({error}); copy it again") from None


def cells_of(line: str) -> list[str]:
    """The cells of a line: separated by commas or tabs or, if it has neither, by blanks."""
    if "," in line or "\t" in line:
        first, *rest = line.replace("\t", ",").split(",")
        first = first.rstrip()
        if " " in first and not is_image(first):
            first, _, number = first.rpartition(" ")  # "a.jpg 3,4"
            return [first.rstrip(), number, *rest]
        return [first, *rest]
    return [line] if is_image(line) else line.split()


def number_of(cell: str) -> int | None:
    """The number in a cell; −1 if it is empty, None if it contains anything else."""
    cell = cell.strip()
    return -1 if not cell else int(cell) if cell.isascii() and cell.isdigit() and len(cell) <= _DIGITS else None


def _plain(text: str, classes: int) -> Listed | None:
    """The contents of a plain list; None if it is not plain or contains an error."""
    content = text.replace("\r\n", "\n").rstrip("\n").encode() + b"\n"
    separator = next((mark for mark in (b",", b"\t", b" ") if mark in content), b",")
    letters = np.frombuffer(content, np.uint8)
    marks = (letters == ord("\n")) | (letters == ord(separator))
    if np.count_nonzero(letters <= ord(" ")) > np.count_nonzero(marks & (letters <= ord(" "))):
        return None  # other blanks, which may or may not belong to names
    ends = np.flatnonzero(marks)
    starts = np.concatenate(([0], ends[:-1] + 1))
    is_image_cell = np.concatenate(([True], letters[ends[:-1]] == ord("\n")))
    images = np.flatnonzero(is_image_cell)
    sizes = ends - starts
    numbers = np.flatnonzero(~is_image_cell & (sizes > 0))
    values = _values(letters, starts[numbers], sizes[numbers])
    if not sizes[images].all() or values is None or values.max(initial=0) >= classes:
        return None
    # Names and the text between them follow each other without a gap, so every second piece is a name.
    pieces = np.append(np.stack((starts[images], ends[images]), 1).ravel(), len(letters))
    names = Names.from_buffer(letters, pieces).take(np.arange(0, 2 * len(images), 2))
    counts = np.bincount(np.searchsorted(images, numbers) - 1, minlength=len(images))
    return names, values, counts


def _values(
    letters: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """The numbers at these places, read digit by digit for all of them; None if one is not a number."""
    longest = int(sizes.max(initial=0))
    if longest > _DIGITS:
        return None
    values = np.zeros(len(starts), np.int64)
    for position in range(longest):
        longer = np.flatnonzero(sizes > position)
        digits = letters[starts[longer] + position] - np.uint8(ord("0"))  # what is below "0" wraps around to above 9
        if (digits > 9).any():
            return None
        values[longer] = values[longer] * 10 + digits
    return values


class _Numbers(dict[str, int]):
    """The numbers in the texts of cells; every text is read once."""

    def __init__(self, classes: int, named_by: Path | None) -> None:
        self.classes, self.named_by = classes, named_by

    def __missing__(self, text: str) -> int:
        number = number_of(text)
        if number is None:
            raise ValueError(f"{shown(text.strip())} is not the number of a class; use whole numbers from 0")
        if number >= self.classes:
            has = f"{self.named_by} names {self.classes}" if self.named_by else f"at most {self.classes:,} are read"
            raise ValueError(f"there is no class {number}: {has}, the first is 0; pass the right file as classes=FILE")
        return self.setdefault(text, number)


def _any(path: Path, content: str, classes: int, named_by: Path | None) -> Listed:
    """The contents of any list."""
    known = _Numbers(classes, named_by)
    images, numbers, counts = list[str](), array("q"), array("q")
    for line, text in lines_of(path, content):
        image, *cells = cells_of(text)
        try:
            found = [number for number in map(known.__getitem__, cells) if number >= 0]
        except ValueError as error:
            raise TrilabelError(f"{path}, line {line}: {error}") from None
        if not image:
            raise TrilabelError(f"{path}, line {line}: {shown(text, 80)} names no image")
        images.append(image)
        numbers.extend(found)
        counts.append(len(found))
    if not images:
        raise TrilabelError(f"{path}: is empty; each line of a list must have an image and the numbers of its classes")
    return Names(images), np.array(numbers, np.int64), np.array(counts, np.int64)


def _repeated(path: Path, content: str) -> TrilabelError:
    """An error about the first image that is listed twice."""
    lines: dict[str, int] = {}
    for line, text in lines_of(path, content):
        image = cells_of(text)[0]
        if lines.setdefault(image, line) != line:
            return TrilabelError(
                f"{path}, line {line}: image {image!r} is listed twice, first in line {lines[image]}; remove one"
            )
    return TrilabelError(f"{path}: names an image twice; remove one of them")
