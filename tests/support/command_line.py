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
    lines = [line for line in captured.err.splitlines() if re.match(r"trilabel( [a-z]+){0,2}: ", line)]
    assert len(lines) == 1, captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return lines[0]


def help_text(capsys: Capture, command: str, *words: str) -> str:
    """What `COMMAND --help` prints."""
    capsys.readouterr()
    assert call(*command.split(), "--help", *words) == 0
    return capsys.readouterr().out


def options_in_help(capsys: Capture, command: str, *words: str) -> dict[str, str]:
    """The options that `COMMAND --help` lists, each with its value and explanation."""
    found: dict[str, str] = {}
    option = ""
    for line in help_text(capsys, command, *words).splitlines():
        if started := re.match(r"  (?:-h, )?--(?:\[no-\])?([a-z][a-z-]*)", line):
            option = started[1]
        if option and line.strip():
            found[option] = f"{found.get(option, '')} {line.strip()}".strip()
        else:
            option = ""
    return found
