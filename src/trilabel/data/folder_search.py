"""Searching folders that others made: links may lead in circles, and a path may name the whole disk."""

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from trilabel.errors import TrilabelError
from trilabel.log import log

_MOST_OTHERS = 200_000  # files and folders of other kinds, among which images are looked for
_SYSTEM = ("/proc", "/sys")
_MOST_VISITS = 64  # of a folder that links in linked folders lead to


def files_below(root: str | Path, wanted: Callable[[str], bool] | None = None) -> Iterator[str]:
    """Files below a folder that are not hidden, relative to it and with forward slashes; none if there is no folder.

    With `wanted`, a folder of many other files raises a TrilabelError instead of being searched to its end. A link is
    followed unless it leads back to a folder on the way to it. Links that lead on from linked folders are followed to
    the same folder some 60 times: there may be as many ways through folders that link to each other as these have
    orders.
    """
    seen = useful = left_out = 0
    visits = Counter[str]()
    # A folder, its path below the root, and where the links on the way led.
    pending = deque[tuple[str, str, tuple[str, ...]]]([(str(root), "", (os.path.realpath(root),))])
    while pending:
        folder, prefix, links = pending.popleft()  # the shortest way to a folder first
        for entry in _entries(folder):
            seen += 1
            if not _is_folder(entry):
                useful += wanted is not None and wanted(entry.name)
                yield prefix + entry.name
            elif not entry.is_symlink():
                pending.append((entry.path, f"{prefix}{entry.name}/", links))
            elif not _leads_back(target := os.path.realpath(entry.path), folder, links):
                nested = len(links) > 1
                visits[target] += nested
                if not nested or visits[target] <= _MOST_VISITS:
                    pending.append((entry.path, f"{prefix}{entry.name}/", (*links, target)))
                else:
                    left_out += 1
        if wanted is not None and seen - useful > _MOST_OTHERS and useful * 100 < seen:
            raise TrilabelError(
                f"{root}: {seen:,} files and folders, but only {useful:,} that belong to images; name the folder that "
                "has only the images, or move the others elsewhere"
            )
    if left_out:
        log.warning(f"{root}: {left_out:,} links in linked folders lead to folders searched before, and are left out")


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if not entry.name.startswith(".")]
    except OSError:
        return []


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or to where nobody may look
        return False


def _leads_back(target: str, folder: str, links: Sequence[str]) -> bool:
    """Whether a link leads to a folder that is being searched already: it would be searched for ever."""
    around = os.path.join(os.path.realpath(folder), "")  # noqa: PTH118
    return target in links or around.startswith(os.path.join(target, ""))  # noqa: PTH118


def too_wide(folder: str | Path) -> str | None:
    """Why no data set would name this folder as that of its images; None if one might."""
    real = Path(os.path.realpath(folder))
    if real == real.parent:
        return "the whole disk"
    with suppress(RuntimeError):  # no home folder
        if Path.home().resolve().is_relative_to(real):
            return "your home folder, or around it"
    system = any(real.is_relative_to(each) for each in _SYSTEM)
    return "a folder of the system" if system else None
