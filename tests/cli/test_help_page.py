"""Help shows what people need first, and everything when asked."""

import re

import pytest

from tests.support.command_line import Capture, call, complaint, help_text, options_in_help
from trilabel.cli.main import COMMANDS, asked_help
from trilabel.cli.train import Train


def test_train_shows_the_options_that_people_need(capsys: Capture) -> None:
    assert list(options_in_help(capsys, "train")) == [*Train.COMMON[1:], "help"]
    assert "All 7" in help_text(capsys, "train") and "trilabel train --help all" in help_text(capsys, "train")


def test_all_of_them_stand_in_groups(capsys: Capture) -> None:
    text = help_text(capsys, "train", "all")
    assert re.findall(r"^([a-z]+):$", text, re.MULTILINE) == ["options", "data", "model", "training", "output"]
    sections = {part.partition(":")[0]: part for part in text.split("\n\n")}
    assert "  --images FOLDER" in sections["data"] and "  --crop X" in sections["data"]
    assert "  --backbone TEXT" in sections["model"] and "  --[no-]keep-head" in sections["model"]
    assert "  --lr X" in sections["training"] and "  --overwrite\n" not in sections["training"]
    assert "  --overwrite " in sections["output"]


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_in_it_is_written_for_a_parser(name: str, capsys: Capture) -> None:
    text = help_text(capsys, name, "all")
    assert not re.search(r"\{|None|default: \)|default: False|STR|INT", text)
    assert all(len(line) <= 110 for line in text.splitlines() if ": trilabel " not in line)


def test_defaults_are_those_of_the_recipe(capsys: Capture) -> None:
    assert "(default: by the plan)" in options_in_help(capsys, "train")["epochs"]
    assert call("train", "--recipe", "small", "--help") == 0
    assert "(default: 12)" in capsys.readouterr().out
    assert "default" not in options_in_help(capsys, "train")["out"]


def test_what_is_on_can_be_turned_off(capsys: Capture) -> None:
    assert "--[no-]calibrated" in help_text(capsys, "evaluate") and "  --json  " in help_text(capsys, "evaluate")


def test_other_ways_to_ask(capsys: Capture) -> None:
    assert asked_help(["help", "train"]) == asked_help(["train", "-h"]) == asked_help(["train", "x", "--help"])
    assert asked_help(["help", "data"]) == asked_help(["data", "--help"])
    everything = asked_help(["--help", "all"])
    assert all(f"usage: trilabel {name} " in everything for name in COMMANDS)
    assert "no command 'tarin'" in complaint(capsys, "help", "tarin", code=2)
