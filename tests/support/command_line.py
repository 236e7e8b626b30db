"""Calling commands as a person does, and reading what they print."""

import json
import re
from typing import Any

import pytest

from trilabel.cli.main import main

QUICK = ["--image-size", "32", "--epochs", "2", "--workers", "0", "--batch-size", "16"]

Capture = pytest.CaptureFixture[str]


def call(*arguments: Any) -> int:
    """The exit code of a command."""
    return main([str(argument) for argument in arguments])


def result(capsys: Capture, *arguments: Any) -> Any:
    """What a command that succeeds prints as JSON."""
    capsys.readouterr()
    assert call(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def complaint(capsys: Capture, *arguments: Any, code: int = 1) -> str:
    """The one line of an error, on standard error, with the right exit code and nothing on standard output."""
    capsys.readouterr()
    assert call(*arguments) == code
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if line.startswith("trilabel: ")]
    assert len(lines) == 1, captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return lines[0]


def options_in_help(capsys: Capture, command: str) -> dict[str, str]:
    """The options that `COMMAND --help` lists, each with its value and explanation, without the frame around them."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        call(*command.split(), "--help")
    assert stopped.value.code == 0
    found: dict[str, str] = {}
    option = ""
    for line in (line.strip("│╰╭─╮╯ ") for line in capsys.readouterr().out.splitlines()):
        if started := re.match(r"(?:-h, )?--([a-z][a-z-]*)", line):
            option = started[1]
        if option:
            found[option] = f"{found.get(option, '')} {line}"
    return found
