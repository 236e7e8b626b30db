"""Where images are: finding files in folders, and paths of millions of them."""

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from trilabel.archives import names_in
from trilabel.data.folder_search import files_below
from trilabel.data.left_out import readable_images
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.log import log

IMAGE_EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".heic", ".heif")
UPLOAD_PREFIX = re.compile(r"[0-9a-f]{8}-(?=.)")  # the prefix that Label Studio adds to the name of an uploaded file
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SEARCHED = 64 << 20  # bytes of names that are searched in a moment
_SAMPLE = 50
SPLIT_NAMES = {"training": "train", "valid": "val", "validation": "val", "testing": "test"}
SPLIT_NAMES |= {name: name for name in ("train", "val", "test")}


class RootedPaths(Sequence[str]):
    """Paths below one folder, joined to it only on access; an absolute path stays unchanged."""

    __slots__ = ("names", "root")

    def __init__(self, root: str | Path, names: Sequence[str]) -> None:
        self.root, self.names = str(root), names

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "RootedPaths": ...
    def __getitem__(self, index: int | slice) -> "str | RootedPaths":
        if isinstance(index, slice):
            return RootedPaths(self.root, self.names[index])
        return _join(self.root, self.names[index])

    def take(self, index: NDArray[np.int64]) -> "RootedPaths":
        """The paths at these positions, in this order."""
        names = self.names
        return RootedPaths(self.root, names.take(index) if isinstance(names, Names) else [names[i] for i in index])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RootedPaths | list | tuple):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RootedPaths({self.root!r}, {self.names!r})"


def take_paths(paths: Sequence[str], positions: NDArray[np.int64]) -> Sequence[str]:
    """The paths at these positions, stored as they were: a million Python strings take ten times the memory."""
    if isinstance(paths, Names | RootedPaths):
        return paths.take(positions)
    return [paths[position] for position in positions.tolist()]


def _join(root: str, name: str) -> str:
    if "://" in name and is_url(name):
        return name
    path = os.path.join(root, name)  # noqa: PTH118 (ten times as fast as pathlib)
    if "\\" in name and os.sep == "/" and not os.path.exists(path):  # noqa: PTH110
        return os.path.join(root, name.replace("\\", "/"))  # noqa: PTH118 (written on Windows)
    return path


def root_of(images: str | Path | None, usual: Sequence[Path], names: Sequence[str] = ()) -> Path:
    """The folder of the images: the given one, or else the usual folder that contains most of `names`.

    If none contains any, the images are elsewhere or missing, and the first usual folder that exists is returned.
    """
    if images is not None:
        _check_folder(images)
        return Path(images)
    best = max(usual, key=lambda folder: found_in(folder, names))
    if found_in(best, names):
        return best
    return next((folder for folder in usual if folder.is_dir()), usual[-1])


