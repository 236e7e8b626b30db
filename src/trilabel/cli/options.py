"""The options of a command, as its dataclass declares them: what help shows, and what arguments are checked against.

The parser (tyro) derives its flags from the same fields.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import tyro
from tyro.constructors import ConstructorRegistry, StructConstructorSpec, StructFieldSpec, StructTypeInfo

from trilabel.cli.arguments import flag
from trilabel.config import Config

# Groups of the whole help. A field of Config belongs to the group that the last of these fields before it begins.
GROUPS = ("", "data", "model", "training", "output")
_CONFIG_GROUPS = {"method": "model", "train_split": "data", "stages": "training"}
_OWN_GROUPS = {
    **dict.fromkeys(("data", "sets", "split", "hide", "hide_seed", "answers", "test"), "data"),
    **dict.fromkeys(("recipe", "set", "trust"), "model"),
    **dict.fromkeys(("out", "resume", "overwrite", "json", "keep", "layout", "to", "safe_cells"), "output"),
}
_READING_COMMON = frozenset({"images", "splits"})
_METAVARS: dict[Any, str] = {int: "N", float: "X", str: "TEXT", Path: "PATH"}
REQUIRED = tyro.MISSING_NONPROP


@dataclass(frozen=True)
class Option:
    """A field that can be given on the command line."""

    name: str
    kind: Any  # its type, without None and without the marks of the parser
    default: Any  # REQUIRED if there is none
    what: Callable[[], str]  # called only for help: it is read from the source
    metavar: str
    positional: bool = False
    optional: bool = False  # None is a value, too
    common: bool = True  # shown in the short help
    group: str = ""

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    @property
    def several(self) -> bool:
        """Whether it takes any number of values."""
        return get_origin(self.kind) is tuple

    @property
    def label(self) -> str:
        """How it is called on the command line: DATA, --out."""
        return self.metavar.strip("[]") if self.positional else flag(self.name)


def options_of(command: type[Any], base: Config) -> list[Option]:
    """All options of a command; `base` gives the defaults of those that set a Config."""
    common, hidden = getattr(command, "COMMON", None), getattr(command, "HIDDEN_SETTINGS", ())
    return [
        _option(field, group, own if common is None else field.name in common)
        for field, group, own in _fields(command, base, hidden)
    ]


def described_fields(kind: type[Any], default: Any = REQUIRED) -> tuple[StructFieldSpec, ...]:
    """The fields of a dataclass with their types, defaults and explanations."""
    spec = ConstructorRegistry.get_struct_spec(StructTypeInfo.make(kind, default, False))
    assert isinstance(spec, StructConstructorSpec)
    return spec.fields


def explanation(field: StructFieldSpec) -> str:
    """What the docstring of a field says, on one line."""
    text = field.helptext
    return " ".join(((text() if callable(text) else text) or "").split())


def _fields(command: type[Any], base: Config, hidden: Collection[str]) -> Iterator[tuple[StructFieldSpec, str, bool]]:
    """(the field, its group, whether it is shown in the short help)."""
    for field in described_fields(command):
        kind, marks = _unmarked(field.type)
        if kind is Config:
            group = ""
            for inner in described_fields(Config, base):
                group = _CONFIG_GROUPS.get(inner.name, group)
                if inner.name not in hidden:
                    yield inner, group, False
        elif is_dataclass(kind):
            assert isinstance(kind, type)
            for inner in described_fields(kind):
                yield inner, "data", inner.name in _READING_COMMON
        elif tyro.conf.Suppress not in marks:
            yield field, _OWN_GROUPS.get(field.name, ""), True


def _option(field: StructFieldSpec, group: str, common: bool) -> Option:
    kind, marks = _unmarked(field.type)
    given = next((mark.metavar for mark in marks if getattr(mark, "metavar", None)), None)
    help_text = next((mark.help for mark in marks if getattr(mark, "help", None)), "")
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    inner = [one for one in kinds if one is not NoneType]
    return Option(
        field.name,
        inner[0],
        field.default,
        lambda: help_text or explanation(field),
        given or _metavar(inner[0]),
        positional=tyro.conf.Positional in marks,
        optional=NoneType in kinds,
        common=common,
        group=group,
    )


def _unmarked(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """(the type, the marks that are attached to it)."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint, getattr(hint, "__metadata__", ())


def _metavar(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple:
        return f"{_metavar(get_args(kind)[0])} …"
    return _METAVARS.get(kind, "TEXT")
