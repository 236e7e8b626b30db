"""Settings given as text or values, read as the types that a settings dataclass declares.

Nothing heavy is imported here: the command line reads it to print help.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from trilabel.errors import TrilabelError

S = TypeVar("S")


@dataclass(frozen=True)
class NoSettings:
    """For a part that has none."""


def settings_of(kind: type[S], values: Mapping[str, Any], name: str, part: str = "method") -> S:
    """The settings dataclass of a method (or another part) filled from names and values; a wrong name is an error.

    Values may be text (from a command line): they are read as the type that the field has by default, or as "none"
    where the field may be.
    """
    declared: Any = kind
    known, hints = {f.name: f for f in fields(declared)}, get_type_hints(kind)
    parsed: dict[str, Any] = {}
    for setting, value in values.items():
        if setting not in known:
            others = f"it has: {', '.join(known)}" if known else "it has none at all"
            near = get_close_matches(setting, known, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise TrilabelError(f"{part} {name!r} has no setting {setting!r}; {others}{meant}")
        what = f"setting {setting!r} of {part} {name!r}"
        kinds = get_args(hints[setting]) or (hints[setting],)
        several = next((kind for kind in (hints[setting], *kinds) if get_origin(kind) is tuple), None)
        if (value is None or str(value).lower() == "none") and type(None) in kinds:
            parsed[setting] = None
        elif several is not None:
            items = value.split(",") if isinstance(value, str) else value if isinstance(value, Sequence) else [value]
            parsed[setting] = tuple(read_as(None, get_args(several)[0], item, what) for item in items if item != "")
        else:
            parsed[setting] = read_as(known[setting].default, hints[setting], value, what)
    return kind(**parsed)


def read_as(default: Any, hint: Any, value: Any, what: str) -> Any:
    """A value that may be text, as the type that the hint and the default say; `what` it is stands in errors."""
    kinds = get_args(hint) or (hint,)
    if get_origin(hint) is Literal:
        if value not in kinds:
            raise TrilabelError(f"{what} is {', '.join(kinds)}; not {value!r}")
        return value
    if value is None and type(None) in kinds:
        return None
    if isinstance(default, bool):
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
        raise TrilabelError(f"{what} is true or false, not {value!r}")
    if str in kinds:
        return value
    whole = int in kinds
    try:
        number = float(value)
        if not math.isfinite(number) or (whole and number != int(number)):
            raise ValueError
    except (TypeError, ValueError):
        raise TrilabelError(f"{what} is a {'whole' if whole else 'finite'} number, not {value!r}") from None
    return int(number) if whole else number
