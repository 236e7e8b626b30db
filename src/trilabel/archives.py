"""Files inside .zip archives, named by a path that goes on after the archive: export.zip/images/1.jpg."""

import io
import lzma
import os
import struct
import threading
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from trilabel.errors import TrilabelError

_MARK = ".zip/"
_stand_ins: dict[str, str] = {}  # folders of empty files that stand for members, and the archives of these
_opening = threading.Lock()
# The errors of zipfile for damaged bytes.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    lzma.LZMAError,
    EOFError,
    LookupError,
    RuntimeError,
    ValueError,
)


def find_member(path: str | Path) -> tuple[str, str] | None:
    """(archive, name in it) of a path that goes through an archive, or of an empty file that stands for a member."""
    text = os.fspath(path).replace(os.sep, "/")
    for folder, archive in _stand_ins.items():
        if text.startswith(folder):
            return archive, text[len(folder) :]
    at = text.lower().find(_MARK)
    while at >= 0:
        end = at + len(_MARK) - 1
        if os.path.isfile(text[:end]):  # noqa: PTH113 (never raises)
            return text[:end], text[end + 1 :]
        at = text.lower().find(_MARK, end)
    return None


def member_size(path: str | Path) -> int:
    """The size of a member; FileNotFoundError if there is none."""
    return _info(path)[1].file_size


def open_member(path: str | Path) -> BinaryIO:
    """The bytes of a member, never more than the size that the archive says; whoever calls this has checked that."""
    archive, info = _info(path)
    try:
        return io.BytesIO(archive.read(info))
    except DAMAGED as error:
        raise TrilabelError(f"{path}: cannot be read from the archive ({error})") from None


def names_in(folder: str | Path) -> set[str]:
    """The names of the files in a folder inside an archive; empty if there is none."""
    found = find_member(f"{folder}/.")
    if found is None:
        return set()
    inside = found[1].removesuffix(".")
    try:
        return _names_by_folder(*_version(found[0])).get(inside, set())
    except (OSError, *DAMAGED):
        return set()


@contextmanager
def standing_in(folder: Path, archive: Path) -> Iterator[None]:
    """Inside this context, empty files in the folder stand for members of the archive."""
    key = f"{folder.as_posix()}/"
    _stand_ins[key] = str(archive)
    try:
        yield
    finally:
        del _stand_ins[key]


def _info(path: str | Path) -> tuple[zipfile.ZipFile, zipfile.ZipInfo]:
    found = find_member(path)
    if found is None:
        raise FileNotFoundError(str(path))
    try:
        with _opening:
            archive = _opened(*_version(found[0]))
        return archive, archive.getinfo(found[1])
    except KeyError:
        raise FileNotFoundError(str(path)) from None
    except DAMAGED as error:
        raise TrilabelError(f"{found[0]}: cannot be read as an archive ({error})") from None


def _version(archive: str) -> tuple[str, int, int]:
    """What an open archive is known by: a process that was forked needs one of its own, and so does a new file."""
    return archive, Path(archive).stat().st_mtime_ns, os.getpid()


@lru_cache(maxsize=8)
def _opened(archive: str, changed: int, process: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(archive)


@lru_cache(maxsize=8)
def _names_by_folder(archive: str, changed: int, process: int) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name in _opened(archive, changed, process).namelist():
        folder, _, file = name.rpartition("/")
        if file:
            found.setdefault(f"{folder}/" if folder else "", set()).add(file)
    return found