def found_in(folder: Path, names: Sequence[str]) -> int:
    """How many images of a sample are in a folder: in a partial download the first ones may be missing."""
    sample = names[:: max(1, len(names) // _SAMPLE)]
    return sum(os.path.isfile(_join(str(folder), name)) for name in sample)  # noqa: PTH113 (never raises)


def moved(paths: RootedPaths, folders: Sequence[Path]) -> tuple[RootedPaths, list[str]]:
    """Where the images are if none of a sample is at its path, and a note on that.

    A folder may have another name here than where the data was made (img/1.jpg is images/1.jpg), or be the one that
    was given (photos/1.jpg, in the folder photos). So paths without their first folders are looked for in `folders`.
    """
    names = paths.names
    sample = [name.replace("\\", "/") for name in names[:: max(1, len(names) // _SAMPLE)]]
    if not sample or found_in(Path(paths.root), names):
        return paths, []
    ways = [(cut, folder) for cut in range(1 + max(name.count("/") for name in sample)) for folder in folders]
    counts = [found_in(folder, [_without_first(name, cut) for name in sample]) for cut, folder in ways]
    if 2 * max(counts) < len(sample):
        return paths, []
    cut, folder = ways[counts.index(max(counts))]
    shorter = Names(_without_first(name.replace("\\", "/"), cut) for name in names)
    if len(shorter.distinct()[1]) < len(names):  # two images would become one
        return paths, []
    without = f", without the first {'folder' if cut == 1 else f'{cut} folders'} of their paths" if cut else ""
    return RootedPaths(folder, shorter), [f"images are not where their paths say; they are in {folder}{without}"]


def _without_first(name: str, cut: int) -> str:
    return name.split("/", cut)[-1].lstrip("/") if cut else name


def relative_to(paths: Sequence[str], folder: Path) -> Iterator[str]:
    """Paths relative to a folder; URLs and paths for which that is impossible (another drive of Windows) stay whole."""

    @lru_cache(maxsize=1024)
    def from_here(parent: str) -> str:
        try:
            return os.path.relpath(parent or ".", folder)
        except ValueError:
            return str(Path(parent).absolute())

    for path in paths:
        if "://" in path and is_url(path):
            yield path
            continue
        parent, name = os.path.split(path)
        inside = from_here(parent)
        yield name if inside == "." else f"{inside}{os.sep}{name}"


def is_url(name: str) -> bool:
    """Whether this names a place on another machine: https://…, s3://…"""
    return _URL.match(name) is not None


def url_rows(paths: Sequence[str]) -> list[int]:
    """The positions of URLs. Of many millions of paths a sample is looked at first: it takes no time to open these."""
    names = paths.names if isinstance(paths, RootedPaths) else paths
    if isinstance(names, Names):
        many = names.nbytes > _SEARCHED
        start = names.take(np.arange(0, len(names), len(names) // 1000)) if many else names
        if b"://" not in start.buffer.tobytes():
            return []
    return [row for row, name in enumerate(names) if "://" in name and is_url(name)]


def split_name(text: str) -> str:
    """The usual name of a split: "Validation" and "valid" are "val"; other names stay as they are."""
    return SPLIT_NAMES.get(text.strip().lower(), text.strip())


def is_image(name: str) -> bool:
    """Whether a file name has the extension of an image."""
    return name.lower().endswith(IMAGE_EXTENSIONS)


def find_images(path: str | Path) -> list[str]:
    """The paths of all images below a folder, sorted, hidden ones left out; for a file, the file itself."""
    if Path(path).is_file():
        return [str(path)]
    if not Path(path).is_dir():
        raise TrilabelError(f"{path}: no such image or folder")
    found, notes = scan(path)
    if not found:
        why = "".join(f"; {note}" for note in notes)
        raise TrilabelError(f"{path}: no image in this folder (files ending in {', '.join(IMAGE_EXTENSIONS)}){why}")
    for note in notes:
        log.warning(f"{path}: {note}")
    return list(RootedPaths(path, found))


def scan(root: str | Path) -> tuple[list[str], list[str]]:
    """(the images below a folder that can be read, relative to it and sorted, what to say of its other files)."""
    _check_folder(root)
    files = sorted(files_below(root))
    return readable_images(files, list(filter(is_image, files)))


def walk(root: str | Path) -> Iterator[str]:
    """Images below a folder, relative to it and with forward slashes, in any order."""
    _check_folder(root)
    return filter(is_image, files_below(root))


def locate(root: str | Path, names: Names) -> tuple[RootedPaths, int]:
    """Where these images are below `root`, and how many were not found.

    A name with the extension of an image is a path. Any other ("000123", "birds/7") is searched for among the
    image files below `root`, by path or by file name without extension; names that are not found stay unchanged.
    """
    _check_folder(root)
    is_bare = ~_end_like_images(names)
    is_bare[url_rows(names)] = False
    bare = np.flatnonzero(is_bare)
    files = sorted(walk(root)) if len(bare) else []
    if not files:
        return RootedPaths(root, names), len(bare)
    keys = [file.rpartition(".")[0] for file in files]
    keys += [key.rpartition("/")[2] for key in keys]
    codes, _ = Names.join([Names(keys), names.take(bare)]).factorize()
    lowest, highest = np.full(len(codes), len(files)), np.full(len(codes), -1)
    targets = np.tile(np.arange(len(files)), 2)
    np.minimum.at(lowest, codes[: len(keys)], targets)
    np.maximum.at(highest, codes[: len(keys)], targets)
    wanted = codes[len(keys) :]
    found = highest[wanted]
    double = np.flatnonzero((found >= 0) & (lowest[wanted] != found))
    if len(double):
        one, two = files[int(lowest[wanted[double[0]]])], files[int(found[double[0]])]
        raise TrilabelError(
            f"{root}: image {names[int(bare[double[0]])]!r} may be {one} or {two}; give its path in the folder"
        )
    source = np.arange(len(names))
    source[bare[found >= 0]] = len(names) + found[found >= 0]
    return RootedPaths(root, Names.join([names, Names(files)]).take(source)), int((found < 0).sum())


def existing(paths: Sequence[str]) -> NDArray[np.bool_]:
    """Which of these files exist; each folder is listed once, because checking a million files one by one is slow."""
    inside: dict[str, set[str]] = {}
    found = np.zeros(len(paths), bool)
    for row, path in enumerate(paths):
        folder, name = os.path.split(path)
        if folder not in inside:
            inside[folder] = _files(folder)
        found[row] = name in inside[folder]
    return found


def _files(folder: str) -> set[str]:
    try:
        with os.scandir(folder or ".") as entries:
            return {entry.name for entry in entries if _is_file(entry)}
    except (OSError, ValueError):
        return names_in(folder)


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _check_folder(root: str | Path) -> None:
    if not Path(root).is_dir():
        raise TrilabelError(f"{root}: no such folder of images")


def _end_like_images(names: Names) -> NDArray[np.bool_]:
    """`is_image` of every name, over the bytes of all names at once."""
    ends, lengths = names.offsets[1:], np.diff(names.offsets)
    result = np.zeros(len(names), bool)
    for size in {len(extension) for extension in IMAGE_EXTENSIONS}:
        long_enough = np.flatnonzero(lengths >= size)
        dotted = long_enough[names.buffer[ends[long_enough] - size] == ord(".")]
        for start in range(0, len(dotted), 1 << 16):
            block = dotted[start : start + (1 << 16)]
            letters = names.buffer[ends[block, None] - np.arange(size, 0, -1)] | 0x20  # lower case
            for extension in IMAGE_EXTENSIONS:
                if len(extension) == size:
                    result[block] |= (letters == np.frombuffer(extension.encode(), np.uint8)).all(1)
    return result
