"""Files inside other files, named by a path that goes on after these: export.zip/images/1.jpg.

| file | path of an image in it |
| --- | --- |
| .zip | export.zip/images/1.jpg |
| .tar | shard.tar/cat@12.jpg: cat.jpg, which starts at block 12 |
| .parquet, .arrow | train.parquet/image/3/17.jpg: column image, row group (or batch) 3, row 17 of it |
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from trilabel.archives import table_rows, tar_members, zip_members


class _Kind(Protocol):
    def size_of(self, archive: str, name: str) -> int: ...
    def open_member(self, archive: str, name: str) -> BinaryIO: ...
    def names_in(self, archive: str, folder: str) -> set[str]: ...


_KINDS: dict[str, _Kind] = {
    ".zip": zip_members,
    ".tar": tar_members,
    ".parquet": table_rows,
    ".arrow": table_rows,
}
_stand_ins: dict[str, str] = {}  # folders of empty files that stand for members, and the archives of these


def find_member(path: str | Path) -> tuple[str, str] | None:
    """(archive, name in it) of a path that goes through an archive, or of an empty file that stands for a member."""
    text = os.fspath(path).replace(os.sep, "/")
    for folder, archive in _stand_ins.items():
        if text.startswith(folder):
            return archive, text[len(folder) :]
    at = text.find("/")
    while at >= 0:
        if _kind(text[:at]) in _KINDS and os.path.isfile(text[:at]):  # noqa: PTH113 (never raises)
            return text[:at], text[at + 1 :]
        at = text.find("/", at + 1)
    return None


def member_size(path: str | Path) -> int:
    """The size of a member; FileNotFoundError if there is none."""
    archive, name = _found(path)
    return _KINDS[_kind(archive)].size_of(archive, name)


def open_member(path: str | Path) -> BinaryIO:
    """The bytes of a member, never more than its size; whoever calls this has checked that."""
    archive, name = _found(path)
    return _KINDS[_kind(archive)].open_member(archive, name)


def names_in(folder: str | Path) -> set[str]:
    """The names of the files in a folder inside an archive; empty if there is none."""
    found = find_member(f"{folder}/.")
    if found is None:
        return set()
    return _KINDS[_kind(found[0])].names_in(found[0], found[1].removesuffix("."))


def has_row(path: str | Path) -> bool | None:
    """Whether the row of a Parquet file that a path names is there; None for a path that names anything else."""
    found = find_member(path) if ".parquet/" in os.fspath(path).lower() else None
    return None if found is None else table_rows.exists(*found)


@contextmanager
def standing_in(folder: Path, archive: Path) -> Iterator[None]:
    """Inside this context, empty files in the folder stand for members of the archive."""
    key = f"{folder.as_posix()}/"
    _stand_ins[key] = str(archive)
    try:
        yield
    finally:
        del _stand_ins[key]


def _kind(archive: str) -> str:
    return archive[archive.rfind(".") :].lower()


def _found(path: str | Path) -> tuple[str, str]:
    found = find_member(path)
    if found is None:
        raise FileNotFoundError(str(path))
    return found
