"""`check_format` names what is wrong with formats that break the contract; ours pass it in tests/data/formats."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trilabel as tl
from trilabel.data import Dataset
from trilabel.data.text_files import read_lines
from trilabel.errors import TrilabelError
from trilabel.testing import FORMAT_CHECKS, check_format


def example(folder: Path) -> Path:
    """An image and its classes per line."""
    (folder / "labels.lines").write_text("a.jpg cat\nb.jpg dog cat\n")
    return folder / "labels.lines"


class Good:
    """A text file: an image and its classes per line."""

    RULE = "what is not listed is unknown"

    @classmethod
    def detect(cls, path: Path) -> bool:
        """By its name."""
        return path.suffix == ".lines"

    @classmethod
    def read(cls, path: Path, *, images: str | Path | None = None) -> Dataset:
        """Lines that name an image."""
        rows = [line.split() for _, line in read_lines(path)]
        classes = sorted({name for _, *names in rows for name in names})
        signs = [[int(name in names) for name in classes] for _, *names in rows]
        try:
            labels = tl.Labels.from_signed(signs, classes, [image for image, *_ in rows])
        except TrilabelError as error:
            raise TrilabelError(f"{path}: {error}") from None
        return Dataset(labels.ids, [str(path.parent / image) for image, *_ in rows], labels, {})

    @classmethod
    def write(cls, dataset: Dataset, path: Path) -> list[str]:
        """Positives only, which is all that there is."""
        signs = dataset.labels.to_signed()
        rows = [[name for name, sign in zip(dataset.classes, row, strict=True) if sign > 0] for row in signs]
        path.write_text("".join(f"{image} {' '.join(row)}\n" for image, row in zip(dataset.ids, rows, strict=True)))
        return []


def test_a_good_one_passes() -> None:
    check_format(Good, example)
    check_format(Good, example, out="other.lines")


class Silent(Good):
    """Says nothing of absent and unknown."""

    RULE = "none"


class Blind(Good):
    """Does not know its own."""

    @classmethod
    def detect(cls, path: Path) -> bool:
        """Never."""
        return False


class Guessing(Good):
    """Takes the paths of images for nothing."""

    @classmethod
    def read(cls, path: Path, *, images: str | Path | None = None) -> Any:
        """Labels alone."""
        return super().read(path).labels


class Losing(Good):
    """Writes the first image only."""

    @classmethod
    def write(cls, dataset: Dataset, path: Path) -> list[str]:
        """The first row."""
        return super().write(dataset.take(np.arange(1)), path)


class Fragile(Good):
    """Falls over what is no text."""

    @classmethod
    def read(cls, path: Path, *, images: str | Path | None = None) -> Dataset:
        """Reads it in another way first."""
        path.read_text(encoding="ascii")
        return super().read(path)


class Vague(Good):
    """Does not say which file is missing."""

    @classmethod
    def read(cls, path: Path, *, images: str | Path | None = None) -> Dataset:
        """Only if it is there."""
        if not path.is_file():
            raise TrilabelError("a file is missing")
        return super().read(path)


@pytest.mark.parametrize(
    ("format", "check", "complaint"),
    [
        (Silent, "says_what_it_is", "RULE must say what is absent and what unknown, not 'none'"),
        (Blind, "detects_its_own", "detect must recognize the example"),
        (Guessing, "can_be_converted", "read must return a Dataset, not Labels"),
        (Losing, "can_be_read_again", "written and read again, "),
        (Fragile, "survives_broken_bytes", "codec can't decode"),
        (Vague, "survives_missing_files", "a message must name the file, not only say 'a file is missing'"),
    ],
)
def test_what_is_wrong_is_named(format: Any, check: str, complaint: str) -> None:
    with pytest.raises(Exception, match=complaint) as caught:
        check_format(format, example)
    assert f"in the case {check}" in caught.value.__notes__


def test_each_check_is_tried() -> None:
    (cases,) = [mark.args[1] for mark in test_what_is_wrong_is_named.pytestmark]  # type: ignore[attr-defined]
    assert {check for _, check, _ in cases} == {check.__name__ for check in FORMAT_CHECKS}
