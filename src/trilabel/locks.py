"""Locks between processes that work in one folder, or with one file."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import psutil
from filelock import FileLock, Timeout

# One process compares in a folder while it, or its child, trains there; a review locks its store of answers.
Purpose = Literal["train", "compare", "predict", "review"]
_LONGEST_OWNER = 10_000  # characters; more is not what we wrote


@contextmanager
def try_lock(folder: Path, purpose: Purpose = "compare") -> Iterator[bool]:
    """Yields whether this process holds the lock of a folder; does not wait for another process to release it.

    The lock is a hidden file beside the folder, which need not exist yet and may be renamed meanwhile. The operating
    system frees it when the block or the process ends, however it ends.
    """
    file = lock_file(folder, purpose)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file, timeout=0)
        lock.acquire()
    except Timeout:
        yield False
        return
    says_who = _owner_file(file)
    about = {"process": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M")}
    try:
        with suppress(OSError):  # only tells others who it is
            says_who.write_text(json.dumps(about))
        yield True
    finally:
        with suppress(OSError):
            says_who.unlink(missing_ok=True)
        lock.release()


def owner(folder: Path, purpose: Purpose) -> str:
    """Words for the process that holds a lock, such as "process 7 on host x"; none if that cannot be told."""
    try:
        file = _owner_file(lock_file(folder, purpose))
        if not file.is_file():  # to open a pipe might wait forever
            return ""
        with file.open() as text:
            about = json.loads(text.read(_LONGEST_OWNER))
        process, host, since = about["process"], about["host"], about["since"]
        if host == socket.gethostname() and not psutil.pid_exists(process):
            return ""  # left by a process that was killed; the one that has the lock now is about to write
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return ""
    return f"process {process} on {host}, since {since}"


def _owner_file(file: Path) -> Path:
    """Where the process that holds a lock says who it is: Windows lets nobody else read the lock file itself."""
    return file.with_suffix(".owner")


def lock_file(folder: Path, purpose: Purpose) -> Path:
    """Where the lock of a folder is."""
    folder = folder.resolve()  # the same for every way to name it
    if folder.is_dir() and not os.access(folder.parent, os.W_OK):  # as with a folder mounted into a container
        return folder / f".{purpose}.lock"
    return folder.parent / f".{folder.name}.{purpose}.lock"
