"""Writing files so that a killed process leaves either the old file or the new one, never half of one."""

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path in the same folder; if the block ends without an error, that file replaces `path`."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Some writers choose the format by the suffix, so it is kept; the process id separates two writers of the same
    # file.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
