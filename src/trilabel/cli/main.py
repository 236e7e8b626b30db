"""The command line: finds the command and runs it. Commands import what they need when they run, so help is instant.

Results go to standard output, progress and remarks to standard error. Exit codes: 0 done, 1 failed with one line,
2 wrong usage, 130 stopped by Ctrl-C.
"""

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Protocol

import tyro

from trilabel.cli.common import UsageError
from trilabel.cli.compare import Compare
from trilabel.cli.components import Methods, Parts, Recipes
from trilabel.cli.data import DataConvert, DataFormats, DataInspect, DataMerge, DataSimulate
from trilabel.cli.score import Evaluate, Predict
from trilabel.cli.train import Demo, Train
from trilabel.cli.visualize import Maps, Report, Similar
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.log import shown
from trilabel.recipes import resolve
from trilabel.training.signals import graceful_termination


class Command(Protocol):
    """A command's arguments; calling it runs the command."""

    def __call__(self) -> None: ...


COMMANDS: dict[str, type[Any]] = {
    "demo": Demo,
    "data inspect": DataInspect,
    "data simulate": DataSimulate,
    "data convert": DataConvert,
    "data merge": DataMerge,
    "data formats": DataFormats,
    "train": Train,
    "compare": Compare,
    "evaluate": Evaluate,
    "predict": Predict,
    "maps": Maps,
    "similar": Similar,
    "report": Report,
    "methods": Methods,
    "parts": Parts,
    "recipes": Recipes,
}


def overview() -> str:
    """The text of `trilabel --help`."""
    lines = [f"  {name:<15} {(kind.__doc__ or '').splitlines()[0]}" for name, kind in COMMANDS.items()]
    return "\n".join(
        [
            "usage: trilabel COMMAND … [--help] [--debug]",
            "",
            "Train multi-label image classifiers when most labels are unknown.",
            "Every label is present, absent or unknown.",
            "",
            *lines,
            "",
            "Example: trilabel demo",
            "Options and an example of a command: trilabel COMMAND --help",
        ]
    )


def find_command(arguments: list[str]) -> tuple[str, list[str]]:
    """(command, its arguments)."""
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if name in COMMANDS:
            return name, arguments[words:]
    if arguments and any(name.startswith(arguments[0] + " ") for name in COMMANDS):
        parts = [name.split()[1] for name in COMMANDS if name.startswith(arguments[0] + " ")]
        raise UsageError(
            f"trilabel {arguments[0]}: which one? {' | '.join(parts)} (trilabel {arguments[0]} {parts[0]} --help)"
        )
    raise UsageError(f"no command {arguments[0]!r}; there are: {', '.join(COMMANDS)}")


def parse(name: str, arguments: list[str]) -> Command:
    """The command with its arguments; those that train take their defaults from the recipe or run that is named."""
    kind, default = COMMANDS[name], None
    if kind in (Train, Compare):
        recipe, resumed = value_of("--recipe", arguments) or "small", value_of("--resume", arguments)
        if resumed:
            from trilabel.training.run_folder import RunFolder

            config = RunFolder(Path(resumed)).read()["config"]
        else:
            config = resolve(recipe)
        settings = {f.name: getattr(config, f.name) for f in fields(Config)}
        needed = {} if kind is Train else {"data": tyro.MISSING, "out": tyro.MISSING}
        default = kind(recipe=recipe, **needed, **settings)
    options: dict[str, Any] = {} if default is None else {"default": default}
    command: Command = tyro.cli(kind, args=arguments, prog=f"trilabel {name}", **options)
    return replace(command, given=given_options(arguments)) if isinstance(command, Compare) else command


def given_options(arguments: list[str]) -> tuple[str, ...]:
    """The names of options that are written, as fields have them: --no-flip is flip."""
    flags = (argument[2:].partition("=")[0] for argument in arguments if argument.startswith("--"))
    return tuple(flag.removeprefix("no-").replace("-", "_") for flag in flags)


def value_of(option: str, arguments: list[str]) -> str | None:
    """The value of an option that must be known before parsing, because it decides the defaults of the others."""
    for position, argument in enumerate(arguments):
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
        if argument == option and position + 1 < len(arguments):
            return arguments[position + 1]
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and gives its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        from trilabel.version import __version__

        print(__version__)
        return 0
    try:
        with graceful_termination(), shown():
            parse(*find_command(arguments))()
    except UsageError as error:
        print(f"trilabel: {error}", file=sys.stderr)
        return 2
    except TrilabelError as error:
        if debug:
            raise
        print(f"trilabel: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("trilabel: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        sys.stderr.close()
        return 0
    except Exception as error:
        if debug:
            raise
        first = (str(error).strip().splitlines() or [""])[0]
        print(f"trilabel: {type(error).__name__}: {first} (run again with --debug for the traceback)", file=sys.stderr)
        return 1
    return 0
