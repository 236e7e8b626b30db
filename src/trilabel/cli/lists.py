"""`trilabel methods`, `components` and `recipes`: lists of what can be chosen, and all about one of them."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Annotated, Any

import tyro

from trilabel.cli.arguments import flag
from trilabel.cli.catalog import Entry, Kind, entries
from trilabel.cli.render import print_entries, print_json
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.plugin_files import reference, use

Chosen = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME]")]


@dataclass(frozen=True, kw_only=True)
class Methods:
    """Lists the methods: what each does, which labels it suits, its cost, and its settings.

    Example: trilabel methods

    All about one: trilabel methods posterior

    Also those of installed packages, with where they come from, and of a file of yours: trilabel methods mine.py:Mine
    """

    name: Chosen = ""
    """Only this method (or FILE.py:CLASS), with an explanation of every setting."""
    json: bool = False
    """Print as JSON."""

    def __call__(self) -> None:
        found = _found("method", use(self.name))
        if self.json:
            return print_json(found[0].record if self.name else [one.record for one in found])
        return print_entries({one.title: one.whole if self.name else one.lines for one in found})


@dataclass(frozen=True, kw_only=True)
class Components:
    """Lists what can be combined with any method: heads, graphs between classes, and ways to relabel between epochs.

    Example: trilabel components

    All about one: trilabel components weldon
    """

    name: Chosen = ""
    """Only this component (or a head of yours, FILE.py:CLASS), with an explanation of every setting."""
    json: bool = False
    """Print as JSON."""

    def __call__(self) -> None:
        found = _found("component", use(self.name))
        if self.json:
            return print_json([one.record for one in found])
        return print_entries({one.title: one.whole if self.name else one.lines for one in found})


@dataclass(frozen=True, kw_only=True)
class Recipes:
    """Lists the recipes: named, complete settings and where they come from.

    Example: trilabel recipes

    What one sets: trilabel recipes fine-tune
    """

    name: Chosen = ""
    """Only this recipe, with all settings that differ from the defaults."""
    json: bool = False
    """Print as JSON, with all settings."""

    def __call__(self) -> None:
        from trilabel.recipes import RECIPES

        _check_name("recipe", self.name, RECIPES)
        found = {name: recipe for name, recipe in RECIPES.items() if self.name in ("", name)}
        if self.json:
            records = {name: recipe().to_json() for name, recipe in found.items()}
            return print_json(records[self.name] if self.name else records)
        if self.name:
            return print_entries({self.name: _recipe_lines(self.name)})
        return print_entries({name: [recipe.__doc__ or ""] for name, recipe in found.items()})


def _found(kind: Kind, chosen: str) -> list[Entry]:
    """All of a kind, or the one that was asked for."""
    known = entries(kind, chosen)
    _check_name(kind, chosen, dict.fromkeys(one.name for one in known))
    return [one for one in known if chosen in ("", one.name)]


def _check_name(kind: str, name: str, names: Iterable[str]) -> None:
    """Answers an unknown name with the nearest ones."""
    if not name or reference(name) or name in (known := list(names)):
        return
    if near := get_close_matches(name, known, 3, 0.4):
        raise TrilabelError(f"no {kind} named {name!r}; did you mean {' or '.join(near)}?")
    raise unknown_name_error(kind, name, known)


def _recipe_lines(name: str) -> list[str]:
    """What a recipe is for, and every setting that it changes, as it is given to `train`."""
    from trilabel.config import SETTINGS_OF, Config
    from trilabel.recipes import RECIPES

    config, default = RECIPES[name](), Config()
    components = {field: component for component, field in SETTINGS_OF.items()}
    lines = []
    for f in fields(Config):
        value = getattr(config, f.name)
        if value == getattr(default, f.name):
            continue
        if f.name in components:
            prefix = "" if components[f.name] == "method" else f"{components[f.name]}."
            lines += [f"--set {prefix}{setting}={_text(given)}" for setting, given in value.items()]
        elif isinstance(value, bool):
            lines.append(flag(f.name) if value else f"--no-{flag(f.name)[2:]}")
        else:
            lines.append(f"{flag(f.name)} {_text(value)}")
    return [RECIPES[name].__doc__ or "", *lines, f"example: trilabel train labels.csv --images photos --recipe {name}"]


def _text(value: Any) -> str:
    """A value as it is written on the command line."""
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
