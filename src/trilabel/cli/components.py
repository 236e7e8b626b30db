"""Commands that list what there is."""

from dataclasses import dataclass, fields
from typing import Any

from trilabel.cli.common import choices, set_words
from trilabel.cli.render import print_entries, print_json


@dataclass(frozen=True, kw_only=True)
class Methods:
    """Lists the methods: what each does, the labels it is for, what it costs, and its settings.

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
                        "settings": {f.name: f.default for f in fields(kind.Settings)},
                    }
                    for name, kind in METHODS.items()
                ]
            )
        entries = {}
        for name, kind in METHODS.items():
            lines = [kind.description, f"labels: {kind.suits}; cost: {kind.cost}", *set_words(choices(kind.Settings))]
            entries[name] = lines + ([f"goes with --head {' or '.join(kind.heads)}"] if kind.heads else [])
        return print_entries(entries)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Lists what goes with any method: heads, graphs between classes, and ways to fill in labels on the way.

    Example: trilabel parts
    """

    json: bool = False
    """Print as JSON."""

    def __call__(self) -> None:
        from trilabel.models import GRAPHS, HEADS
        from trilabel.training.strategies import STRATEGIES, RelabelSettings

        parts: list[tuple[str, str, str, dict[str, Any], dict[str, str]]] = [
            (part, name, kind.description, {f.name: f.default for f in fields(kind.Settings)}, choices(kind.Settings))
            for part, kinds in (("head", HEADS), ("graph", GRAPHS))
            for name, kind in kinds.items()
        ]
        defaults, words = {f.name: f.default for f in fields(RelabelSettings)}, choices(RelabelSettings)
        for name, strategy in STRATEGIES.items():
            own = ["epochs", *([] if strategy.threshold is None else ["threshold"]), *strategy.settings]
            values = {key: strategy.threshold if key == "threshold" else defaults[key] for key in own}
            shown = {key: str(values[key]) if key == "threshold" else words[key] for key in own}
            parts.append(("relabel", name, strategy.what, values, shown))
        if self.json:
            return print_json([{part: name, "what": what, "settings": values} for part, name, what, values, _ in parts])
        return print_entries(
            {f"--{part} {name}": [what, *set_words(shown, f"{part}.")] for part, name, what, _, shown in parts}
        )


@dataclass(frozen=True, kw_only=True)
class Recipes:
    """Lists the recipes: full settings under a name, and where they come from.

    Example: trilabel recipes
    """

    json: bool = False
    """Print as JSON, with all settings."""

    def __call__(self) -> None:
        from trilabel.recipes import RECIPES

        if self.json:
            return print_json({name: recipe().to_json() for name, recipe in RECIPES.items()})
        return print_entries({name: [recipe.__doc__ or ""] for name, recipe in RECIPES.items()})
