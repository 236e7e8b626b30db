"""The formats of data sets.

A new format is a module or package with `RULE`, `detect(path)` and `read(path, images=…, **options)`, if it can
be written also `write(dataset, path, **options)`, and a line in FORMATS.
"""

from collections.abc import Callable, Iterable
from inspect import getdoc
from pathlib import Path
from typing import Any, Protocol

from trilabel.data.dataset import Dataset
from trilabel.data.formats import (
    box_table,
    celeba,
    coco,
    createml,
    csv_table,
    cub,
    cvat,
    fiftyone,
    folder,
    huggingface,
    index_list,
    label_studio,
    labelme,
    native,
    nuswide,
    openimages,
    visual_genome,
    voc,
    voc_xml,
    yolo,
)
from trilabel.data.options import check_options, options_from_text, options_of
from trilabel.data.tables import DELIMITERS, table_suffix
from trilabel.data.text_files import peeking_once
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.input_files import check_regular, open_input
from trilabel.settings import choices_of

__all__ = ["FORMATS", "Format", "describe_formats", "format_of", "options_from_text", "options_of", "writer_of"]

_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")


class Format(Protocol):
    """A format: its rule for labels that are not listed, how to detect it, and how to read it."""

    @property
    def RULE(self) -> str: ...
    @property
    def detect(self) -> Callable[[Path], bool]: ...
    @property
    def read(self) -> Callable[..., Dataset]: ...


FORMATS: dict[str, Format] = {  # the first format that detects a path is used
    "native": native,
    "voc": voc,
    "voc-xml": voc_xml,
    "coco": coco,
    "open-images": openimages,
    "nus-wide": nuswide,
    "cub": cub,
    "celeba": celeba,
    "visual-genome": visual_genome,
    "label-studio": label_studio,
    "cvat": cvat,
    "createml": createml,
    "labelme": labelme,
    "fiftyone": fiftyone,
    "huggingface": huggingface,
    "yolo": yolo,
    "list": index_list,
    "box-table": box_table,
    "csv": csv_table,
    "folder": folder,
}


def writer_of(path: Path, format: str | None, options: Iterable[str] = ()) -> Callable[..., list[str]]:
    """The writer of the given format, or else of the one that the suffix of the path names."""
    writers: dict[str, Callable[..., list[str]]] = {
        name: writer for name, kind in FORMATS.items() if (writer := getattr(kind, "write", None))
    }
    if format is None:
        if path.suffix.lower() == native.SUFFIX:
            format = "native"
        elif table_suffix(path) in DELIMITERS:
            format = "csv"
        else:
            ends = ", ".join((native.SUFFIX, *DELIMITERS))
            raise TrilabelError(
                f"{path}: the format is unclear; use a name that ends in {ends}, or give one of {', '.join(writers)}"
            )
    if format not in writers:
        raise unknown_name_error("format to write", format, writers)
    if path.is_dir() and not getattr(FORMATS[format], "WRITES_FOLDER", False):
        raise TrilabelError(f"{path}: this is a folder; give a file to write")
    check_options(path, writers[format], options)
    return writers[format]


def format_of(path: Path, format: str | None) -> str:
    """The name of the given format, or else of the first that detects the path."""
    is_file = path.exists() and not path.is_dir()
    if is_file:
        check_regular(path)
    known = ", ".join(FORMATS)
    if format is not None:
        if format not in FORMATS:
            raise TrilabelError(f"{path}: no format called {format!r}; use one of {known}")
        return format
    with peeking_once():
        for name, reader in FORMATS.items():
            if reader.detect(path):
                return name
    if is_file:
        open_input(path).close()  # if it may not be read, that is why no format recognized its bytes
    if path.suffix.lower() in _SPREADSHEETS:
        raise TrilabelError(f"{path}: a spreadsheet is not read; save it as CSV (UTF-8)")
    if path.is_dir() and not any(path.iterdir()):
        raise TrilabelError(f"{path}: this folder is empty")
    inside = folder.files_with_labels(path) if path.is_dir() else []
    hint = (
        f"; it contains {', '.join(inside[:3])}{', …' if len(inside) > 3 else ''}: give the path of that file"
        if inside
        else ""
    )
    if path.is_dir():
        hint += "; if sub-folders are classes, give the folder that contains them, or pass format='folder'"
    raise TrilabelError(f"{path}: not recognized as any of these formats: {known}; if it is one, pass format{hint}")


def describe_formats() -> dict[str, dict[str, Any]]:
    """A description of each format, its rule on absent and unknown, its options, and whether it can be written."""
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
