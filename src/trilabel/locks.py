"""Locks between processes that work in one folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def try_lock(folder: Path) -> Iterator[bool]:
    """Yields whether this process holds the lock of a folder; does not wait for another process to release it.

    The lock is a hidden file beside the folder, which need not exist yet. The operating system frees it when the block
    or the process ends, however it ends.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.parent / f".{folder.name}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
