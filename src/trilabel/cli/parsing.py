"""From arguments to a command. tyro derives the flags from the fields of a command's dataclass.

A command that trains has a Config. Its fields also become flags (`--epochs`, not `--config.epochs`), and their
defaults come from the recipe or run that the arguments name.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import tyro
from tyro.constructors import ConstructorRegistry, StructConstructorSpec, StructFieldSpec, StructTypeInfo

from trilabel.cli.arguments import UsageError
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.printable import printable
from trilabel.recipes import resolve


class Command(Protocol):
    """The arguments of a command; calling it runs the command."""

    def __call__(self) -> None: ...


def parse_command(kind: type[Any], name: str, arguments: Sequence[str]) -> Command:
    """The command with its arguments; tyro prints help, or what is wrong, and exits."""
    names = {f.name for f in fields(kind)}
    base = _starting_config(kind, arguments) if "config" in names else Config()
    registry = _flags(base, getattr(kind, "HIDDEN_SETTINGS", ()))
    parse = partial(tyro.cli, kind, prog=f"trilabel {name}", registry=registry)
    shown = list(map(printable, arguments))
    if shown != list(arguments):  # tyro would repeat control characters in its errors
        try:
            command: Any = parse(args=list(arguments), console_outputs=False)
        except SystemExit:
            parse(args=shown)
            raise
    else:
        command = parse(args=shown)
    found: Command = replace(command, written=_written_options(arguments)) if "written" in names else command
    return found


def _starting_config(kind: type[Any], arguments: Sequence[str]) -> Config:
    """The default settings: those of the resumed run, or of the recipe."""
    if resumed := _value_of("--resume", arguments):
        from trilabel.training.run_folder import RunFolder

        return RunFolder(Path(resumed)).read().config
    return resolve(_value_of("--recipe", arguments) or kind.recipe)


def _flags(base: Config, hidden: Collection[str]) -> ConstructorRegistry:
    """How tyro sees our dataclasses: help without line breaks, and a Config with the defaults of `base`.

    The hidden fields of a Config have no flag and stay as they are in `base`.
    """
    registry = ConstructorRegistry()
    inside = set[Any]()

    @registry.struct_rule
    def rule(info: StructTypeInfo) -> StructConstructorSpec | None:
        """How tyro parses a dataclass; None leaves it to its own rule."""
        if not is_dataclass(info.type) or info.type in inside:
            return None  # tyro applies its own rule
        is_config = info.type is Config
        inside.add(info.type)
        spec = ConstructorRegistry.get_struct_spec(replace(info, default=base) if is_config else info)
        inside.remove(info.type)
        if not isinstance(spec, StructConstructorSpec):
            return None
        shown = (f for f in spec.fields if not (is_config and f.name in hidden))
        build = partial(_changed, base) if is_config else spec.instantiate
        return StructConstructorSpec(build, tuple(replace(f, helptext=_one_line(f)) for f in shown))

    return registry


def _changed(base: Config, **given: Any) -> Config:
    try:
        return replace(base, **given)
    except TrilabelError as error:
        raise UsageError(str(error)) from None  # tyro would print a ValueError as a box of several lines


def _one_line(field: StructFieldSpec) -> Callable[[], str]:
    """The help of a field without the line breaks of the source, which tyro would keep."""
    text = field.helptext
    return lambda: " ".join(((text() if callable(text) else text) or "").split())


def _written_options(arguments: Sequence[str]) -> frozenset[str]:
    """The options on the command line, by field name: --no-flip is flip."""
    flags = (argument[2:].partition("=")[0] for argument in arguments if argument.startswith("--"))
    return frozenset(name.removeprefix("no-").replace("-", "_") for name in flags)


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    """The value of an option that must be known before parsing, because others take their defaults from it."""
    for position, argument in enumerate(arguments):
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
        if argument == option and position + 1 < len(arguments):
            return arguments[position + 1]
    return None
