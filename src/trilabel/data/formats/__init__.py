"""The formats that data sets come in.

A further one is a module or package with `RULE`, `detect(path)` and `read(path, images=…, **options)`, where it can
be written also `write(dataset, path, **options)`, and a line in FORMATS.
"""

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import Any, Protocol

from trilabel.data.dataset import Dataset
from trilabel.data.formats import (
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
from trilabel.data.formats._shared.table_file import DELIMITERS, suffix
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.settings import choices_of, read_as

_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")


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


def writer_of(path: Path, format: str | None, options: Iterable[str] = ()) -> Callable[..., list[str]]:
    """The writer of the format that was given, or else of the one that the ending of the name tells."""
    writers: dict[str, Callable[..., list[str]]] = {
        name: writer for name, kind in FORMATS.items() if (writer := getattr(kind, "write", None))
    }
    if format is None:
        format = "native" if path.suffix.lower() == native.SUFFIX else "csv" if suffix(path) in DELIMITERS else None
        if format is None:
            ends = ", ".join((native.SUFFIX, *DELIMITERS))
            raise TrilabelError(
                f"{path}: which format? its name may end in {ends}, or name one of {', '.join(writers)}"
            )
    if format not in writers:
        raise unknown_name_error("format to write", format, writers)
    if path.is_dir() and not getattr(FORMATS[format], "WRITES_FOLDER", False):
        raise TrilabelError(f"{path}: this is a folder; name a file to write")
    check_options(path, writers[format], options)
    return writers[format]


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
    if path.suffix.lower() in _SPREADSHEETS:
        raise TrilabelError(f"{path}: a spreadsheet is not read; save it as CSV (UTF-8)")
    if path.is_dir() and not any(path.iterdir()):
        raise TrilabelError(f"{path}: this folder is empty")
    inside = folder.files_with_labels(path) if path.is_dir() else []
    hint = (
        f"; it holds {', '.join(inside[:3])}{', …' if len(inside) > 3 else ''}: give the path of that file"
        if inside
        else ""
    )
    if path.is_dir():
        hint += "; if sub-folders are classes, give the folder that holds them, or pass format='folder'"
    raise TrilabelError(f"{path}: not recognised as any of these formats: {known}; if it is one, pass format{hint}")


def describe_formats() -> dict[str, dict[str, Any]]:
    """Each format in words: what it is, its rule on absent and unknown, its options, and whether it can be written."""
    return {
        name: {
            "summary": (getdoc(kind) or "").partition("\n")[0],
            "rule": kind.RULE,
            "options": {
                option: choices_of(what.annotation, what.default) for option, what in options_of(kind.read).items()
            },
            "written": hasattr(kind, "write"),
        }
        for name, kind in FORMATS.items()
    }


def options_from_text(path: Path, function: Callable[..., Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Options of a reader or writer that were given as text, as what the option takes."""
    check_options(path, function, texts)
    accepted = options_of(function)
    return {name: read_as(accepted[name].annotation, text, f"{path}: option {name!r}") for name, text in texts.items()}


def check_options(path: Path, function: Callable[..., Any], options: Iterable[str]) -> None:
    """Refuses options that the reader or writer does not have."""
    accepted = options_of(function)
    for name in options:
        if name not in accepted:
            raise TrilabelError(f"{path}: no option {name!r} here; use one of {', '.join(accepted) or '(none)'}")


def options_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """What may be said to a reader or writer beside what to read or write."""
    parameters = signature(function).parameters
    return {name: kind for name, kind in parameters.items() if name not in ("path", "images", "dataset", "data")}
