"""Files that are no files, and files that may not be read."""

import codecs
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_NOBODY = 65534


def make_pipe(path: Path) -> Path:
    """A named pipe that nobody writes to: whoever opens it waits for ever."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(path)
    return path


@contextmanager
def closed_file(content: bytes, name: str = "closed") -> Iterator[Path]:
    """A file that its folder lists but that nobody except root may read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, name)
        path.write_bytes(content)
        path.chmod(0o000)
        yield path


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Inside this context, root has no more rights than anybody else."""
    if not hasattr(os, "geteuid"):
        pytest.skip("this system has no such rights")
    if os.geteuid() != 0:
        yield
        return
    codecs.lookup("utf-8-sig")  # loaded when it is first used, from a folder that may be root's own
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
