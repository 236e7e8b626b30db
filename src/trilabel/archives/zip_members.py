"""Members of .zip archives."""

import io
import lzma
import os
import struct
import threading
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from trilabel.errors import TrilabelError

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


def size_of(archive: str, name: str) -> int:
    """The size of a member; FileNotFoundError if there is none."""
    return _info(archive, name)[1].file_size


def open_member(archive: str, name: str) -> BinaryIO:
    """The bytes of a member, never more than the size that the archive says."""
    opened, info = _info(archive, name)
    try:
        return io.BytesIO(opened.read(info))
    except DAMAGED as error:
        raise TrilabelError(f"{archive}/{name}: cannot be read from the archive ({error})") from None


def names_in(archive: str, folder: str) -> set[str]:
    """The names of the files in a folder of the archive, which is "" or ends with a slash; empty if there is none."""
    try:
        return _names_by_folder(*version(archive)).get(folder, set())
    except (OSError, *DAMAGED):
        return set()


def version(archive: str) -> tuple[str, int, int]:
    """What an open archive is known by: a process that was forked needs one of its own, and so does a new file."""
    return archive, Path(archive).stat().st_mtime_ns, os.getpid()


def _info(archive: str, name: str) -> tuple[zipfile.ZipFile, zipfile.ZipInfo]:
    try:
        with _opening:
            opened = _opened(*version(archive))
        return opened, opened.getinfo(name)
    except KeyError:
        raise FileNotFoundError(f"{archive}/{name}") from None
    except DAMAGED as error:
        raise TrilabelError(f"{archive}: cannot be read as an archive ({error})") from None


@lru_cache(maxsize=8)
def _opened(archive: str, changed: int, process: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(archive)


@lru_cache(maxsize=8)
def _names_by_folder(archive: str, changed: int, process: int) -> dict[str, set[str]]:
    return by_folder(_opened(archive, changed, process).namelist())


def by_folder(names: list[str]) -> dict[str, set[str]]:
    """The names of files by their folders, which end with a slash; that of the archive itself is ""."""
    found: dict[str, set[str]] = {}
    for name in names:
        folder, _, file = name.rpartition("/")
        if file:
            found.setdefault(f"{folder}/" if folder else "", set()).add(file)
    return found
