"""The command line: finds the command and runs it.

Results go to standard output, progress and log to standard error. Exit codes: 0 done, 1 failed with one line, 2 wrong
usage, 130 stopped by Ctrl-C.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from trilabel.cli.arguments import UsageError
from trilabel.cli.compare import Compare
from trilabel.cli.data.convert import Convert
from trilabel.cli.data.formats import Formats
from trilabel.cli.data.inspect import Inspect
from trilabel.cli.data.merge import Merge
from trilabel.cli.data.simulate import Simulate
from trilabel.cli.demo import Demo
from trilabel.cli.evaluate import Evaluate
from trilabel.cli.lists import Components, Methods, Recipes
from trilabel.cli.maps import Maps
from trilabel.cli.parsing import Command, parse_command
from trilabel.cli.predict import Predict
from trilabel.cli.report import Report
from trilabel.cli.similar import Similar
from trilabel.cli.train import Train
from trilabel.cli.weights import Weights
from trilabel.errors import explain
from trilabel.log import shown
from trilabel.printable import message as one_message
from trilabel.training.signals import graceful_termination

COMMANDS: dict[str, type[Any]] = {
    "demo": Demo,
    "data inspect": Inspect,
    "data simulate": Simulate,
    "data convert": Convert,
    "data merge": Merge,
    "data formats": Formats,
    "train": Train,
    "compare": Compare,
    "evaluate": Evaluate,
    "predict": Predict,
    "maps": Maps,
    "similar": Similar,
    "report": Report,
    "weights": Weights,
    "methods": Methods,
    "components": Components,
    "recipes": Recipes,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if arguments else 2
    if arguments[1:] in (["-h"], ["--help"]) and arguments[0] not in COMMANDS and _commands_in(arguments[0]):
        print(overview(arguments[0]))
        return 0
    if arguments[0] == "--version":
        from trilabel.version import __version__

        print(__version__)
        return 0
    try:
        with graceful_termination(), shown():
            parse(*find_command(arguments))()
            sys.stdout.flush()  # a full disk is found out here, not after the end
    except UsageError as error:
        return 2 if _told_by_another(error) else _fail(str(error), 2)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:  # the reader of our output closed it, as `head` does
        sys.stderr.close()
    except Exception as error:
        if debug:
            raise
        _discard_output_that_cannot_be_written()
        if _told_by_another(error):
            return 1
        return _fail(explain(error, " (run again with --debug for the traceback)"), 1)
    return 0


def parse(name: str, arguments: Sequence[str]) -> Command:
    """The command of this name with its arguments."""
    return parse_command(COMMANDS[name], name, arguments)


def find_command(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """(the name of the command, its arguments)."""
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if name in COMMANDS:
            return name, arguments[words:]
    first = arguments[0]
    if second := [name.split()[1] for name in _commands_in(first)]:
        raise UsageError(f"trilabel {first}: choose one of {' | '.join(second)} (trilabel {first} {second[0]} --help)")
    raise UsageError(f"no command {first!r}; there are: {', '.join(COMMANDS)}")


def overview(group: str = "") -> str:
    """The text of `trilabel --help`, or for a group of commands, such as data, of `trilabel data --help`."""
    program = f"trilabel {group}".strip()
    names = _commands_in(group) if group else list(COMMANDS)
    commands = [f"  {name:<15} {(COMMANDS[name].__doc__ or '').splitlines()[0]}" for name in names]
    return "\n".join(
        [
            f"usage: {program} COMMAND … [--help] [--debug]",
            "",
            "Train multi-label image classifiers when most labels are unknown.",
            "Every label is present, absent or unknown.",
            "",
            *commands,
            "",
            f"Example: trilabel {names[0]}{' labels.csv' if group else ''}",
            f"Options and an example of a command: {program} COMMAND --help",
        ]
    )


def _commands_in(group: str) -> list[str]:
    return [name for name in COMMANDS if name.startswith(f"{group} ")]


def _told_by_another(error: Exception) -> bool:
    """Whether another process that torchrun started beside this one tells the same."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return False
    from trilabel.training.losing import told_by_another  # imports torch

    return told_by_another(error)


def _fail(message: str, code: int) -> int:
    print(f"trilabel: {one_message(message)}", file=sys.stderr)
    return code


def _discard_output_that_cannot_be_written() -> None:
    """Otherwise Python tries again when it ends, and complains in its own words."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
