"""Arguments that cannot be right are answered in one line that names the option."""

import shlex
from pathlib import Path

import pytest

from tests.support.command_line import Capture, call, complaint
from trilabel.cli.options import options_of
from trilabel.cli.train import Train
from trilabel.cli.usage import checked, in_flags
from trilabel.config import Config

OPTIONS = options_of(Train, Config())


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("train scenes --epoch 3", "trilabel train: no option --epoch; did you mean --epochs?"),
        ("train scenes --no-flipp", "trilabel train: no option --no-flipp; did you mean --no-flip?"),
        ("train scenes --zzz", "trilabel train: no option --zzz"),
        ("train scenes --epochs", "trilabel train: --epochs needs a value: --epochs N"),
        ("train scenes --epochs --no-flip", "trilabel train: --epochs needs a value: --epochs N"),
        ("train scenes --epochs many", "trilabel train: --epochs must be a whole number, not 'many'"),
        ("train scenes --image-size 0", "trilabel train: --image-size must be more than 0, not 0"),
        ("train scenes --flip=no", "trilabel train: --flip takes no value; write --flip or --no-flip"),
        ("train scenes other", "trilabel train: 'other' is one argument too many"),
        ("data inspect", "trilabel data inspect: DATA is missing"),
        ("data convert x.csv", "trilabel data convert: --out PATH is missing"),
        ("compare scenes --out x --seeds 1 b", "trilabel compare: --seeds must be a whole number, not 'b'"),
    ],
)
def test_one_line(arguments: str, message: str, capsys: Capture) -> None:
    assert complaint(capsys, *arguments.split(), code=2) == message


def test_what_is_right_is_left_as_it_is() -> None:
    for line in ("a.csv --lr -1", "--no-flip a.csv --set a=1 b=-2", "--images=x", "a --val 0.2 --flip --teachers b c"):
        assert checked(line.split(), OPTIONS) == line.replace("=x", " x").split()
    assert checked(["a.csv", "--image_size=None", "--seed", "3"], OPTIONS) == [
        *("a.csv", "--image-size", "None", "--seed", "3"),
    ]


def test_lists_that_are_given_twice_add_up() -> None:
    assert checked(["--set", "a=1", "--set", "b=2", "c=3", "--flip"], OPTIONS) == [
        "--flip",
        "--set",
        "a=1",
        "b=2",
        "c=3",
    ]


def test_words_of_a_table_are_asked_for_in_options_that_can_be_pasted(tmp_path: Path, capsys: Capture) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("image,who,cat,dog\n1.jpg,Ann,NaN,yes\n2.jpg,Bob,no,?\n")
    told = complaint(capsys, "data", "inspect", table)
    options = "--positive-values yes --negative-values no --unknown-values NaN '?'"
    assert f"or pass {options} (if 'who' is not a class, pass --ignore who; if it contains tags, pass --read " in told
    assert told.endswith("--read tags=who)")
    assert call("data", "inspect", table, *shlex.split(options), "--ignore", "who") == 0
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/1.jpg").touch()
    told = complaint(capsys, "data", "inspect", tmp_path / "photos")
    assert "if it is one, pass --format NAME" in told and "or pass --format folder" in told


@pytest.mark.parametrize(
    "message, shown",
    [
        ("image_size must be more than 0", "--image-size must be more than 0"),
        ("lr must be more than 0", "--lr must be more than 0"),
        ("choose conflict='unknown' or 'majority'", "choose --conflict unknown or 'majority'"),
        ("pass ignore=['a b', 'c'], epochs=NUMBER", "pass --ignore 'a b' c, --epochs NUMBER"),
        ("--read layout='wide'", "--read layout='wide'"),
        ("pass layout='wide' or tags=NAME", "pass --read layout=wide or --read tags=NAME"),
        ("x.csv: keep_head needs a run", "x.csv: --keep-head needs a run"),
        ("data/batch_size/a.csv: no such file", "data/batch_size/a.csv: no such file"),
        ("setting 'epochs' of method 'x'", "setting 'epochs' of method 'x'"),
        ("config.json: damaged (batch_size of config cannot be True)",) * 2,
        ("the epochs are over, conflict=1", "the epochs are over, conflict=1"),
    ],
)
def test_arguments_of_python_are_written_as_options(message: str, shown: str) -> None:
    assert in_flags(message, OPTIONS, {"layout", "tags"}) == shown


@pytest.mark.parametrize("text", ["pass ignore=['a\\x', 'b']", "ignore=['\\N']"])
def test_what_only_looks_like_an_argument_stays_as_it_is(text: str) -> None:
    assert in_flags(text, options_of(Train, Config())) == text
