"""The commands of a cell, read back by the command line, give the same run."""

import shlex
from dataclasses import fields, replace
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.cli.main import parse
from trilabel.compare.reproduce import evaluate_command, train_command
from trilabel.config import _AT_MOST, Config
from trilabel.methods import METHODS
from trilabel.models import GRAPHS, HEADS
from trilabel.recipes import RECIPES, resolve
from trilabel.settings import settings_of
from trilabel.training.strategies import RelabelSettings

SETTINGS = {"settings": "method", "head_settings": "head", "graph_settings": "graph", "relabel_settings": "relabel"}


def read_back(command):
    """(what `trilabel train` was told, the configuration that it makes of it)."""
    program, name, *words = shlex.split(command)
    assert (program, name) == ("trilabel", "train")
    told = parse("train", words)
    return told, told.chosen_config()


def filled(config):
    """The settings of each part as the part will have them, whether they came as text or not."""
    kinds = {
        "method": METHODS[config.method].Settings if config.method != "auto" else None,
        "head": HEADS[config.head].Settings,
        "graph": GRAPHS[config.graph].Settings if config.graph != "none" else None,
        "relabel": RelabelSettings if config.relabel != "none" else None,
    }
    return {
        name: settings_of(kinds[part], getattr(config, name), part) if kinds[part] else dict(getattr(config, name))
        for name, part in SETTINGS.items()
    }


def assert_same(one, other):
    for f in fields(Config):
        if f.name not in SETTINGS:
            assert getattr(one, f.name) == getattr(other, f.name), f.name
    assert filled(one) == filled(other)
    for name in SETTINGS:
        assert list(getattr(one, name)) == list(getattr(other, name)), "nothing is added or lost"


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_comes_back(recipe):
    config = resolve(recipe)
    told, again = read_back(train_command({"data": "scenes", "hide": "keep-share=0.1"}, config, "out"))
    assert_same(config, again)
    assert (told.data, told.hide, told.hide_seed, told.out) == ("scenes", "keep-share=0.1", None, Path("out"))


def test_the_command_says_what_differs_and_no_more():
    command = train_command({"data": "scenes"}, replace(resolve("small"), seed=3, flip=False), "out")
    assert command == "trilabel train scenes --recipe small --no-flip --seed 3 --out out"
    command = train_command({"data": "scenes"}, replace(resolve("fine-tune"), image_size=None), "out")
    assert command == "trilabel train scenes --recipe fine-tune --image-size None --out out"


def test_the_command_does_not_depend_on_what_weights_are_the_default():
    command = train_command({"data": "labels.csv"}, resolve("fine-tune"), "out")
    assert command == "trilabel train labels.csv --recipe fine-tune --weights None --out out"
    command = train_command({"data": "labels.csv"}, replace(resolve("fine-tune"), weights="hub"), "out")
    assert command == "trilabel train labels.csv --recipe fine-tune --weights hub --backbone resnet50 --out out"


# What cannot be made up at random: a value of another kind, or a part that must go with its settings.
FIXED = {"method", "head", "graph", "relabel", *SETTINGS, "keep_head"}
words = st.text("ab 'é\"$\\=-.", min_size=1, max_size=6).map(lambda text: f"x{text}")


def values_of(name, kind):
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) is tuple:
        return st.lists(words, max_size=3).map(tuple)
    kinds = get_args(kind) or (kind,)
    whole = st.integers(1, 10**6)
    drawn = {int: whole, float: st.floats(1e-30, 1e30), bool: st.booleans(), str: words}
    limited = {name: st.integers(1, most) for name, most in _AT_MOST.items()}
    ranges = limited | {"crop": st.floats(0.01, 1), "erase": st.floats(0, 1), "ema": st.floats(0, 0.999)}
    strategy = ranges.get(name, drawn[kinds[0]])
    return strategy | st.none() if type(None) in kinds else strategy


HINTS = get_type_hints(Config)
changes = st.fixed_dictionaries(
    {}, optional={name: values_of(name, kind) for name, kind in HINTS.items() if name not in FIXED}
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(RECIPES)),
    changes,
    words,
    words,
    st.none() | st.tuples(st.just("noisy=0.1"), st.integers(0, 9)),
)
def test_changed_configurations_come_back(recipe, changes, data, out, hide):
    config = replace(resolve(recipe), **changes)
    source = {"data": data} | (dict(zip(("hide", "hide_seed"), hide, strict=True)) if hide else {})
    told, again = read_back(train_command(source, config, out))
    assert_same(config, again)
    assert (told.data, told.out) == (data, Path(out))
    assert (told.hide, told.hide_seed) == (hide or (None, None))


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("large-loss", {"mode": "correct", "delta": 0.5, "start": None}),
        ("large-loss", {"delta": "0.5", "start": "1.5"}),  # as a search from the command line has them
        ("known-only", {"normalize": "share", "gamma": -1.0, "value": 50}),
        ("assume-negative", {"weight": None, "smoothing": 0.1}),
    ],
)
def test_settings_of_a_method_come_back(method, given):
    config = Config(method=method, settings=given)
    assert_same(config, read_back(train_command({}, config, "out"))[1])


def test_settings_of_other_parts_come_back(tmp_path):
    runs = [str(tmp_path / "a b"), str(tmp_path / "c")]
    config = Config(
        method="imcl",
        settings={"graph": "identity", "balance": True},
        head="saliency",
        head_settings={"alpha": 0.1, "k": 3},
        graph="gnn",
        relabel="ensemble",
        relabel_settings={"runs": runs, "epochs": (2, 3)},
    )
    assert_same(config, read_back(train_command({}, config, "out"))[1])


def test_how_data_is_read_comes_back():
    source = {
        "data": 'it\'s my "data" here/labels.csv',
        "format": "csv",
        "read": ["unlisted=absent", "name=a b"],
        "images": "/photos and more",
        "splits": ("val=0.2", "test=10"),
        "missing": "drop",
        "ignore": ("note", "a column"),
        "delimiter": ";",
        "year": 2012,
        "hide": "single-positive=1,1",
        "hide_seed": 7,
    }
    told, _ = read_back(train_command(source, Config(), "runs/a b"))
    options = told.reading.chosen()
    assert (told.data, told.hide, told.hide_seed) == (source["data"], "single-positive=1,1", 7)
    for name in ("format", "images", "missing", "delimiter", "year"):
        assert options[name] == source[name]
    for name in ("read", "splits", "ignore"):
        assert list(options[name]) == list(source[name])
    assert told.out == Path("runs/a b")


def test_scoring_comes_back():
    for pointing in (False, True):
        for broken in ("stop", "skip"):
            _, name, *words = shlex.split(evaluate_command("runs/a b", "val", pointing, broken))
            told = parse(name, words)
            assert (str(told.run), told.split) == ("runs/a b", "val")
            assert (told.pointing, told.broken) == (pointing, broken)
