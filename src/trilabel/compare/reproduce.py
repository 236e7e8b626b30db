"""A run as the command that makes it again."""

import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from trilabel.config import SETTINGS_OF, Config
from trilabel.recipes import resolve

_PREFIX = {settings: "" if part == "method" else f"{part}." for part, settings in SETTINGS_OF.items()}  # of --set
_STARTS = ("fine-tune", "small")  # they name no method, so no setting of one has to be taken back


def train_command(source: Mapping[str, Any], config: Config, out: str) -> str:
    """`trilabel train …` with everything that differs from the recipe it starts from.

    source: "data" and the options of reading, and "hide" and "hide_seed" where labels were hidden.
    """
    words = ["trilabel", "train", str(source.get("data", "DATA"))]
    for name, value in source.items():
        if name != "data" and value is not None:
            words += _option(name, value)
    recipe, others = min(((start, _others(config, start)) for start in _STARTS), key=lambda pair: len(pair[1]))
    words += ["--recipe", recipe]
    for name in others:
        words += _option(name, getattr(config, name))
    sets = [
        f"{prefix}{setting}={_text(given)}"
        for name, prefix in _PREFIX.items()
        for setting, given in getattr(config, name).items()
    ]
    return shlex.join([*words, *(["--set", *sets] if sets else []), "--out", out])


def _others(config: Config, recipe: str) -> list[str]:
    """The fields, settings of parts aside, in which a configuration differs from a recipe."""
    base = resolve(recipe)
    names = (f.name for f in fields(Config) if f.name not in _PREFIX)
    return [name for name in names if getattr(config, name) != getattr(base, name)]


def evaluate_command(out: str, split: str, pointing: bool, broken: str = "stop") -> str:
    """`trilabel evaluate …` of that run."""
    options = [*(["--pointing"] if pointing else []), *(["--broken", broken] if broken != "stop" else [])]
    return shlex.join(["trilabel", "evaluate", out, "--split", split, *options])


def _option(name: str, value: Any) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    several = value if isinstance(value, list | tuple) else [value]
    return [f"--{flag}", *("None" if each is None else str(each) for each in several)]


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
