"""What holds for every format: it detects its own files, and reads or refuses whatever is done to them."""

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import getdoc
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trilabel.data import Dataset, read, write
from trilabel.data.formats import Format
from trilabel.data.inspect import inspect
from trilabel.errors import TrilabelError
from trilabel.testing.expecting import case, expect

_SHORTEST = 20  # letters of a rule that says something
_OTHERS = ("a.json", "b.csv", "c.xml", "d.txt", "e.trilabel", "f", "data.yaml", "labels.json", "annotations.xml")
_JUNK = (b"\xff", b"\0", b'"', b",", b"\n", b"\r\n", b"[", b"}", b"<", b"-1", b"1e999", b"NaN", b"9" * 23,
         b"\xed\xa0\x80", b"null", b"true", b"\\ud800", b"../", b" ", "é鳥".encode())  # fmt: skip


@dataclass(frozen=True)
class FormatCase:
    """A format, and a small example of it."""

    format: Format
    example: Callable[[Path], Path]  # writes the example into an empty folder; returns the path to read
    out: str = ""  # a name that it can be written as; "": as the example ends


def check_format(format: Format, example: Callable[[Path], Path], out: str = "") -> None:
    """Raises an AssertionError if a format breaks its contract: detection, broken and missing files, conversion.

    format: the module or class. example: a function that writes a small example into the empty folder that it is given
    and returns the path to read. out: a name that the format can be written as, if not as the example ends.
    """
    for check in FORMAT_CHECKS:
        with case(check.__name__), tempfile.TemporaryDirectory() as folder:
            check(FormatCase(format, example, out), Path(folder))


def says_what_it_is(subject: FormatCase, folder: Path) -> None:
    """A docstring, and in one line what is absent and what is unknown."""
    rule = subject.format.RULE
    expect(len(rule) > _SHORTEST and "\n" not in rule, f"RULE must say what is absent and what unknown, not {rule!r}")
    expect(getdoc(subject.format), "the format needs a docstring, which `trilabel data formats` prints")


def detects_its_own(subject: FormatCase, folder: Path) -> None:
    """Its example, and of anything else it says yes or no."""
    others = folder / "others"
    (others / "empty").mkdir(parents=True)
    for name in _OTHERS:
        (others / name).write_bytes(b"\xff\0{[<")
    for path in others.iterdir():
        with case(path.name):
            expect(subject.format.detect(path) in (True, False), "detect must return True or False")
    own = folder / "own"
    own.mkdir()
    expect(subject.format.detect(subject.example(own)), "detect must recognize the example")


def can_be_converted(subject: FormatCase, folder: Path) -> None:
    """What is read is a data set, which can be inspected, and written and read as two others."""
    own = folder / "own"
    own.mkdir()
    before = subject.format.read(subject.example(own))
    _check_dataset(before)
    for name in ("out.trilabel", "out.csv"):
        with case(name):
            write(before, folder / name)
            after = read(folder / name)
            expect(after.labels == before.labels, "written and read again, labels differ")
            paths = [[Path(path).absolute() for path in one.paths or ()] for one in (before, after)]
            expect(paths[0] == paths[1], "written and read again, paths of images differ")
            expect(_splits(before) in ({}, _splits(after)), "written and read again, splits differ")
    found = inspect(before)
    expect(found["images"] == len(before), "inspected, it has another number of images")
    expect(found["known"] == before.labels.known, "inspected, it has another number of known labels")


