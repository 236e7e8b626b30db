"""The samples of one .tar: files that are called the same up to the first dot."""

import io
import json
import math
import tarfile
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from trilabel.archives.tar_members import address, members
from trilabel.data.formats._shared.records import Records, plain
from trilabel.data.image_paths import is_image
from trilabel.errors import TrilabelError
from trilabel.input_files import open_input

_LOOKED_AT = 40  # files of a .tar, to detect one
_MOST_BYTES = 4 << 20  # of the labels of an image
_READ = ("json", "cls", "npy")


class Samples(NamedTuple):
    """All samples of a .tar that have an image."""

    keys: list[str]
    images: list[str]  # names in the .tar, with their places
    table: Records


def is_shard(file: Path) -> bool:
    """Whether one of the first files in a .tar is an image that shares its name with something else."""
    try:
        with open_input(file) as opened:
            first = [info.name for info in islice(members(str(file), opened), _LOOKED_AT)]
    except (TrilabelError, OSError):
        return False
    pictures = {_split(name)[0] for name in first if is_image(name)}
    return any(_split(name)[0] in pictures for name in first if not is_image(name))


def read_samples(file: Path, column: str | None, image: str | None, classes: list[str]) -> Samples:
    """The samples of a .tar; numbers of classes become their names, where `classes` has these."""
    keys, images, columns, places = list[str](), list[str](), dict[str, list[Any]](), list[tuple[Path, int]]()
    with open_input(file) as opened:
        every = groupby(members(str(file), opened), lambda info: _split(info.name)[0])
        for number, (key, group) in enumerate(every, start=1):
            sample = _Sample(file, number, {_split(info.name)[1]: info for info in group})
            picture = sample.picture(image)
            if picture is None:
                continue
            for name, cell in sample.cells(opened, column, classes):
                cells = columns.setdefault(name, [])
                cells += [None] * (len(keys) - len(cells))
                cells[len(keys) :] = [cell]
            keys.append(key)
            images.append(address(picture))
            places.append((file, number))
    for cells in columns.values():
        cells += [None] * (len(keys) - len(cells))
    return Samples(keys, images, Records(columns, [], places, "sample"))


def _split(name: str) -> tuple[str, str]:
    """(what the files of a sample have in common, the ending after the first dot)."""
    folder, slash, file = name.removeprefix("./").rpartition("/")
    stem, _, end = file.partition(".")
    return folder + slash + stem, end.lower()


class _Sample(NamedTuple):
    file: Path
    number: int
    parts: dict[str, tarfile.TarInfo]  # by their endings

    def error(self, what: str) -> TrilabelError:
        return TrilabelError(f"{self.file}, sample {self.number}: {what}")

    def picture(self, wanted: str | None) -> tarfile.TarInfo | None:
        """The image; None if there is none."""
        found = [end for end in self.parts if (end == wanted if wanted else is_image(f".{end}"))]
        if len(found) > 1:
            raise self.error(f"has several images ({', '.join(found)}); pass image=ENDING, that of the one to use")
        return self.parts[found[0]] if found else None

    def cells(self, opened: IO[bytes], column: str | None, classes: list[str]) -> Iterator[tuple[str, Any]]:
        """The labels of the sample, by columns."""
        for end, info in self.parts.items():
            if is_image(f".{end}") or (end not in _READ and end != column):
                continue
            if info.size > _MOST_BYTES:
                raise self.error(f"{info.name[:80]!r} has {info.size:,} bytes, which are no labels of an image")
            opened.seek(info.offset_data)
            content = opened.read(info.size)
            if end == "npy":
                yield from self._vector(content, classes)
            elif end == "json":
                yield from self._keys(content, classes)
            else:
                yield end, self._text(end, content, classes)

    def _keys(self, content: bytes, classes: list[str]) -> Iterator[tuple[str, Any]]:
        try:
            found = plain(json.loads(content))
        except (ValueError, RecursionError) as error:
            raise self.error(f"damaged JSON ({str(error).splitlines()[0]})") from None
        if not isinstance(found, dict):
            found = {"label": found}
        for name, cell in found.items():
            yield name, self._named(cell, classes) if name in ("label", "labels", "cls") else cell

    def _text(self, end: str, content: bytes, classes: list[str]) -> Any:
        try:
            text = content.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            raise self.error(f"its .{end} is not UTF-8 text") from None
        numbers = text.replace(",", " ").split()
        if end == "cls" and all(part.lstrip("-").isdigit() and len(part) < 16 for part in numbers):
            return self._named([int(part) for part in numbers], classes) if numbers else None
        return text or None

    def _named(self, cell: Any, classes: list[str]) -> Any:
        """Names instead of numbers; −1, which stands for none, is left out."""
        if isinstance(cell, list):
            return [self._named(one, classes) for one in cell if one != -1]
        if type(cell) is not int or not classes or cell == -1:
            return None if cell == -1 else cell
        if not 0 <= cell < len(classes):
            raise self.error(f"class {cell}, but {len(classes)} classes are named; correct one of them")
        return classes[cell]

    def _vector(self, content: bytes, classes: list[str]) -> Iterator[tuple[str, Any]]:
        """A number for each class, as NumPy stores it; a single number is that of the class."""
        stream = io.BytesIO(content)
        try:
            version = np.lib.format.read_magic(stream)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, kind = header(stream)
            if kind.hasobject or kind.kind not in "biuf" or math.prod(shape) * kind.itemsize > len(content):
                raise ValueError("not an array of numbers")
            values = np.frombuffer(content, kind, math.prod(shape), stream.tell()).tolist()
        except (ValueError, TypeError, EOFError, SyntaxError) as error:
            raise self.error(f"its .npy cannot be read ({str(error).splitlines()[0]})") from None
        if not shape or (len(values) == 1 and len(classes) > 1):
            yield "cls", self._named(int(values[0]), classes)
            return
        if classes and len(classes) != len(values):
            raise self.error(f"its .npy has {len(values)} numbers, but {len(classes)} classes are named")
        yield from zip(classes or map(str, range(len(values))), map(plain, values), strict=True)
