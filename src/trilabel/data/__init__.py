"""Reading and writing data: `read` finds out the format of a file or folder and returns a `Dataset`.

A further format is one module with `RULE`, `detect(path)` and `read(path, images=…, **options)`, where it can be
written also `write(dataset, path, **options)`, and one line in FORMATS.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import Any, Literal, Protocol, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from trilabel.config import read_as
from trilabel.data import (
    coco,
    csv_table,
    cub,
    cvat,
    fiftyone,
    folder,
    huggingface,
    index_list,
    label_studio,
    native,
    nuswide,
    openimages,
    visual_genome,
    voc,
    yolo,
)
from trilabel.data.dataset import Boxes, Dataset
from trilabel.data.scenes import scenes
from trilabel.data.source_files import read_lines
from trilabel.data.table_file import DELIMITERS, suffix
from trilabel.errors import TrilabelError, no_such
from trilabel.names import Names

__all__ = ["FORMATS", "Boxes", "Dataset", "read", "scenes", "write"]


class Format(Protocol):
    """What a format is: what it says of labels that are not listed, a way to tell it, and a way to read it."""

    @property
    def RULE(self) -> str: ...
    @property
    def detect(self) -> Callable[[Path], bool]: ...
    @property
    def read(self) -> Callable[..., Dataset]: ...


FORMATS: dict[str, Format] = {  # the first that detects wins
    "native": native,
    "voc": voc,
    "coco": coco,
    "open-images": openimages,
    "nus-wide": nuswide,
    "cub": cub,
    "visual-genome": visual_genome,
    "label-studio": label_studio,
    "cvat": cvat,
    "fiftyone": fiftyone,
    "huggingface": huggingface,
    "yolo": yolo,
    "list": index_list,
    "csv": csv_table,
    "folder": folder,
}


def read(
    path: str | Path,
    format: str | None = None,
    *,
    images: str | Path | None = None,
    missing: Literal["keep", "drop"] = "keep",
    splits: Mapping[str, str | Path | Sequence[str] | float] | None = None,
    seed: int = 0,
    **options: Any,
) -> Dataset:
    """Reads images and labels; `format` is one of FORMATS, or None to find out. `options` go to the format's reader.

    `images` is the folder of the images where it is not where the format expects it; `missing` "drop" leaves out
    images without a file. `splits` maps names to ids (a list, or a text file with one a line), which replace the
    splits of the data and leave what is not named to "train", or to a number of images or a share of them (between
    0 and 1), drawn with `seed` from "train". Without any of it all rows are "train".
    """
    path = Path(path)
    if not path.exists():
        raise TrilabelError(f"{path}: no such file or folder")
    if missing not in ("keep", "drop"):
        raise TrilabelError(f"{path}: missing={missing!r}: use 'keep' or 'drop'")
    reader = FORMATS[format_of(path, format)]
    _check_options(path, reader.read, options)
    dataset = reader.read(path, images=images, **options)
    if missing == "drop" and dataset.paths is not None:
        dataset = _with_files(path, dataset)
    if not dataset.splits:
        dataset = replace(dataset, splits={"train": np.arange(len(dataset))})
    return _with_splits(dataset, path, splits or {}, seed)


def write(dataset: Dataset, path: str | Path, format: str | None = None, **options: Any) -> list[str]:
    """Writes a data set; `format` is one that can be written, or None to tell by the ending of the name.

    An existing file is replaced whole or not at all. Gives notes on what the format has no words for.
    """
    path = Path(path)
    writers = {name: writer for name, kind in FORMATS.items() if (writer := getattr(kind, "write", None))}
    if format is None:
        ends = {native.SUFFIX: "native", **dict.fromkeys(DELIMITERS, "csv")}
        format = ends.get(suffix(path))
        if format is None:
            raise TrilabelError(
                f"{path}: which format? its name may end in {', '.join(ends)}, or name one of {', '.join(writers)}"
            )
    if format not in writers:
        raise no_such("format to write", format, writers)
    _check_options(path, writers[format], options)
    notes: list[str] = writers[format](dataset, path, **options)
    return notes


def format_of(path: Path, format: str | None) -> str:
    """The name of the format: the one that was given, or the first that detects the path."""
    known = ", ".join(FORMATS)
    if format is not None:
        if format not in FORMATS:
            raise TrilabelError(f"{path}: no format called {format!r}; use one of {known}")
        return format
    for name, reader in FORMATS.items():
        if reader.detect(path):
            return name
    raise TrilabelError(f"{path}: not recognised as any of these formats: {known}; if it is one, pass format")


def describe_formats() -> dict[str, dict[str, Any]]:
    """Each format in words: what it is, its rule on absent and unknown, its options, and whether it can be written."""
    return {
        name: {
            "summary": (getdoc(kind) or "").partition("\n")[0],
            "rule": kind.RULE,
            "options": {option: _choice(what) for option, what in options_of(kind.read).items()},
            "written": hasattr(kind, "write"),
        }
        for name, kind in FORMATS.items()
    }


def _choice(what: Parameter) -> str:
    others = [other for other in get_args(what.annotation) if isinstance(other, str) and other != what.default]
    default = "none" if what.default is None else "…" if what.default == () else str(what.default)
    return "|".join([default, *others])


def options_from_text(path: Path, function: Callable[..., Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Options of a reader or writer that were given as text, as what the option takes."""
    _check_options(path, function, texts)
    accepted, values = options_of(function), dict[str, Any](texts)
    for name, text in texts.items():
        default, hint = accepted[name].default, accepted[name].annotation
        if text.lower() == "none" and default is None:
            values[name] = None
        elif get_origin(hint) is Sequence:
            values[name] = text.split(",")
        else:
            values[name] = read_as(default, hint, text, f"{path}: option {name!r}")
    return values


