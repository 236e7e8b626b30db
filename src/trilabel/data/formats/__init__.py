"""The formats of data sets.

A new format is a module or package with `RULE`, `detect(path)` and `read(path, images=…, **options)`, if it can
be written also `write(dataset, path, **options)`, and a line in BUILT_IN.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from inspect import getdoc
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from trilabel.data.archive import is_archive, mounted
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
    openmmlab,
    visual_genome,
    voc,
    voc_xml,
    webdataset,
    yolo,
)
from trilabel.data.image_paths import is_image
from trilabel.data.options import check_options, options_from_text, options_of
from trilabel.data.tables import DELIMITERS, table_suffix
from trilabel.data.text_files import peeking_once
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.input_files import check_regular, open_input
from trilabel.plugin_files import reference, use
from trilabel.plugins import Registry
from trilabel.settings import choices_of

__all__ = ["FORMATS", "Format", "describe_formats", "entry_of", "format_of", "options_from_text", "options_of"]
__all__ += ["register_format", "writer_of"]

_FEW_FILES = 20  # of an archive; among more, none is the one that names the others
_PARTS = ("RULE", "detect", "read")  # of every format
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")


class Format(Protocol):
    """A format: its rule for labels that are not listed, how to detect it, and how to read it."""

    @property
    def RULE(self) -> str: ...
    @property
    def detect(self) -> Callable[[Path], bool]: ...
    @property
    def read(self) -> Callable[..., Dataset]: ...


BUILT_IN: dict[str, Format] = {  # the first format that detects a path is used
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
    "openmmlab": openmmlab,
    "huggingface": huggingface,
    "webdataset": webdataset,
    "yolo": yolo,
    "list": index_list,
    "box-table": box_table,
    "csv": csv_table,
    "folder": folder,
}


def _is_format(component: Any) -> bool:
    return isinstance(component, type | ModuleType) and all(hasattr(component, name) for name in _PARTS)


# Those from outside are asked last: a path that one of ours detects goes to another only by name.
FORMATS: Registry[Format] = Registry("format", BUILT_IN, f"a module or class with {', '.join(_PARTS)}", _is_format)
register_format = FORMATS.register


def writer_of(path: Path, format: str | None, options: Iterable[str] = ()) -> Callable[..., list[str]]:
    """The writer of the given format, or else of the one that the suffix of the path names."""
    if format is None:
        if path.suffix.lower() == native.SUFFIX:
            format = "native"
        elif table_suffix(path) in DELIMITERS:
            format = "csv"
        else:
            ends = ", ".join((native.SUFFIX, *DELIMITERS))
            raise TrilabelError(
                f"{path}: the format is unclear; use a name that ends in {ends}, or give one of {', '.join(_written())}"
            )
    format = use(format)
    kind = FORMATS.get(format)
    writer: Callable[..., list[str]] | None = getattr(kind, "write", None)
    if writer is None:
        raise unknown_name_error("format to write", format, _written())
    if path.is_dir() and not getattr(kind, "WRITES_FOLDER", False):
        raise TrilabelError(f"{path}: this is a folder; give a file to write")
    check_options(path, writer, options)
    return writer


def _written() -> list[str]:
    """The formats that can be written."""
    return [name for name, kind in FORMATS.usable() if hasattr(kind, "write")]


def entry_of(folder: Path, format: str | None) -> tuple[Path, str]:
    """What to read in an unpacked archive, and its format.

    That is the innermost of folders in each other, the only file in it that may be read, or one of the outer folders.
    """
    around = [folder]
    while len(inside := list(around[-1].iterdir())) == 1 and inside[0].is_dir():
        around.append(inside[0])
    choices = [around[-1], *_only_file(around[-1]), *around[-2::-1]]
    if format is not None:
        format = format_of(folder, format)
        kind = FORMATS[format]
        return next((path for path in choices if kind.detect(path)), choices[min(1, len(choices) - 1)]), format
    for path in choices:
        with suppress(TrilabelError):
            return path, format_of(path, None)
    return choices[0], format_of(choices[0], None)  # which says why not


def _only_file(folder: Path) -> list[Path]:
    """The only file in a folder that is one of labels, or the only one that is no plain table; else none."""
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and not is_image(file.name)]
    if len(files) == 1 or len(files) > _FEW_FILES:
        return files[:1] if len(files) == 1 else []
    special = [file for file in files if any(kind.detect(file) for name, kind in FORMATS.usable() if name != "csv")]
    tables = [file for file in files if table_suffix(file) in (".csv", ".tsv")]
    return next((found for found in (special, tables) if len(found) == 1), [])


def format_of(path: Path, format: str | None) -> str:
    """The name of the given format, or else of the first that detects the path, or what is in it if it is a .zip."""
    if is_archive(path):
        with mounted(path) as archive:
            return entry_of(archive.folder, format)[1]
    is_file = path.exists() and not path.is_dir()
    if is_file:
        check_regular(path)
    known = ", ".join(FORMATS)
    if format is not None:
        if format not in FORMATS and reference(format) is None:
            raise TrilabelError(f"{path}: no format called {format!r}; use one of {known}")
        return FORMATS.canonical(format)
    with peeking_once():
        for name, reader in FORMATS.usable():
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
    raise TrilabelError(
        f"{path}: not recognized as any of these formats: {known}; if it is one, pass format=NAME{hint}"
    )


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
            "from": str(FORMATS.origin(name) or "trilabel"),
        }
        for name, kind in FORMATS.usable()
    }
