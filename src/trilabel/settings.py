"""Settings given as text or as values, converted to their declared types.

All settings are read by `read_as`: those of methods, heads and other components, fields of a Config in a comparison,
and options of data formats. Nothing slow is imported here, because the command line needs this module to print help.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from trilabel.errors import TrilabelError

S = TypeVar("S")


@dataclass(frozen=True)
class NoSettings:
    """For a component without settings."""


def settings_of(kind: type[S], values: Mapping[str, Any], name: str, part: str = "method") -> S:
    """The settings dataclass of a method (or another component), filled from names and values, which may be text.

    >>> @dataclass(frozen=True)
    ... class Settings:
    ...     weight: float | None = 1.0
    ...     steps: int = 3
    >>> settings_of(Settings, {"weight": "none", "steps": "5"}, "example")
    Settings(weight=None, steps=5)
    """
    declared: Any = kind
    known, hints = [f.name for f in fields(declared)], get_type_hints(kind)
    for setting in values:
        if setting not in known:
            others = f"it has: {', '.join(known)}" if known else "it has none"
            near = get_close_matches(setting, known, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise TrilabelError(f"{part} {name!r} has no setting {setting!r}; {others}{meant}")
    return kind(
        **{
            setting: read_as(hints[setting], value, f"setting {setting!r} of {part} {name!r}")
            for setting, value in values.items()
        }
    )


def read_as(hint: Any, value: Any, what: str) -> Any:
    """Converts a value, which may be text, to the type of an annotation; errors call it `what`.

    Supported are bool, int, float, str, Literal, tuple and Sequence (text is split at commas), and unions of them,
    in which str is tried last.

    >>> read_as(int | float | str, "0.2", "the split"), read_as(tuple[int, ...] | None, "10,15", "epochs")
    (0.2, (10, 15))
    >>> read_as(int, "2.5", "epochs")
    Traceback (most recent call last):
    trilabel.errors.TrilabelError: epochs must be a whole number, not '2.5'
    """
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if NoneType in kinds and (value is None or str(value).lower() == "none"):
        return None
    kinds = tuple(sorted((kind for kind in kinds if kind is not NoneType), key=lambda kind: kind is str))
    for kind in kinds:
        try:
            return _read_kind(kind, value, what)
        except _NotOfKind:
            continue
    comma = ";" if get_origin(kinds[0]) is Literal else ","
    raise TrilabelError(f"{what} must be {' or '.join(map(_words, kinds))}{comma} not {value!r}")


def filled(kind: type[S], values: Any, what: str) -> S:
    """A dataclass from values read from a file, which must be of the declared types; errors call it `what`.

    >>> @dataclass(frozen=True)
    ... class Counts:
    ...     by_class: Mapping[str, int]
    ...     share: float = 0.5
    >>> filled(Counts, {"by_class": {"cat": 3}}, "counts")
    Counts(by_class={'cat': 3}, share=0.5)
    >>> filled(Counts, {"by_class": {"cat": "many"}}, "counts")
    Traceback (most recent call last):
    trilabel.errors.TrilabelError: by_class of counts cannot be {'cat': 'many'}
    """
    declared: Any = kind
    hints = get_type_hints(kind)
    if not isinstance(values, Mapping):
        raise TrilabelError(f"{what} is not a dictionary")
    if unknown := [str(name) for name in values if name not in hints]:
        raise TrilabelError(f"{what} has unknown entries: {', '.join(unknown)[:80]}")
    for f in fields(declared):
        if f.name in values:
            if not _is_a(hints[f.name], values[f.name]):
                raise TrilabelError(f"{f.name} of {what} cannot be {repr(values[f.name])[:80]}")
        elif f.default is MISSING and f.default_factory is MISSING:
            raise TrilabelError(f"{what} has no {f.name}")
    return kind(**{name: tuple(value) if _is_sequence(hints[name]) else value for name, value in values.items()})


def _is_sequence(hint: Any) -> bool:
    """Whether this is a tuple of any length, which JSON has as a list."""
    return get_origin(hint) is tuple and get_args(hint)[-1] is Ellipsis


def _is_a(hint: Any, value: Any) -> bool:
    """Whether a value that was read from JSON is of a declared type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_is_a(kind, value) for kind in inner)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in inner)
    if origin in (list, Sequence):
        return isinstance(value, list) and all(_is_a(inner[0], item) for item in value)
    if _is_sequence(hint):
        return isinstance(value, list | tuple) and all(_is_a(inner[0], item) for item in value)
    if origin is tuple:
        return isinstance(value, list) and len(value) == len(inner) and all(map(_is_a, inner, value))
    if origin is Mapping:
        return isinstance(value, dict) and all(_is_a(inner[1], item) for item in value.values())
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


def choices_of(hint: Any, default: Any) -> str:
    """The possible values for a list of settings: the default first, then the other choices if they are few.

    >>> choices_of(Literal["reject", "correct"], "reject"), choices_of(float | None, None), choices_of(bool, True)
    ('reject|correct', 'none', 'true')
    """
    others = [other for other in get_args(hint) if other != default] if get_origin(hint) is Literal else []
    first = str(default).lower() if default is None or isinstance(default, bool) else str(default)
    return "|".join(["…" if default == () else first, *others])


class _NotOfKind(Exception):
    """The value cannot be read as this type; another type of a union may fit."""


def _read_kind(kind: Any, value: Any, what: str) -> Any:
    origin = get_origin(kind)
    if origin in (tuple, Sequence):
        items = value.split(",") if isinstance(value, str) else value if isinstance(value, Sequence) else [value]
        read = [read_as(get_args(kind)[0], item, what) for item in items if item != ""]
        return tuple(read) if origin is tuple else read
    if kind is bool:
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
    elif kind in (int, float):
        return _read_number(kind, value)
    elif kind is str or origin is Literal:
        text = str(value) if isinstance(value, str | int | float | PurePath) and not isinstance(value, bool) else None
        if text is not None and (kind is str or text in get_args(kind)):
            return text
    elif isinstance(value, origin or kind):
        return value
    raise _NotOfKind


def _read_number(kind: type[int] | type[float], value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise _NotOfKind from None
    if not math.isfinite(number) or (kind is int and not number.is_integer()):
        raise _NotOfKind
    return kind(number)


def _words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    named = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text"}
    return named.get(kind, getattr(kind, "__name__", str(kind)))