def _check_options(path: Path, function: Callable[..., Any], options: Iterable[str]) -> None:
    accepted = options_of(function)
    for name in options:
        if name not in accepted:
            raise TrilabelError(f"{path}: no option {name!r} here; use one of {', '.join(accepted) or '(none)'}")


def options_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """What may be said to a reader or writer beside what to read or write."""
    parameters = signature(function).parameters
    return {name: kind for name, kind in parameters.items() if name not in ("path", "images", "dataset", "data")}


def _with_files(path: Path, dataset: Dataset) -> Dataset:
    there = np.flatnonzero(folder.existing(dataset.paths or ()))
    if not len(there):
        raise TrilabelError(f"{path}: none of its {len(dataset)} images has a file; say with images where they are")
    if len(there) == len(dataset):
        return dataset
    note = f"{len(dataset) - len(there)} of {len(dataset)} images have no file and are left out"
    dataset = dataset.take(there)
    return replace(dataset, notes=(*dataset.notes, note))


def _with_splits(dataset: Dataset, path: Path, splits: Mapping[str, Any], seed: int) -> Dataset:
    drawn = {name: float(what) for name, what in splits.items() if isinstance(what, int | float)}
    named = {name: _rows(dataset, path, what) for name, what in splits.items() if name not in drawn}
    if named:
        dataset = replace(dataset, splits=_apart(dataset, path, named))
    whole = len(dataset.splits.get("train", ()))
    left = 1.0
    for name, what in drawn.items():
        # Every share is one of all the images there were, not of those that earlier splits left.
        share = what / whole if what > 1 and what == int(what) and whole else what
        if name in dataset.splits:
            raise TrilabelError(f"{path}: has a split {name!r} already; give its images or choose another name")
        if not 0 < share < left:
            raise TrilabelError(
                f"{path}: {what:g} for split {name!r}: shares lie between 0 and 1 in all, numbers below {whole}"
            )
        dataset = dataset.with_split_off(name, share / left, of="train", seed=seed)
        left -= share
    return dataset


def _rows(dataset: Dataset, path: Path, what: str | Path | Sequence[str]) -> NDArray[np.int64]:
    """Row numbers of a list of ids or of a text file with one id a line."""
    if isinstance(what, str | Path):
        where, lines = f"{what}, line", list(read_lines(Path(what)))
    else:
        where, lines = "list of ids, position", [(number, name) for number, name in enumerate(what, 1) if name.strip()]
    rows = dataset.labels.ids.positions(Names(name for _, name in lines))
    for index in np.flatnonzero(rows < 0)[:1]:
        number, name = lines[index]
        raise TrilabelError(f"{where} {number}: no image {name!r} in {path}")
    return np.unique(rows)


def _apart(dataset: Dataset, path: Path, named: dict[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
    """The named splits, seen to have no image in common; what they leave over is "train" unless that was named."""
    of = np.full(len(dataset), -1)
    for number, (name, rows) in enumerate(named.items()):
        for row in rows[of[rows] >= 0][:1]:
            other = list(named)[of[row]]
            raise TrilabelError(f"{path}: image {dataset.ids[row]!r} is in splits {other!r} and {name!r}; choose one")
        of[rows] = number
    return named if "train" in named else {"train": np.flatnonzero(of < 0), **named}
