"""Members of .tar files, such as the shards of WebDataset.

A tar has no list of its members, and all of a large set are more than each worker can hold. So the path of a member
says where it is: shard.tar/cat@12.jpg is cat.jpg, whose header is block 12 (of 512 bytes). It is read with one seek,
and the header tells whether it is still there.
"""

import io
import os
import tarfile
from collections.abc import Iterator
from functools import lru_cache
from typing import IO, Any, BinaryIO

from trilabel.archives.zip_members import by_folder, version
from trilabel.errors import TrilabelError

_MOST_HEADER = 1 << 20  # bytes of one: a longer one is no name of a file
_NAME = 100  # bytes of a name in a header; a longer one is cut off there


def members(archive: str, file: IO[bytes]) -> Iterator[tarfile.TarInfo]:
    """The regular files in a tar, in order; `archive` is for messages. Nothing but headers is read."""
    try:
        with tarfile.open(fileobj=_BoundedReads(file), mode="r:") as opened:
            for info in opened:
                opened.members = []  # type: ignore[attr-defined]  # which would hold all of them
                if info.isreg() and not info.issparse():
                    _refuse_escaping(archive, info.name)
                    yield info
            file.seek(opened.offset)
            if any(file.read(tarfile.BLOCKSIZE)):  # tarfile takes a damaged header for the end
                raise ValueError(f"damaged header at byte {opened.offset:,}")
    except (tarfile.TarError, ValueError, EOFError) as error:
        raise TrilabelError(f"{archive}: cannot be read as a tar ({error}); copy it again") from None


def address(info: tarfile.TarInfo) -> str:
    """The name of a member with its place: cat@12.jpg."""
    stem, dot, end = info.name.removeprefix("./").rpartition(".")
    return f"{stem}@{info.offset_data // tarfile.BLOCKSIZE - 1}{dot}{end}"


def size_of(archive: str, name: str) -> int:
    """The size of a member; FileNotFoundError if it is not there."""
    with open(archive, "rb") as file:  # noqa: PTH123
        return _header(archive, name, file).size


def open_member(archive: str, name: str) -> BinaryIO:
    """The bytes of a member, read from the tar when they are asked for."""
    file = open(archive, "rb")  # noqa: PTH123, SIM115
    try:
        size = _header(archive, name, file).size
        return io.BufferedReader(_Part(file, file.tell(), size))
    except BaseException:
        file.close()
        raise


def names_in(archive: str, folder: str) -> set[str]:
    """The names of the files in a folder of the tar, with their places; empty if there is none."""
    try:
        return _names_by_folder(*version(archive)).get(folder, set())
    except (OSError, TrilabelError):
        return set()


@lru_cache(maxsize=2)
def _names_by_folder(archive: str, changed: int, process: int) -> dict[str, set[str]]:
    with open(archive, "rb") as file:  # noqa: PTH123
        return by_folder([address(info) for info in members(archive, file)])


def _header(archive: str, name: str, file: IO[bytes]) -> tarfile.TarInfo:
    """The header of a member, which `file` is read up to the end of."""
    stem, dot, end = name.rpartition(".")
    before, at, block = stem.rpartition("@")
    wanted = before + dot + end
    if not at or not (block.isascii() and block.isdigit() and len(block) < 16):
        raise FileNotFoundError(f"{archive}/{name}")
    file.seek(int(block) * tarfile.BLOCKSIZE)
    try:
        info = tarfile.TarInfo.frombuf(file.read(tarfile.BLOCKSIZE), "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError):
        info = None
    whole = wanted.isascii() and len(wanted) < _NAME - 2  # others are in a header before this one
    if info is None or not info.isreg() or (whole and info.name.removeprefix("./") != wanted):
        raise TrilabelError(
            f"{archive}/{name}: {wanted} is not at this place any more; the tar has changed, so read the data again"
        )
    return info


def _refuse_escaping(archive: str, name: str) -> None:
    if ".." in name.split("/") or name.startswith("/"):
        raise TrilabelError(f"{archive}: its file {name[:80]!r} leads out of the archive; do not trust it")


class _BoundedReads(io.RawIOBase):
    """Passes on reads, but none as long as a forged header asks for; tarfile would read those into memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        """True; tarfile requires it."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def read(self, size: int = -1, /) -> Any:
        """The next bytes."""
        if not 0 <= size <= _MOST_HEADER:
            raise ValueError(f"a header of {size:,} bytes")
        return self._file.read(size)

    def seek(self, place: int, whence: int = os.SEEK_SET, /) -> int:
        """Moves to a place."""
        return self._file.seek(place, whence)

    def tell(self) -> int:
        """Where it is."""
        return self._file.tell()


class _Part(io.RawIOBase):
    """A part of a file, as if it were one of its own; closes that file."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fills a buffer with the next bytes; returns how many."""
        self._file.seek(self._start + self._at)
        block = self._file.read(min(len(buffer), max(0, self._size - self._at)))
        buffer[: len(block)] = block
        self._at += len(block)
        return len(block)

    def seek(self, place: int, whence: int = os.SEEK_SET, /) -> int:
        """Moves to a place."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + place)
        return self._at

    def close(self) -> None:
        """Closes the file around it."""
        self._file.close()
        super().close()