def can_be_read_again(subject: FormatCase, folder: Path) -> None:
    """What it writes, if it can write, it reads: the same classes, the same positives."""
    writer = getattr(subject.format, "write", None)
    if writer is None:
        return
    own = folder / "own"
    own.mkdir()
    path = subject.example(own)
    before = subject.format.read(path)
    out = folder / (subject.out or f"out{path.suffix}")
    notes = writer(before, out)
    after = subject.format.read(out)
    expect(list(after.classes) == list(before.classes), "written and read again, classes differ")
    now, then = after.labels.to_signed(), before.labels.to_signed()
    if any("left out" in note for note in notes):
        then = then[then.any(1)]  # images of which nothing is known
    expect(now.shape == then.shape and ((now > 0) == (then > 0)).all(), "written and read again, positives differ")
    noted = any("absent" in note for note in notes)
    expect(noted or np.array_equal(now, then), "written and read again, labels differ, and no note says so")


def survives_broken_bytes(subject: FormatCase, folder: Path, rounds: int = 100, seed: int = 0) -> int:
    """Files broken one at a time are read, or refused in one line that names the place; how many were refused."""
    path = subject.example(folder)
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.stat().st_size]
    draw, refused = random.Random(f"{path.name} {seed}"), 0
    for number in range(rounds):
        file = draw.choice(files)
        content = file.read_bytes()
        file.write_bytes(broken(content, draw))
        with case(f"number {number}: {file.name}, broken"):
            refused += _read_or_refused(subject, path, folder).error != ""
        file.write_bytes(content)
    return refused


def survives_missing_files(subject: FormatCase, folder: Path) -> None:
    """Files that are missing, or folders, are done without, or refused in one line that names the place."""
    for _ in readings_without(subject, folder):
        pass


class Reading(NamedTuple):
    """What came of reading an example in which one file was replaced."""

    file: Path
    is_folder: bool  # whether a folder stands in its place, or nothing
    dataset: Dataset | None
    error: str = ""


def readings_without(subject: FormatCase, folder: Path) -> Iterator[Reading]:
    """What comes of each file of the example being gone, or a folder."""
    path = subject.example(folder)
    for file in sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size):
        content = file.read_bytes()
        file.unlink()
        for is_folder in (False, True):
            if is_folder:
                file.mkdir()
            elif file == path:
                continue  # `data.read` has refused it before the reader is called
            with case(file.name, "is a folder" if is_folder else "is missing"):
                found = _read_or_refused(subject, path, folder)
            yield found._replace(file=file, is_folder=is_folder)
        file.rmdir()
        file.write_bytes(content)


FORMAT_CHECKS: tuple[Callable[[FormatCase, Path], object], ...] = (
    says_what_it_is,
    detects_its_own,
    can_be_converted,
    can_be_read_again,
    survives_broken_bytes,
    survives_missing_files,
)


def broken(content: bytes, draw: random.Random) -> bytes:
    """The content with something wrong with it."""
    place = draw.randrange(len(content) + 1)
    end = min(len(content), place + draw.choice((1, 1, 2, 7, 40)))
    kind = draw.randrange(6)
    if kind == 0:
        return content[:place]
    if kind == 1:
        return content[:place] + content[end:]
    if kind == 2:
        return content[:end] + content[place:]
    if kind == 3:
        return content[:place] + draw.choice(_JUNK) + content[place:]
    if kind == 4:
        return content[:place] + draw.choice(_JUNK) + content[end:]
    return content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]


def _read_or_refused(subject: FormatCase, path: Path, folder: Path) -> Reading:
    try:
        dataset = subject.format.read(path)
    except TrilabelError as error:
        expect("\n" not in str(error), f"a message must be one line, not {str(error)!r}")
        expect(str(folder) in str(error), f"a message must name the file, not only say {str(error)!r}")
        return Reading(path, False, None, str(error))
    _check_dataset(dataset)
    return Reading(path, False, dataset)


def _check_dataset(dataset: object) -> None:
    if not isinstance(dataset, Dataset):
        raise AssertionError(f"read must return a Dataset, not {dataset!r:.80}")
    dataset.labels.csr.check_format(full_check=True)
    inspect(dataset)


def _splits(dataset: Dataset) -> dict[str, list[int]]:
    return {name: rows.tolist() for name, rows in dataset.splits.items() if len(rows)}
