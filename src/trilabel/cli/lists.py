"""`trilabel methods`, `components` and `recipes`: lists of what can be chosen, and all about one of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Annotated, Any, get_type_hints

import tyro

from trilabel.cli.arguments import flag
from trilabel.cli.options import described_fields, explanation
from trilabel.cli.render import print_entries, print_json, settings_lines
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.plugin_files import reference, use
from trilabel.settings import choices_of

_OURS = "trilabel"  # where most components come from
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
        from trilabel.methods import METHODS

        chosen = use(self.name)
        _check_name("method", chosen, METHODS)
        found = {chosen: METHODS.find(chosen)} if chosen else dict(METHODS.usable())
        origins = {name: str(METHODS.origin(name) or _OURS) for name in found}
        if self.json:
            records = [_method_record(name, kind, origins[name]) for name, kind in found.items()]
            return print_json(records[0] if self.name else records)
        lines = {name: _method_lines(name, kind, bool(self.name)) for name, kind in found.items()}
        return print_entries({name: [*lines[name], *_from(origins[name])] for name in found})


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
        chosen = use(self.name)
        components = [*_model_components(chosen), *_relabelling()]
        _check_name("component", chosen, dict.fromkeys(one.name for one in components))
        found = [one for one in components if chosen in ("", one.name)]
        if self.json:
            return print_json(
                [{one.kind: one.name, "what": one.what, "from": one.origin, "settings": one.defaults} for one in found]
            )
        return print_entries({f"--{one.kind} {one.name}": _component_lines(one, bool(self.name)) for one in found})


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


def _check_name(kind: str, name: str, names: Iterable[str]) -> None:
    """Answers an unknown name with the nearest ones."""
    if not name or reference(name) or name in (known := list(names)):
        return
    if near := get_close_matches(name, known, 3, 0.4):
        raise TrilabelError(f"no {kind} named {name!r}; did you mean {' or '.join(near)}?")
    raise unknown_name_error(kind, name, known)


def _from(origin: str) -> list[str]:
    """A line on where a component came from, unless it is ours."""
    return [] if origin == _OURS else [f"from: {origin}"]


def _method_record(name: str, kind: Any, origin: str) -> dict[str, Any]:
    about = {"method": name, "what": kind.description, "labels": kind.suits, "cost": kind.cost, "from": origin}
    return {**about, "heads": list(kind.heads), "settings": _defaults(kind.Settings)}


def _method_lines(name: str, kind: Any, whole: bool) -> list[str]:
    lines = [kind.description, f"labels: {kind.suits}; cost: {kind.cost}"]
    head = f"--head {' or '.join(kind.heads)}" if kind.heads else ""
    choices = _choices(kind.Settings)
    if not whole:
        return [*lines, *settings_lines(choices), *([f"needs {head}"] if head else [])]
    lines += [f"needs {head}"] if head else []
    lines += _settings_explained(kind.Settings, choices)
    example = f"trilabel train labels.csv --images photos --method {name}"
    example += f" --head {kind.heads[0]}" if kind.heads else ""
    return [*lines, f"example: {example}{_example_setting(choices)}"]


def _component_lines(one: "_Component", whole: bool) -> list[str]:
    if not whole:
        return [one.what, *settings_lines(one.choices, prefix=f"{one.kind}."), *_from(one.origin)]
    example = f"trilabel train labels.csv --images photos --{one.kind} {one.name}"
    settings = _settings_explained(one.settings, one.choices, f"{one.kind}.")
    setting = _example_setting(one.choices, f"{one.kind}.")
    return [one.what, *settings, f"example: {example}{setting}", *_from(one.origin)]


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


def _settings_explained(settings: type[Any], choices: Mapping[str, str], prefix: str = "") -> list[str]:
    """A line for each setting: how it is given, its default first, and what it does."""
    texts = {field.name: explanation(field) for field in described_fields(settings)}
    return [f"--set {prefix}{name}={choice}: {texts[name]}" for name, choice in choices.items()]


def _example_setting(choices: Mapping[str, str], prefix: str = "") -> str:
    """The first setting that has a value to show, for an example."""
    shown = {name: choice.partition("|")[0] for name, choice in choices.items() if choice not in ("none", "…", "")}
    return "".join(f" --set {prefix}{name}={choice}" for name, choice in list(shown.items())[:1])


@dataclass(frozen=True)
class _Component:
    kind: str  # head, graph or relabel
    name: str
    what: str
    settings: type[Any]  # the dataclass
    defaults: dict[str, Any]  # of its settings
    choices: dict[str, str]
    origin: str = _OURS


def _model_components(chosen: str) -> list[_Component]:
    """Heads and graphs; chosen: if it names a head in a file, that one alone."""
    from trilabel.models import GRAPHS, HEADS

    def component(kind: str, name: str, one: Any) -> _Component:
        """All about one of them."""
        origin = str(HEADS.origin(name) or _OURS) if kind == "head" else _OURS
        settings = one.Settings
        return _Component(kind, name, one.description, settings, _defaults(settings), _choices(settings), origin)

    heads = [(chosen, HEADS.find(chosen))] if reference(chosen) else HEADS.usable()
    return [
        *(component("head", name, head) for name, head in heads),
        *(component("graph", name, graph) for name, graph in GRAPHS.items()),
    ]


def _relabelling() -> list[_Component]:
    """The strategies of relabelling; each has some of the settings and its own threshold."""
    from trilabel.training.strategies import STRATEGIES, RelabelSettings

    found = []
    for name, strategy in STRATEGIES.items():
        own = ["epochs", *([] if strategy.threshold is None else ["threshold"]), "accumulate", *strategy.settings]
        defaults = {**_defaults(RelabelSettings), "threshold": strategy.threshold}
        choices = {**_choices(RelabelSettings), "threshold": str(strategy.threshold)}
        found.append(
            _Component(
                "relabel",
                name,
                strategy.what,
                RelabelSettings,
                {setting: defaults[setting] for setting in own},
                {setting: choices[setting] for setting in own},
            )
        )
    return found


def _defaults(settings: type[Any]) -> dict[str, Any]:
    return {f.name: f.default for f in fields(settings)}


def _choices(settings: type[Any]) -> dict[str, str]:
    hints = get_type_hints(settings)
    return {f.name: choices_of(hints[f.name], f.default) for f in fields(settings)}
