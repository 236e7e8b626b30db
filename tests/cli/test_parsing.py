"""Arguments become commands that hold a Config with the defaults of a recipe or a run."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from tests.support.command_line import Capture, complaint, options_in_help
from trilabel.cli.main import parse
from trilabel.config import SETTINGS_OF, Config
from trilabel.recipes import RECIPES, resolve


def test_a_command_holds_the_recipe() -> None:
    for number, recipe in enumerate(RECIPES):
        written = [f"--recipe={recipe}"] if number % 2 else ["--recipe", recipe]
        command = parse("train", ["scenes", *written])
        assert command.config == resolve(recipe) and type(command.config) is Config


def test_flags_change_it() -> None:
    command = parse("train", ["scenes", "--no-flip", "--batch-size", "7", "--image-size", "None", "--images", "photos"])
    assert command.config == replace(resolve("photos"), flip=False, batch_size=7, image_size=None)
    assert command.reading.chosen() == {"images": "photos"}
    assert (command.data, command.recipe, command.set) == ("scenes", "photos", ())


def test_what_help_calls_none_is_none() -> None:
    command = parse("train", ["scenes", "--image-size", "none", "--weights=none", "--val", "none", "--batch_size", "7"])
    assert (command.config.image_size, command.config.weights, command.config.val) == (None, None, "none")
    assert command.config.batch_size == 7


def test_what_only_the_parser_finds_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("trilabel.cli.parsing.checked", lambda arguments, options: list(arguments))
    line = complaint(capsys, "train", "scenes", "--epochs", "many", code=2)
    assert line.startswith("trilabel train: Error parsing --epochs:") and "many" in line
    assert "─" not in line


def test_a_resumed_run_gives_the_defaults(run: Path) -> None:
    command = parse("train", ["--resume", str(run), "--epochs", "9"])
    assert (command.config.epochs, command.config.image_size, command.config.batch_size) == (9, 32, 16)


def test_every_setting_has_a_flag_but_those_of_components(capsys: Capture) -> None:
    names = {f.name.replace("_", "-") for f in fields(Config)}
    hidden = {name.replace("_", "-") for name in SETTINGS_OF.values()}
    assert names & set(options_in_help(capsys, "train", "all")) == names - hidden


def test_values_that_make_no_sense_are_wrong_usage(capsys: Capture) -> None:
    assert complaint(capsys, "train", "scenes", "--lr", "-1", code=2) == (
        "trilabel train: --lr must be more than 0, not -1.0"
    )
    assert "linear-then-fine-tune; not 'finetune'" in complaint(
        capsys, "train", "scenes", "--stages", "finetune", code=2
    )


def test_what_is_repeated_of_the_arguments_is_shown_not_obeyed(capsys: Capture) -> None:
    for arguments in (["data", "inspect", "c.csv", "--\x1b[31mred"], ["train", "scenes", "--epochs", "\x9b2J\u202e"]):
        written = complaint(capsys, *arguments, code=2)
        assert not set("\x1b\x9b\u202e") & set(written)
        assert "\\x1b[31mred" in written or "\\x9b2J" in written
    assert parse("train", ["a\x1b.csv"]).data == "a\x1b.csv", "a file may have any name"
