"""Opening files that others made: only regular ones, and only up to a size.

A path in somebody's table may be a device that never ends or a pipe that nobody writes to. Reading those would fill
the memory or wait for ever, so what a path is gets checked before it is opened.
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from trilabel import archives
from trilabel.errors import TrilabelError

# Environment variables that raise a limit, named in the error of whoever reaches it.
IMAGE_BYTES = "TRILABEL_MAX_IMAGE_BYTES"
IMAGE_PIXELS = "TRILABEL_MAX_IMAGE_PIXELS"
TEXT_BYTES = "TRILABEL_MAX_TEXT_BYTES"  # files that are read as a whole (JSON, XML, YAML, lists), unpacked tables
CELL_LETTERS = "TRILABEL_MAX_CELL_LETTERS"
_DEFAULTS = {IMAGE_BYTES: 512 << 20, IMAGE_PIXELS: 178_956_970, TEXT_BYTES: 16 << 30, CELL_LETTERS: 1 << 20}
_BLOCK = 1 << 20

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def limit(name: str) -> int:
    """The limit that this environment variable sets, or else its default."""
    text = os.environ.get(name)
    if text is None:
        return _DEFAULTS[name]
    if not (text.isascii() and text.isdigit()):
        raise TrilabelError(f"the environment variable {name} is {text!r}; set it to a whole number")
    return int(text)


def is_raised(name: str) -> bool:
    """Whether the user has set this limit."""
    return name in os.environ


def too_much(what: str, most: int, name: str) -> str:
    """The words for something above a limit, and how to raise that."""
    return f"{what}, more than the {most:,} allowed; if you trust it, set the environment variable {name} to more"


def check_regular(path: str | Path) -> os.stat_result:
    """Refuses what is not a regular file, or a link to one; a missing file raises FileNotFoundError."""
    try:
        found = os.stat(path)  # noqa: PTH116 (ten times as fast as pathlib)
    except PermissionError:
        raise _not_allowed(path) from None
    except ValueError:
        raise TrilabelError(f"{path}: a zero byte in the name of a file; correct it") from None
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise TrilabelError(f"{path}: not a regular file ({kind}); put the file in its place")
    return found


def open_input(path: str | Path, most: str | None = None) -> BinaryIO:
    """Opens a regular file to read its bytes; `most` names the limit of its size.

    What is not a regular file, too large or may not be read is a TrilabelError; other errors are those of `open`.
    """
    size, inside = _size(path)
    if most is not None and size > (allowed := limit(most)):
        raise TrilabelError(f"{path}: {too_much(f'{size:,} bytes', allowed, most)}")
    if inside:
        return archives.open_member(path)
    try:
        return open(path, "rb")  # noqa: PTH123
    except PermissionError:
        raise _not_allowed(path) from None


def size_of(path: str | Path) -> int:
    """The size of a regular file, or of a file in an archive."""
    return _size(path)[0]


def _size(path: str | Path) -> tuple[int, bool]:
    """The size of a file, and whether it is in an archive."""
    try:
        size = check_regular(path).st_size
    except NotADirectoryError:  # on Windows it is a FileNotFoundError
        return archives.member_size(path), True
    except FileNotFoundError:
        if archives.find_member(path) is None:
            raise
        return archives.member_size(path), True
    inside = size == 0 and archives.find_member(path) is not None
    return (archives.member_size(path), True) if inside else (size, False)


def read_input(path: str | Path) -> bytes:
    """All bytes of a regular file that is not too large for that."""
    allowed = limit(TEXT_BYTES)
    with open_input(path, TEXT_BYTES) as file:
        parts = [file.read(size_of(path) + 1)]
        while block := file.read(_BLOCK):  # files of /proc go on after their size, which is 0
            parts.append(block)
            if sum(map(len, parts)) > allowed:
                raise TrilabelError(f"{path}: {too_much('more bytes than its size says', allowed, TEXT_BYTES)}")
    return b"".join(parts)


def _not_allowed(path: str | Path) -> TrilabelError:
    return TrilabelError(f"{path}: may not be read (permission denied)")
