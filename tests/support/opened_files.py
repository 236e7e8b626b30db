"""Which files are opened, however that is done: Python's own audit events tell."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_opened: list[list[str]] = []  # one list for each block that is watching now
_hooked = False


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if _opened and event == "open":
        for heard in _opened:
            heard.append(str(arguments[0]))


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """The paths of the files opened inside, once for each time."""
    global _hooked
    if not _hooked:
        sys.addaudithook(_hear)  # stays until the process ends, and does nothing outside such a block
        _hooked = True
    _opened.append(heard := [])
    try:
        yield heard
    finally:
        _opened.remove(heard)
