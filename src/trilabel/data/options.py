"""Options of readers and writers: the keyword arguments of their functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from trilabel.errors import TrilabelError
from trilabel.settings import read_as


def check_choice(path: Path, name: str, value: str, allowed: Sequence[str]) -> None:
    """Raises an error if an option is not one of those allowed."""
    if value not in allowed:
        raise TrilabelError(f"{path}: {name}={value!r}: use one of {', '.join(map(repr, allowed))}")


def options_from_text(path: Path, function: Callable[..., Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Options of a reader or writer that were given as text, converted to their declared types."""
    check_options(path, function, texts)
    accepted = options_of(function)
    return {name: read_as(accepted[name].annotation, text, f"{path}: option {name!r}") for name, text in texts.items()}


def check_options(path: Path, function: Callable[..., Any], options: Iterable[str]) -> None:
    """Raises an error for options that the reader or writer does not have."""
    accepted = options_of(function)
    for name in options:
        if name not in accepted:
            raise TrilabelError(f"{path}: no option {name!r} here; use one of {', '.join(accepted) or '(none)'}")


def options_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The options of a reader or writer: its parameters other than the data and the path."""
    parameters = signature(function).parameters
    return {name: kind for name, kind in parameters.items() if name not in ("path", "images", "dataset", "data")}
