"""Reading data: `read` finds out the format of a file or folder and returns a `Dataset`.

A further format is one module with `detect(path)` and `read(path, images=…, **options)`, and one line in FORMATS.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trilabel.data import csv_table, folder, voc
from trilabel.data.dataset import Boxes, Dataset
from trilabel.data.scenes import scenes
from trilabel.errors import TrilabelError
from trilabel.names import Names

__all__ = ["FORMATS", "Boxes", "Dataset", "read", "scenes"]


class Reader(Protocol):
    """What a format is: a way to tell it, and a way to read it."""

    @property
    def detect(self) -> Callable[[Path], bool]: ...
    @property
    def read(self) -> Callable[..., Dataset]: ...


FORMATS: dict[str, Reader] = {"csv": csv_table, "voc": voc, "folder": folder}  # the first that detects wins


def read(
    path: str | Path,
    format: str | None = None,
    *,
    images: str | Path | None = None,
    splits: Mapping[str, str | Path | Sequence[str] | float] | None = None,
    seed: int = 0,
    **options: Any,
) -> Dataset:
    """Reads images and labels; `format` is one of FORMATS, or None to find out. `options` go to the format's reader.

    `images` is the folder of the images where it is not where the format expects it. `splits` maps names to ids (a
    list, or a text file with one a line), which replace the splits of the data and leave what is not named to
    "train", or to shares between 0 and 1, drawn with `seed` from "train". Without any of it all rows are "train".
    """
    path = Path(path)
    if not path.exists():
        raise TrilabelError(f"{path}: no such file or folder")
    reader = _reader(path, format)
    accepted = [name for name in signature(reader.read).parameters if name not in ("path", "images")]
    for name in options:
        if name not in accepted:
            raise TrilabelError(
                f"{path}: no reading option {name!r} here; use one of {', '.join(accepted) or '(none)'}"
            )
    dataset = reader.read(path, images=images, **options)
    if not dataset.splits:
        dataset = replace(dataset, splits={"train": np.arange(len(dataset))})
    return _with_splits(dataset, path, splits or {}, seed)


def _reader(path: Path, format: str | None) -> Reader:
    known = ", ".join(FORMATS)
    if format is not None:
        if format not in FORMATS:
            raise TrilabelError(f"{path}: no format called {format!r}; use one of {known}")
        return FORMATS[format]
    for reader in FORMATS.values():
        if reader.detect(path):
            return reader
    raise TrilabelError(f"{path}: not recognised as any of these formats: {known}; if it is one, pass format")


def _with_splits(dataset: Dataset, path: Path, splits: Mapping[str, Any], seed: int) -> Dataset:
    shares = {name: float(what) for name, what in splits.items() if isinstance(what, int | float)}
    named = {name: _rows(dataset, path, what) for name, what in splits.items() if name not in shares}
    if named:
        dataset = replace(dataset, splits=_apart(dataset, path, named))
    left = 1.0
    for name, share in shares.items():
        if name in dataset.splits:
            raise TrilabelError(f"{path}: has a split {name!r} already; give its images or choose another name")
        if not 0 < share < left:
            raise TrilabelError(f"{path}: share {share} for split {name!r}: shares lie between 0 and 1 in all")
        # Every share is one of all the images there were, not of those that earlier splits left.
        dataset = dataset.with_split_off(name, share / left, of="train", seed=seed)
        left -= share
    return dataset


def _rows(dataset: Dataset, path: Path, what: str | Path | Sequence[str]) -> NDArray[np.int64]:
    """Row numbers of a list of ids or of a text file with one id a line."""
    if isinstance(what, str | Path):
        where, ids = f"{what}, line", _lines(Path(what))
    else:
        where, ids = "list of ids, position", list(what)
    lines = [(number, name) for number, name in enumerate(ids, start=1) if name.strip()]
    rows = dataset.labels.ids.positions(Names(name for _, name in lines))
    for index in np.flatnonzero(rows < 0)[:1]:
        number, name = lines[index]
        raise TrilabelError(f"{where} {number}: no image {name!r} in {path}")
    return np.unique(rows)


def _lines(file: Path) -> list[str]:
    try:
        return [line.strip() for line in file.read_text(encoding="utf-8-sig").split("\n")]
    except (OSError, UnicodeDecodeError) as error:
        raise TrilabelError(f"{file}: cannot be read as a list of image ids ({error})") from None


def _apart(dataset: Dataset, path: Path, named: dict[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
    """The named splits, seen to have no image in common; what they leave over is "train" unless that was named."""
    of = np.full(len(dataset), -1)
    for number, (name, rows) in enumerate(named.items()):
        for row in rows[of[rows] >= 0][:1]:
            other = list(named)[of[row]]
            raise TrilabelError(f"{path}: image {dataset.ids[row]!r} is in splits {other!r} and {name!r}; choose one")
        of[rows] = number
    return named if "train" in named else {"train": np.flatnonzero(of < 0), **named}
