"""`trilabel methods`, `components` and `recipes`: lists of what can be chosen."""

from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from trilabel.cli.render import print_entries, print_json, settings_lines
from trilabel.settings import choices_of


@dataclass(frozen=True, kw_only=True)
class Methods:
    """Lists the methods: what each does, which labels it suits, its cost, and its settings.

    Example: trilabel methods
    """

    json: bool = False
    """Print as JSON."""

    def __call__(self) -> None:
        from trilabel.methods import METHODS

        if self.json:
            return print_json(
                [
                    {
                        "method": name,
                        "what": kind.description,
                        "labels": kind.suits,
                        "cost": kind.cost,
                        "heads": list(kind.heads),
                        "settings": _defaults(kind.Settings),
                    }
                    for name, kind in METHODS.items()
                ]
            )
        entries = {}
        for name, kind in METHODS.items():
            lines = [
                kind.description,
                f"labels: {kind.suits}; cost: {kind.cost}",
                *settings_lines(_choices(kind.Settings)),
            ]
            entries[name] = lines + ([f"needs --head {' or '.join(kind.heads)}"] if kind.heads else [])
        return print_entries(entries)


@dataclass(frozen=True, kw_only=True)
class Components:
    """Lists what can be combined with any method: heads, graphs between classes, and ways to relabel between epochs.

    Example: trilabel components
    """

    json: bool = False
    """Print as JSON."""

    def __call__(self) -> None:
        found = [*_model_components(), *_relabelling()]
        if self.json:
            return print_json([{one.kind: one.name, "what": one.what, "settings": one.defaults} for one in found])
        return print_entries(
            {
                f"--{one.kind} {one.name}": [one.what, *settings_lines(one.choices, prefix=f"{one.kind}.")]
                for one in found
            }
        )


@dataclass(frozen=True, kw_only=True)
class Recipes:
    """Lists the recipes: named, complete settings and where they come from.

    Example: trilabel recipes
    """

    json: bool = False
    """Print as JSON, with all settings."""

    def __call__(self) -> None:
        from trilabel.recipes import RECIPES

        if self.json:
            return print_json({name: recipe().to_json() for name, recipe in RECIPES.items()})
        return print_entries({name: [recipe.__doc__ or ""] for name, recipe in RECIPES.items()})


@dataclass(frozen=True)
class _Component:
    kind: str  # head, graph or relabel
    name: str
    what: str
    defaults: dict[str, Any]  # of its settings
    choices: dict[str, str]


def _model_components() -> list[_Component]:
    from trilabel.models import GRAPHS, HEADS

    return [
        _Component(kind, name, one.description, _defaults(one.Settings), _choices(one.Settings))
        for kind, named in (("head", HEADS), ("graph", GRAPHS))
        for name, one in named.items()
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
