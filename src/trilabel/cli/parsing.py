"""From arguments to a command. tyro derives the flags from the fields of a command's dataclass.

A command that trains has a Config. Its fields also become flags (`--epochs`, not `--config.epochs`), and their
defaults come from the recipe or run that the arguments name.
"""

from collections.abc import Collection, Sequence
from contextlib import redirect_stderr
from dataclasses import fields, replace
from functools import partial
from io import StringIO
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any, Protocol

import tyro
from tyro.constructors import ConstructorRegistry, StructConstructorSpec, StructTypeInfo

from trilabel.cli.arguments import UsageError
from trilabel.cli.options import options_of
from trilabel.cli.usage import checked
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.recipes import resolve

_FRAME = "─╭╰+-"  # what the lines of a box begin with


class Command(Protocol):
    """The arguments of a command; calling it runs the command."""

    def __call__(self) -> None: ...


def parse_command(kind: type[Any], name: str, arguments: Sequence[str]) -> Command:
    """The command with its arguments; raises an error of one line if they are wrong."""
    names, base = {f.name for f in fields(kind)}, base_of(kind, arguments)
    given = checked(arguments, options_of(kind, base))
    registry = _flags(base, getattr(kind, "HIDDEN_SETTINGS", ()))
    with redirect_stderr(StringIO()) as told:
        try:
            command: Any = tyro.cli(kind, prog=f"trilabel {name}", args=given, registry=registry, add_help=False)
        except SystemExit:  # it found what `checked` did not, and told it in a box
            raise UsageError(_without_box(told.getvalue())) from None
    found: Command = replace(command, written=_written_options(arguments)) if "written" in names else command
    return found


def base_of(kind: type[Any], arguments: Sequence[str]) -> Config:
    """The settings that a command starts from: those of the recipe or run that its arguments name."""
    return _starting_config(kind, arguments) if "config" in {f.name for f in fields(kind)} else Config()


def _without_box(text: str) -> str:
    """What stands in the first part of a box that the parser prints, on one line."""
    lines = [line.strip("│| ") for line in text.splitlines()]
    inside = dropwhile(lambda line: line[:1] not in _FRAME, lines)  # its title may stand before it
    inside = dropwhile(lambda line: line[:1] in _FRAME, inside)
    return " ".join(takewhile(lambda line: line[:1] not in _FRAME, inside))


def _starting_config(kind: type[Any], arguments: Sequence[str]) -> Config:
    """The default settings: those of the resumed run, or of the recipe."""
    if resumed := _value_of("--resume", arguments):
        from trilabel.training.run_folder import RunFolder

        return RunFolder(Path(resumed)).read().config
    return resolve(_value_of("--recipe", arguments) or kind.recipe)


def _flags(base: Config, hidden: Collection[str]) -> ConstructorRegistry:
    """How the parser sees a Config: with the defaults of `base`.

    Its hidden fields have no flag and stay as they are in `base`.
    """
    registry = ConstructorRegistry()
    inside = set[Any]()

    @registry.struct_rule
    def rule(info: StructTypeInfo) -> StructConstructorSpec | None:
        """How the parser reads a Config; None leaves other types to its own rule."""
        if info.type is not Config or info.type in inside:
            return None
        inside.add(info.type)
        spec = ConstructorRegistry.get_struct_spec(replace(info, default=base))
        inside.remove(info.type)
        if not isinstance(spec, StructConstructorSpec):
            return None
        return StructConstructorSpec(partial(_changed, base), tuple(f for f in spec.fields if f.name not in hidden))

    return registry


def _changed(base: Config, **given: Any) -> Config:
    try:
        return replace(base, **given)
    except TrilabelError as error:
        raise UsageError(str(error)) from None  # the parser would print a ValueError as a box of several lines


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
