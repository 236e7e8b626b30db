"""Writing files so that a killed process leaves either the old file or the new one, never half of one.

What a killed process was writing stays under a temporary name; the next process that writes to the folder removes it.
"""

import csv
import os
import re
import socket
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import psutil

_TEMPORARY = re.compile(r"\..+\.(\d+)(?:-([0-9a-f]{8}))?\.tmp(?:\.[^.]*)?")  # as `replacing` names them
_LONG_DEAD = 24 * 60 * 60  # seconds; nobody writes one file for so long
_swept: set[Path] = set()  # folders that this process has cleaned up


@contextmanager
def replacing(path: str | Path, make_folder: bool = True) -> Iterator[Path]:
    """Yields a temporary path in the same folder; if the block ends without an error, that file replaces `path`.

    make_folder: whether missing folders above it are created; otherwise they are an error.
    """
    path = Path(path)
    if make_folder:
        path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path.parent)
    # Some writers choose the format by the suffix, so it is kept; the process separates two writers of the same file.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}-{_machine()}.tmp{path.suffix}")
    try:
        yield temporary
        with temporary.open("rb+") as file:  # Windows syncs only what may be written
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(temporary)):
            error.filename, error.filename2 = str(path), None  # the name that people know
        raise
    finally:
        with suppress(OSError):  # the error that led here is the one that counts
            temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Makes sure that names created, replaced or removed in a folder outlast a power failure, where that is possible.

    Windows and some network file systems cannot; the files themselves are safe in any case.
    """
    if os.name != "nt":
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def write_csv(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Writes a table as CSV, completely or not at all."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_text(path: str | Path, text: str) -> None:
    """Writes a text file, completely or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _sweep(folder: Path) -> None:
    """Removes temporary files of dead processes, the first time that this process writes to a folder."""
    folder = folder.absolute()
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError):  # a folder that may not be listed, or a file that another process removed first
        for file in folder.iterdir():
            if (name := _TEMPORARY.fullmatch(file.name)) and _is_dead(file, int(name[1]), name[2]):
                file.unlink(missing_ok=True)


def _is_dead(file: Path, process: int, machine: str | None) -> bool:
    """Whether the writer of a temporary file has ended; of another machine's only its age can tell."""
    if machine == _machine():
        return not psutil.pid_exists(process)
    return time.time() - file.stat().st_mtime > _LONG_DEAD


@cache
def _machine() -> str:
    """Eight letters for where a process id has a meaning: the host and, in a container, its own process ids."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux
        space = ""
    return f"{zlib.crc32(f'{socket.gethostname()} {space}'.encode()):08x}"
