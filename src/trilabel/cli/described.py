"""What `trilabel methods` and `components` say about each, read from the classes themselves; imports torch."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any, get_type_hints

from trilabel.cli.catalog import Entry
from trilabel.cli.options import described_fields, explanation
from trilabel.cli.render import settings_lines
from trilabel.methods import METHODS
from trilabel.models import GRAPHS, HEADS
from trilabel.plugin_files import reference
from trilabel.settings import choices_of
from trilabel.training.strategies import STRATEGIES, RelabelSettings

_OURS = "trilabel"  # where most components come from


def methods(chosen: str = "") -> list[Entry]:
    """All methods; of a file, that one alone."""
    found = [(chosen, METHODS.find(chosen))] if reference(chosen) else METHODS.usable()
    return [_method(name, kind, str(METHODS.origin(name) or _OURS)) for name, kind in found]


def components(chosen: str = "") -> list[Entry]:
    """Heads (of a file, that one alone), graphs and ways to relabel."""
    heads = [(chosen, HEADS.find(chosen))] if reference(chosen) else HEADS.usable()
    return [
        *(_part("head", name, head, str(HEADS.origin(name) or _OURS)) for name, head in heads),
        *(_part("graph", name, graph) for name, graph in GRAPHS.items()),
        *_relabelling(),
    ]


def _method(name: str, kind: Any, origin: str) -> Entry:
    about = {"method": name, "what": kind.description, "labels": kind.suits, "cost": kind.cost, "from": origin}
    record = {**about, "heads": list(kind.heads), "settings": _defaults(kind.Settings)}
    choices, head = _choices(kind.Settings), f"--head {' or '.join(kind.heads)}" if kind.heads else ""
    lines = [kind.description, f"labels: {kind.suits}; cost: {kind.cost}"]
    needs = [f"needs {head}"] if head else []
    example = f"trilabel train labels.csv --images photos --method {name}"
    example += f" --head {kind.heads[0]}" if kind.heads else ""
    whole = [*lines, *needs, *_explained(kind.Settings, choices), f"example: {example}{_example_setting(choices)}"]
    return Entry(
        name, name, record, [*lines, *settings_lines(choices), *needs, *_from(origin)], [*whole, *_from(origin)]
    )


def _part(kind: str, name: str, one: Any, origin: str = _OURS) -> Entry:
    return _component(
        kind, name, one.description, one.Settings, _defaults(one.Settings), _choices(one.Settings), origin
    )


def _relabelling() -> Iterator[Entry]:
    """The strategies of relabelling; each has some of the settings and its own threshold."""
    for name, strategy in STRATEGIES.items():
        own = ["epochs", *([] if strategy.threshold is None else ["threshold"]), "accumulate", *strategy.settings]
        defaults = {**_defaults(RelabelSettings), "threshold": strategy.threshold}
        choices = {**_choices(RelabelSettings), "threshold": str(strategy.threshold)}
        own_defaults, own_choices = ({setting: all_of[setting] for setting in own} for all_of in (defaults, choices))
        yield _component("relabel", name, strategy.what, RelabelSettings, own_defaults, own_choices, _OURS)


def _component(
    kind: str,
    name: str,
    what: str,
    settings: type[Any],
    defaults: Mapping[str, Any],
    choices: Mapping[str, str],
    origin: str,
) -> Entry:
    prefix = f"{kind}."
    example = f"trilabel train labels.csv --images photos --{kind} {name}{_example_setting(choices, prefix)}"
    return Entry(
        name,
        f"--{kind} {name}",
        {kind: name, "what": what, "from": origin, "settings": dict(defaults)},
        [what, *settings_lines(choices, prefix=prefix), *_from(origin)],
        [what, *_explained(settings, choices, prefix), f"example: {example}", *_from(origin)],
    )


def _from(origin: str) -> list[str]:
    """A line on where a component came from, unless it is ours."""
    return [] if origin == _OURS else [f"from: {origin}"]


def _explained(settings: type[Any], choices: Mapping[str, str], prefix: str = "") -> list[str]:
    """A line for each setting: how it is given, its default first, and what it does."""
    texts = {field.name: explanation(field) for field in described_fields(settings)}
    return [f"--set {prefix}{name}={choice}: {texts[name]}" for name, choice in choices.items()]


def _example_setting(choices: Mapping[str, str], prefix: str = "") -> str:
    """The first setting that has a value to show, for an example."""
    shown = {name: choice.partition("|")[0] for name, choice in choices.items() if choice not in ("none", "…", "")}
    return "".join(f" --set {prefix}{name}={choice}" for name, choice in list(shown.items())[:1])


def _defaults(settings: type[Any]) -> dict[str, Any]:
    return {f.name: f.default for f in fields(settings)}


def _choices(settings: type[Any]) -> dict[str, str]:
    hints = get_type_hints(settings)
    return {f.name: choices_of(hints[f.name], f.default) for f in fields(settings)}


def written() -> dict[str, list[dict[str, Any]]]:
    """Our own ones, as catalog.json has them."""
    ours = {"method": methods(), "component": components()}
    return {kind: [asdict(one) for one in found if one.record["from"] == _OURS] for kind, found in ours.items()}
