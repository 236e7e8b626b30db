"""metrics.jsonl: one line per finished epoch, only ever appended to.

The line of an epoch is on disk before the checkpoint that counts it. So whatever a killed run leaves is at most one
line more than its checkpoint counts, whole or not; resuming cuts it off. The cost of an epoch is that of its line.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from trilabel.errors import TrilabelError, one_line, system_error
from trilabel.input_files import check_regular
from trilabel.training.record import EpochRecord

_LONGEST_LINE = 50_000_000  # bytes


def append(file: Path, record: EpochRecord, number: int) -> None:
    """Adds the line of an epoch to the `number` lines that there are; it is on disk afterwards."""
    line = (json.dumps(record.to_json()) + "\n").encode()
    with file.open("rb+" if number else "wb") as lines:  # never a new file with the first epochs missing
        lines.seek(0, os.SEEK_END)
        lines.write(line)
        lines.flush()
        os.fsync(lines.fileno())


def read(file: Path) -> list[EpochRecord]:
    """All records; a last line that is only half there does not count."""
    records = []
    for number, line in enumerate(_whole_lines(file), 1):
        try:
            records.append(EpochRecord.from_json(json.loads(line.decode())))
        except (ValueError, RecursionError) as error:
            raise TrilabelError(
                f"{file}: line {number} is damaged, or written by another version of trilabel ({one_line(error)}); "
                "restore the file, or delete it if the run is not to be resumed"
            ) from error
    return records


def check(file: Path, number: int) -> None:
    """Raises an error if there are fewer lines than a checkpoint counts."""
    found = sum(1 for _ in _whole_lines(file))
    if found < number:
        raise TrilabelError(
            f"{file}: {found} epochs, but the checkpoint is from after epoch {number}; restore the file or start a new "
            "run"
        )


def cut(file: Path, number: int) -> None:
    """Removes all that comes after the first `number` lines."""
    if not file.exists():
        return
    end = sum(len(line) for _, line in zip(range(number), _whole_lines(file), strict=False))
    if end < file.stat().st_size:
        with file.open("rb+") as lines:
            lines.truncate(end)
            os.fsync(lines.fileno())


def _whole_lines(file: Path) -> Iterator[bytes]:
    try:
        check_regular(file)
        with file.open("rb") as lines:
            while (line := lines.readline(_LONGEST_LINE)).endswith(b"\n"):
                yield line
    except FileNotFoundError:
        return  # no epoch is over yet
    except OSError as error:
        raise system_error(error, file) from error
    if len(line) == _LONGEST_LINE:
        raise TrilabelError(f"{file}: a line is too long for the record of an epoch; restore the file")
