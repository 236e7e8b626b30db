"""The command line: finds the command and runs it.

Results go to standard output, progress and log to standard error. Exit codes: 0 done, 1 failed with one line, 2 wrong
usage, 130 stopped by Ctrl-C.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

from trilabel.cli.arguments import UsageError
from trilabel.cli.compare import Compare
from trilabel.cli.complete import Complete
from trilabel.cli.data.convert import Convert
from trilabel.cli.data.formats import Formats
from trilabel.cli.data.inspect import Inspect
from trilabel.cli.data.merge import Merge
from trilabel.cli.data.simulate import Simulate
from trilabel.cli.demo import Demo
from trilabel.cli.evaluate import Evaluate
from trilabel.cli.export import Export
from trilabel.cli.lists import Components, Methods, Recipes
from trilabel.cli.maps import Maps
from trilabel.cli.options import options_of
from trilabel.cli.parsing import Command, base_of, parse_command
from trilabel.cli.plan import PlanQuestions
from trilabel.cli.predict import Predict
from trilabel.cli.report import Report
from trilabel.cli.review import Review
from trilabel.cli.similar import Similar
from trilabel.cli.train import Train
from trilabel.cli.usage import in_flags
from trilabel.cli.weights import Weights
from trilabel.config import Config
from trilabel.errors import TrilabelError, explain
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
    "complete": Complete,
    "export": Export,
    "maps": Maps,
    "similar": Similar,
    "report": Report,
    "review": Review,
    "plan": PlanQuestions,
    "weights": Weights,
    "methods": Methods,
    "components": Components,
    "recipes": Recipes,
}
_UNFORESEEN = " (run again with --debug for the traceback)"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if arguments == ["--version"]:
        from trilabel.version import __version__

        print(__version__)
        return 0
    name = ""
    try:
        if not arguments or (text := asked_help(arguments)):
            print(text if arguments else overview())
            return 0 if arguments else 2
        with graceful_termination(), shown():
            name, rest = find_command(arguments)
            parse(name, rest)()
            sys.stdout.flush()  # a full disk is found out here, not after the end
    except UsageError as error:
        return 2 if _told_by_another(error) else _fail(_in_flags(error, name), 2, name)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:  # the reader of our output closed it, as `head` does
        sys.stderr.close()
    except Exception as error:
        if debug:
            raise
        _discard_output_that_cannot_be_written()
        return 1 if _told_by_another(error) else _fail(_in_flags(error, name), 1)
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
        raise UsageError(f"{first}: choose one of {' | '.join(second)} (trilabel {first} --help)")
    near = get_close_matches(" ".join(arguments[:2]), COMMANDS, 1, 0.75) or get_close_matches(first, COMMANDS, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"no command {first!r}; there are: {', '.join(COMMANDS)}{meant}")


def asked_help(arguments: Sequence[str]) -> str:
    """The help that these arguments ask for, or nothing."""
    words = ["--help" if word in ("-h", "--help") else word for word in arguments]
    if words[0] == "help":
        words = [*words[1:], "--help"]
    if "--help" not in words:
        return ""
    place = words.index("--help")
    everything = words[place + 1 : place + 2] == ["all"]
    words = words[:place] + words[place + 1 + everything :]
    if not words:
        return "\n\n\n".join([overview(), *(_help_of(name, (), True) for name in COMMANDS if everything)])
    if len(words) == 1 and _commands_in(words[0]):
        return overview(words[0])
    return _help_of(*find_command(words), everything)


def _help_of(name: str, arguments: Sequence[str], everything: bool) -> str:
    from trilabel.cli.help_page import help_page

    return help_page(COMMANDS[name], name, base_of(COMMANDS[name], arguments), everything)


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
            f"The options that most people need, and an example: {program} COMMAND --help",
            f"All options of a command, in groups: {program} COMMAND --help all",
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


def _in_flags(error: Exception, name: str) -> str:
    """The message of an error, which names options of the command, not arguments of Python."""
    text = str(error) if isinstance(error, UsageError) else explain(error, _UNFORESEEN)
    if not name or not isinstance(error, UsageError | TrilabelError):
        return text
    options = options_of(COMMANDS[name], Config())
    return in_flags(text, options, _options_of_formats() if any(one.name == "read" for one in options) else ())


def _options_of_formats() -> set[str]:
    from trilabel.data import formats

    return {name for _, kind in formats.FORMATS.usable() for name in formats.options_of(kind.read)}


def _fail(message: str, code: int, command: str = "") -> int:
    print(f"{f'trilabel {command}'.strip()}: {one_message(message)}", file=sys.stderr)
    return code


def _discard_output_that_cannot_be_written() -> None:
    """Otherwise Python tries again when it ends, and complains in its own words."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
