"""Arguments become commands that hold a Config with the defaults of a recipe or a run."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from tests.support.command_line import Capture, call, complaint, options_in_help
from trilabel.cli.main import parse
from trilabel.config import SETTINGS_OF, Config
from trilabel.recipes import RECIPES, resolve


def test_a_command_holds_the_recipe() -> None:
    for recipe in RECIPES:
        for written in (["--recipe", recipe], [f"--recipe={recipe}"]):
            command = parse("train", ["scenes", *written])
            assert command.config == resolve(recipe) and type(command.config) is Config


def test_flags_change_it() -> None:
    command = parse("train", ["scenes", "--no-flip", "--batch-size", "7", "--image-size", "None", "--images", "photos"])
    assert command.config == replace(resolve("small"), flip=False, batch_size=7, image_size=None)
    assert command.reading.chosen() == {"images": "photos"}
    assert (command.data, command.recipe, command.set) == ("scenes", "small", ())


def test_a_resumed_run_gives_the_defaults(run: Path) -> None:
    command = parse("train", ["--resume", str(run), "--epochs", "9"])
    assert (command.config.epochs, command.config.image_size, command.config.batch_size) == (9, 32, 16)


def test_every_setting_has_a_flag_but_those_of_components(capsys: Capture) -> None:
    names = {f.name.replace("_", "-") for f in fields(Config)}
    hidden = {name.replace("_", "-") for name in SETTINGS_OF.values()}
    assert names & set(options_in_help(capsys, "train")) == names - hidden


def test_values_that_make_no_sense_are_wrong_usage(capsys: Capture) -> None:
    assert complaint(capsys, "train", "scenes", "--lr", "-1", code=2) == "trilabel: lr must be more than 0, not -1.0"
    with pytest.raises(SystemExit) as stopped:
        call("train", "scenes", "--stages", "finetune")
    assert stopped.value.code == 2 and "linear-then-fine-tune" in capsys.readouterr().err


def test_what_tyro_repeats_of_the_arguments_is_shown_not_obeyed(capsys: Capture) -> None:
    for arguments in (["data", "inspect", "c.csv", "--\x1b[31mred"], ["train", "scenes", "--epochs", "\x9b2J\u202e"]):
        with pytest.raises(SystemExit) as stopped:
            call(*arguments)
        written = capsys.readouterr().err
        assert stopped.value.code == 2 and not set("\x1b\x9b\u202e") & set(written)
        assert "\\x1b[31mred" in written or "\\x9b2J" in written
    assert parse("train", ["a\x1b.csv"]).data == "a\x1b.csv", "a file may have any name"
