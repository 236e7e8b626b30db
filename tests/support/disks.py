"""Disks that are small or read-only, and people who may not read: the real ones, where a test may make them."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SmallDisk:
    """A file system of its own, mounted at a path."""

    path: Path

    def make_read_only(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", self.path], check=True)

    def make_writable(self) -> None:
        subprocess.run(["mount", "-o", "remount,rw", self.path], check=True)


@contextmanager
def small_disk(path: Path, kilobytes: int) -> Iterator[SmallDisk]:
    """Mounts a file system of this size; skips the test where that is not allowed."""
    path.mkdir(exist_ok=True)
    try:
        options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs"]
        subprocess.run(["mount", *options, path], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("file systems cannot be mounted here")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "-l", path], check=False)


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """Inside, this process may not do what only root may; it can reach the folder."""
    if not hasattr(os, "seteuid") or os.geteuid() != 0:
        yield  # not root anyway
        return
    for above in (folder, *folder.parents):
        if above.stat().st_mode & 0o005 != 0o005:
            above.chmod(above.stat().st_mode | 0o055)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
