"""Arguments that several commands share, and their checks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import tyro

from trilabel.errors import TrilabelError

RunPath = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
DataPath = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
OptionalDataPath = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[DATA]")]
NamesAndValues = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE …")]
Broken = Literal["stop", "skip"]
SafeCells = Annotated[
    bool,
    tyro.conf.arg(
        help="Put an apostrophe before names that a spreadsheet would run as formulas (= + - @). For tables that "
        "people open in a spreadsheet: trilabel would read the apostrophe as a part of the name."
    ),
]
Trust = Annotated[
    tuple[str, ...],
    tyro.conf.arg(
        metavar="FILE …",
        help="Files of people whom you trust, which may run code: Python files with a method, head or format that a "
        "run or a --rows file uses, and .pt2 files. A run folder by itself never runs a file.",
    ),
]


class UsageError(Exception):
    """The arguments are wrong or cannot be combined; exit code 2."""


def split_pair(option: str, text: str) -> tuple[str, str]:
    """NAME=VALUE as a pair.

    >>> split_pair("--set", "gamma=2")
    ('gamma', '2')
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{option} {text}: write NAME=VALUE")
    return name, value


def split_pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE … as a dictionary; a name may not be given two values."""
    found: dict[str, str] = {}
    for name, value in (split_pair(option, text) for text in texts):
        if found.setdefault(name, value) != value:
            raise UsageError(f"{option} {name} is given twice")
    return found


def flag(name: str) -> str:
    """A field as it is written on the command line.

    >>> flag("batch_size")
    '--batch-size'
    """
    return f"--{name.replace('_', '-')}"


def require_positive(**options: int) -> None:
    """Refuses numbers below 1."""
    for name, value in options.items():
        if value < 1:
            raise UsageError(f"{flag(name)} {value}: give 1 or more")


def require_run(folder: Path) -> None:
    """Refuses what is no run folder, before anything that takes long."""
    if not (folder / "config.json").is_file():
        raise TrilabelError(
            f"{folder}: not a run folder (no config.json in it); name the folder that `trilabel train` wrote"
        )


def require_probability(**options: float | None) -> None:
    """Refuses numbers outside 0 to 1."""
    for name, value in options.items():
        if value is not None and not 0 <= value <= 1:
            raise UsageError(f"{flag(name)} {value:g}: give a probability from 0 to 1")


def absolute_path(text: str | None) -> str | None:
    """Makes an existing path absolute, so that a run can be resumed and scored from another folder."""
    return str(Path(text).absolute()) if text and Path(text).exists() else text


def check_output(out: Path, overwrite: bool) -> None:
    """Refuses to replace a file, or to write into a folder that is not empty, without --overwrite."""
    if out.is_file() and not overwrite:
        raise TrilabelError(f"{out}: this file exists; choose another name, or pass --overwrite")
    if not out.is_file():
        check_output_folder(out, overwrite)


def check_output_folder(out: Path, overwrite: bool) -> None:
    """Refuses to write into a folder that is not empty without --overwrite."""
    if out.is_file():
        raise TrilabelError(f"{out}: this is a file; give a folder")
    if not overwrite and out.is_dir() and any(out.iterdir()):
        raise TrilabelError(f"{out}: this folder exists; choose another, or pass --overwrite")
