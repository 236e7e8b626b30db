"""Predictions that are under way, in a folder beside their file: a part is whole or not there, whoever is killed.

A part is a fixed range of the given images. So several processes need not speak with each other, and who resumes has
the same batches as who was stopped.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.errors import TrilabelError, one_line
from trilabel.files import replacing, write_text
from trilabel.input_files import read_input
from trilabel.locks import owner, try_lock

IMAGES_PER_PART = 1024  # about: it is a multiple of the batch size


class Part(NamedTuple):
    """The scores of some of the given images."""

    positions: NDArray[np.int64]  # of those that could be read
    scores: NDArray[np.float32]  # for them, images × classes
    left_out: list[str]  # a message for each of the others


@dataclass(frozen=True)
class Parts:
    """The folder with the parts that are done."""

    folder: Path
    images: int
    classes: int
    size: int  # images in a part

    @property
    def count(self) -> int:
        """Of all parts, done or not."""
        return -(-self.images // self.size)

    def positions(self, number: int) -> NDArray[np.int64]:
        """Of the given images in a part."""
        return np.arange(number * self.size, min((number + 1) * self.size, self.images))

    def missing(self) -> list[int]:
        """The parts that are not done."""
        return [number for number in range(self.count) if not self._file(number).is_file()]

    def write(self, number: int, part: Part) -> None:
        """Writes a part, completely or not at all."""
        with replacing(self._file(number), make_folder=False) as temporary:
            left_out = np.array(json.dumps(part.left_out))
            np.savez(temporary, positions=part.positions, scores=part.scores, left_out=left_out)

    def read(self, number: int) -> Part:
        """A part that was written."""
        file = self._file(number)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                part = Part(arrays["positions"], arrays["scores"], json.loads(str(arrays["left_out"])))
            if part.scores.shape != (len(part.positions), self.classes):
                raise ValueError("scores of other images or classes")
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise TrilabelError(f"{file}: damaged ({one_line(error)}); remove it and resume again") from error
        return part

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:06d}.npz"


def parts_folder(out: Path) -> Path:
    """Where the parts of a file are while it is being made."""
    return out.with_name(f"{out.name}.parts")


def is_stopped(out: Path) -> bool:
    """Whether there are predictions for this file that were stopped."""
    return _about_file(parts_folder(out)).is_file()


def is_finished(out: Path) -> bool:
    """Whether the file is there, and nothing is left to do for it; removes what a process left that was killed then."""
    if is_stopped(out) or not out.is_file():
        return False
    shutil.rmtree(parts_folder(out), ignore_errors=True)
    return True


@contextmanager
def begun(out: Path, about: Mapping[str, Any], parts: Parts, resume: bool) -> Iterator[None]:
    """Inside, the parts can be written; afterwards they are gone, or kept if an error ended it and some were done.

    about: what the parts belong to; resuming with something else is an error that names it.
    """
    folder = parts.folder
    folder.mkdir(parents=True, exist_ok=True)
    with try_lock(folder / "parts", "predict") as mine:
        if not mine:
            raise TrilabelError(f"{out}: {owner(folder / 'parts', 'predict') or 'another process'} is writing it")
        if is_stopped(out) and resume:
            _require_same(_about_file(folder), about)
        else:
            for file in folder.glob("*.npz"):
                file.unlink()
            write_text(_about_file(folder), json.dumps(about, indent=1))
        try:
            yield
        except BaseException:
            if len(parts.missing()) == parts.count:
                _remove(folder)
            raise
        _remove(folder)


def _remove(folder: Path) -> None:
    _about_file(folder).unlink(missing_ok=True)  # first: what is left of the folder is then nothing to resume
    shutil.rmtree(folder, ignore_errors=True)


def _require_same(file: Path, about: Mapping[str, Any]) -> None:
    try:
        before = json.loads(read_input(file))
    except (OSError, ValueError, RecursionError) as error:
        raise TrilabelError(f"{file}: damaged ({one_line(error)}); start again with --overwrite") from error
    for name, value in about.items():
        if not isinstance(before, dict) or before.get(name) != value:
            raise TrilabelError(
                f"{file.parent}: begun with another {name}; give the same again, or start again with --overwrite"
            )


def _about_file(folder: Path) -> Path:
    return folder / "about.json"


def fingerprint(texts: Iterable[str] = (), files: Sequence[Path] = ()) -> str:
    """Hexadecimal digits that differ for other texts or files."""
    found = hashlib.sha256()
    for text in texts:
        found.update(text.encode(errors="surrogateescape") + b"\0")
    for file in files:
        with file.open("rb") as opened:
            found.update(hashlib.file_digest(opened, "sha256").digest())
    return found.hexdigest()
