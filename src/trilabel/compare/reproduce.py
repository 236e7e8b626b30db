"""The commands that reproduce a run."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from trilabel.config import SETTINGS_OF, Config
from trilabel.printable import command_line
from trilabel.recipes import resolve

_PREFIX = {settings: "" if part == "method" else f"{part}." for part, settings in SETTINGS_OF.items()}  # of --set
_START_RECIPES = ("fine-tune", "small")  # they name no method, so no setting of a method has to be undone


def train_command(source: Mapping[str, Any], config: Config, out: str) -> str:
    """`trilabel train …` with every setting that differs from the recipe it starts from.

    source: "data" and the options for reading it; "hide" and "hide_seed" if labels were hidden.
    """
    arguments = ["trilabel", "train", str(source.get("data", "DATA"))]
    for name, value in source.items():
        if name != "data" and value is not None:
            arguments += _option(name, value)
    recipe, differing = min(
        ((start, _differing(config, start)) for start in _START_RECIPES), key=lambda pair: len(pair[1])
    )
    arguments += ["--recipe", recipe]
    # Otherwise a user's default weights would be taken, and the backbone that the weights are for.
    said = "backbone" if config.weights is not None else "weights" if source.get("data") != "scenes" else None
    for name in differing if said is None else dict.fromkeys([*differing, said]):
        arguments += _option(name, getattr(config, name))
    sets = [
        f"{prefix}{setting}={_setting_text(given)}"
        for name, prefix in _PREFIX.items()
        for setting, given in getattr(config, name).items()
    ]
    return command_line(*arguments, *(["--set", *sets] if sets else []), "--out", out)


def _differing(config: Config, recipe: str) -> list[str]:
    """The fields in which a configuration differs from a recipe, settings of parts aside."""
    base = resolve(recipe)
    names = (f.name for f in fields(Config) if f.name not in _PREFIX)
    return [name for name in names if getattr(config, name) != getattr(base, name)]


def evaluate_command(out: str, split: str, pointing: bool, broken: str = "stop", trust: Sequence[str] = ()) -> str:
    """`trilabel evaluate …` for that run; trust: the option for files that its head or data need."""
    options = [*(["--pointing"] if pointing else []), *(["--broken", broken] if broken != "stop" else [])]
    how = ("--threshold", "0.5", "--no-calibrated")
    return command_line("trilabel", "evaluate", out, "--split", split, *how, *options, *trust)


def _option(name: str, value: Any) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    values = value if isinstance(value, list | tuple) else [value]
    return [f"--{flag}", *("None" if each is None else str(each) for each in values)]


def _setting_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_setting_text, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
