"""Reading and writing data: `read` detects the format of a file or folder and returns a `Dataset`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trilabel.data.archive import is_archive, mounted
from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset, no_data
from trilabel.data.fiftyone_views import from_fiftyone, to_fiftyone
from trilabel.data.formats import FORMATS, entry_of, format_of, writer_of
from trilabel.data.image_paths import existing
from trilabel.data.options import check_choice, check_options
from trilabel.data.remote import with_fetched_images
from trilabel.data.scenes import scenes
from trilabel.data.text_files import read_lines
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.plugin_files import use
from trilabel.printable import plural

__all__ = ["FORMATS", "Boxes", "Dataset", "from_fiftyone", "read", "scenes", "to_fiftyone", "write"]

_ROUNDING = 1e-9


def read(
    path: str | Path,
    format: str | None = None,
    *,
    images: str | Path | None = None,
    missing: Literal["keep", "drop"] = "keep",
    fetch: bool = False,
    splits: Mapping[str, str | Path | Sequence[str] | float] | None = None,
    seed: int = 0,
    **options: Any,
) -> Dataset:
    """Reads images and labels; `options` go to the format's reader.

    `format` is one of FORMATS, a file of your own (FILE.py, or FILE.py:CLASS), or None to detect it.
    `images` is the folder of the images where it is not where the format expects it; `missing` "drop" leaves out
    images without a file; `fetch` fetches those that the data names by URL. `splits` maps names to ids (a list, or a
    text file with one per line), which replace the splits of the data and leave all other images to "train", or to a
    number of images (an int) or a share of them (a float between 0 and 1), drawn with `seed` from "train". Without any
    splits all rows are "train".
    """
    if not isinstance(path, str | os.PathLike):
        raise no_data(path)
    path = Path(path)
    if not path.exists():
        raise TrilabelError(f"{path}: no such file or folder")
    check_choice(path, "missing", missing, ("keep", "drop"))
    format = None if format is None else use(format)
    dataset = _read_archive(path, format, images, options) if is_archive(path) else _read(path, format, images, options)
    dataset = with_fetched_images(dataset, fetch)
    if not dataset.splits:
        dataset = replace(dataset, splits={"train": np.arange(len(dataset))})
    drawn = {name: what for name, what in (splits or {}).items() if isinstance(what, Real)}
    named = {name: what for name, what in (splits or {}).items() if name not in drawn}
    if named:
        dataset = _with_named_splits(dataset, path, named)
    if missing == "drop" and dataset.paths is not None:
        dataset = _with_files(path, dataset)
    return _with_drawn_splits(dataset, path, drawn, seed)


def _read(path: Path, format: str | None, images: str | Path | None, options: Mapping[str, Any]) -> Dataset:
    reader = FORMATS[format_of(path, format)]
    check_options(path, reader.read, options)
    return reader.read(path, images=images, **options)


def _read_archive(path: Path, format: str | None, images: str | Path | None, options: Mapping[str, Any]) -> Dataset:
    """Reads a .zip; where it has no images, they are looked for beside it."""
    with mounted(path) as inside:
        entry, name = entry_of(inside.folder, format)
        dataset = _read(entry, name, images if inside.has_images else images or path.parent, options)
        notes = tuple(map(inside.shown, dataset.notes))
        return replace(dataset, paths=inside.paths(dataset.paths), notes=notes)


def write(dataset: Dataset, path: str | Path, format: str | None = None, **options: Any) -> list[str]:
    """Writes a data set; `format` is one that can be written, or None to choose by the suffix of the path.

    An existing file is replaced completely or not at all. Returns notes on what the format cannot store.
    """
    path = Path(path)
    return writer_of(path, format, options)(dataset, path, **options)


def _with_files(path: Path, dataset: Dataset) -> Dataset:
    there = np.flatnonzero(existing(dataset.paths or ()))
    if not len(there):
        raise TrilabelError(
            f"{path}: none of its {plural(len(dataset), 'image')} has a file; pass images=FOLDER, the one they are in"
        )
    if len(there) == len(dataset):
        return dataset
    note = f"{len(dataset) - len(there)} of {plural(len(dataset), 'image')} have no file and are left out"
    dataset = dataset.take(there)
    return replace(dataset, notes=(*dataset.notes, note))


def _with_drawn_splits(dataset: Dataset, path: Path, drawn: Mapping[str, Any], seed: int) -> Dataset:
    whole = len(dataset.splits.get("train", ()))
    left = 1.0
    for name, what in drawn.items():
        if name in dataset.splits:
            raise TrilabelError(f"{path}: has a split {name!r} already; give its images or choose another name")
        if isinstance(what, Integral):
            count, rest = int(what), len(dataset.rows_of("train"))
            if not 0 < count < rest:
                raise TrilabelError(f"{path}: {what} images for split {name!r}: train has {rest}, and must keep some")
            dataset = dataset.with_split_off(name, count, of="train", seed=seed)
            left -= count / whole
            continue
        if not 0 < what < left - _ROUNDING:
            raise TrilabelError(f"{path}: share {what:g} for split {name!r}: shares must be positive, below 1 in all")
        # Every share is a share of all images, not of those that earlier splits left.
        dataset = dataset.with_split_off(name, float(what) / left, of="train", seed=seed)
        left -= float(what)
    return dataset


def _rows(dataset: Dataset, path: Path, what: str | Path | Sequence[str]) -> NDArray[np.int64]:
    """Row numbers of a list of ids or of a text file with one id per line."""
    if isinstance(what, str | Path):
        where, lines = f"{what}, line", list(read_lines(Path(what)))
    else:
        where, lines = "list of ids, position", [(number, name) for number, name in enumerate(what, 1) if name.strip()]
    rows = dataset.labels.ids.positions(Names(name for _, name in lines))
    for index in np.flatnonzero(rows < 0)[:1]:
        number, name = lines[index]
        raise TrilabelError(f"{where} {number}: no image {name!r} in {path}")
    return np.unique(rows)


def _with_named_splits(dataset: Dataset, path: Path, lists: Mapping[str, Any]) -> Dataset:
    """With the named splits, which must not overlap; the remaining images are "train" unless that split is named."""
    named = {name: _rows(dataset, path, what) for name, what in lists.items()}
    of = np.full(len(dataset), -1)
    for number, (name, rows) in enumerate(named.items()):
        for row in rows[of[rows] >= 0][:1]:
            other = list(named)[of[row]]
            raise TrilabelError(f"{path}: image {dataset.ids[row]!r} is in splits {other!r} and {name!r}; choose one")
        of[rows] = number
    return replace(dataset, splits=named if "train" in named else {"train": np.flatnonzero(of < 0), **named})
