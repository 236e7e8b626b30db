"""What a comparison compares: rows (methods) × label settings × seeds, and what is searched first."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from trilabel.compare.grids import Grid, published_grid
from trilabel.config import SETTINGS_OF, Config
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.recipes import resolve
from trilabel.settings import read_as

ALL = "all"  # the label setting that hides nothing
# What makes a method what it is; the rest of a recipe is how it is trained.
PARTS = (*SETTINGS_OF, *SETTINGS_OF.values(), "augment", "stages", "linear_epochs")
_PUBLISHED = "published"
_FIELDS = {f.name: f for f in fields(Config)}
_KINDS = get_type_hints(Config)
_OF_A_ROW = ("recipe", "as_published", "labels", "seeds", "search")
_WORDS = {str: "text", int: "a whole number", bool: "true or false", dict: "a table"}


@dataclass(frozen=True)
class Row:
    """A method as the table will show it."""

    name: str
    config: Config
    recipe: str = ""  # whose published figures stand beside it
    labels: tuple[str, ...] | None = None  # only in these settings
    seeds: tuple[int, ...] | None = None  # other seeds than the plan's
    grid: Grid | None = None  # what is searched for it; None: what is for all


@dataclass(frozen=True)
class Plan:
    """All of a comparison. Labels are hidden once: seeds change the training, not what is known."""

    rows: tuple[Row, ...]
    labels: tuple[str, ...] = (ALL,)
    hide_seed: int | None = None
    seeds: tuple[int, ...] = (0,)
    search: Mapping[str, Any] = field(default_factory=dict)  # settings of search runs alone, such as fewer epochs
    search_labels: str | None = None  # search in this setting alone, and choose the same for all
    budget: int = 12  # search runs a row and label setting, at most

    def cells(self) -> Iterator[tuple[Row, str, int]]:
        """Every (row, labels, seed) to be trained and scored, without the search."""
        for row in self.rows:
            for labels in self.labels_of(row):
                for seed in dict.fromkeys(self.seeds if row.seeds is None else row.seeds):
                    yield row, labels, seed

    def labels_of(self, row: Row) -> tuple[str, ...]:
        """The settings in which a row is trained."""
        return tuple(dict.fromkeys(self.labels if row.labels is None else row.labels))

    def searched_in(self, row: Row) -> tuple[str, ...]:
        """The settings in which it is searched for a row."""
        return self.labels_of(row) if self.search_labels is None else (self.search_labels,)

    def trials(self, row: Row) -> list[Mapping[str, Any]]:
        """What the search tries for a row: the whole grid, or as much of it as the budget allows, drawn at random.

        Nothing where the grid leaves no choice.
        """
        grid = row.grid or {}
        points: list[Mapping[str, Any]] = [
            dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
        ]
        if len(points) <= self.budget:
            return points if len(points) > 1 else []
        drawn = np.random.default_rng(0).permutation(len(points))[: self.budget]
        return [points[place] for place in sorted(drawn.tolist())]


def changed(config: Config, values: Mapping[str, Any], where: str) -> Config:
    """The configuration with fields replaced; "settings.NAME" replaces one setting of the method, and so on.

    Settings stay as long as their part does: another method starts from none, as another head does.
    """
    new: dict[str, Any] = {}
    for part, settings in SETTINGS_OF.items():
        if values.get(part, getattr(config, part)) != getattr(config, part):
            new[settings] = {}
    for name, value in values.items():
        field_name, dot, own = name.partition(".")
        if field_name not in _FIELDS:
            raise TrilabelError(f"{where}: {unknown_name_error('setting of a run', field_name, _FIELDS)}")
        if field_name in SETTINGS_OF.values():
            given = {own: value} if dot else value
            if not isinstance(given, Mapping):
                raise TrilabelError(f"{where}: {field_name} is a table of names and values, not {value!r}")
            new[field_name] = {**new.get(field_name, getattr(config, field_name)), **given}
        elif dot:
            raise TrilabelError(f"{where}: {name}: only {', '.join(SETTINGS_OF.values())} have names behind a dot")
        else:
            new[field_name] = read_as(_KINDS[field_name], value, f"{where}: {field_name}")
    try:
        return replace(config, **new)
    except TrilabelError as error:
        raise TrilabelError(f"{where}: {error}") from None


def row_of(recipe: str, base: Config, name: str = "", as_published: bool = False, **options: Any) -> Row:
    """A row with the method of a recipe, trained as `base` is; `as_published`: trained as the recipe says."""
    own = resolve(recipe)
    config = own if as_published else replace(base, **{part: getattr(own, part) for part in PARTS})
    return Row(name or recipe, config, recipe, **options)


def with_grids(plan: Plan, grid: Mapping[str, Any] | str, where: str = "search") -> Plan:
    """The plan with something to search for rows that do not say: a grid, or "published", each row's own paper's."""
    rows = (
        replace(row, grid=_grid(grid, row.recipe, row.config, where)) if row.grid is None else row for row in plan.rows
    )
    return replace(plan, rows=tuple(rows))


def _grid(values: Mapping[str, Any] | str, recipe: str, config: Config, where: str) -> dict[str, tuple[Any, ...]]:
    if values == _PUBLISHED:
        return dict(published_grid(recipe))
    if not isinstance(values, Mapping):
        raise TrilabelError(f'{where}: a table of lists, or "{_PUBLISHED}"; not {values!r}')
    for name, several in values.items():
        if isinstance(several, Mapping):  # TOML reads a dot in a name as a table in a table
            raise TrilabelError(f'{where}: a name with a dot needs quotes: "{name}.{next(iter(several), "NAME")}"')
        if not isinstance(several, Sequence) or isinstance(several, str) or not several:
            raise TrilabelError(f"{where}: {name} is a list of values to try, not {several!r}")
        for value in several:
            changed(config, {name: value}, where)
    return {name: tuple(several) for name, several in values.items()}


def read_plan(file: str | Path, base: Config) -> Plan:
    """The plan in a TOML file; what it leaves open is as in `base`.

    labels, seeds, hide_seed: as in `Plan`. [train]: settings of every run. [rows.NAME]: recipe (its method),
    as_published (its training too), labels, seeds, settings of its own, search (a grid in the place of that for all).
    [search]: grid (a table of lists, or "published"), budget, labels (search in this setting alone), and settings of
    search runs alone.
    """
    file = Path(file)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TrilabelError(f"{file}: no such file") from None
    except OSError as error:
        raise TrilabelError(f"{file}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TrilabelError(f"{file}: not TOML ({error})") from None
    where = str(file)
    _refuse_others(content, ("labels", "seeds", "hide_seed", "train", "rows", "search"), where)
    search = dict(_entry(content, "search", dict, where, {}))
    grid, budget = search.pop("grid", {}), _entry(search, "budget", int, f"{where}, search", Plan.budget)
    if budget < 1:
        raise TrilabelError(f"{where}, search: budget is 1 or more, not {budget}")
    only = _entry(search, "labels", str, f"{where}, search")
    search = {name: value for name, value in search.items() if name not in ("budget", "labels")}
    changed(base, search, f"{where}, search")
    common, about = _entry(content, "train", dict, where, {}), _entry(content, "rows", dict, where, {})
    if not about:
        raise TrilabelError(f'{where}: no rows to compare; write [rows.NAME] and recipe = "…"')
    base = changed(base, common, f"{where}, train")
    rows = tuple(_read_row(where, name, _entry(about, name, dict, f"{where}, rows"), common, base) for name in about)
    plan = Plan(
        rows,
        _several(content, "labels", str, where) or (ALL,),
        _entry(content, "hide_seed", int, where),
        _several(content, "seeds", int, where) or (0,),
        search,
        only,
        budget,
    )
    return with_grids(plan, grid, f"{where}, search.grid")


def _read_row(file: str, name: str, about: Mapping[str, Any], common: Mapping[str, Any], base: Config) -> Row:
    where = f"{file}, rows.{name}"
    own = {key: value for key, value in about.items() if key not in _OF_A_ROW}
    recipe, as_published = _entry(about, "recipe", str, where, ""), _entry(about, "as_published", bool, where, False)
    try:
        row = row_of(recipe, base, name, as_published) if recipe else Row(name, base)
    except TrilabelError as error:
        raise TrilabelError(f"{where}: {error}") from None
    config = changed(changed(row.config, common, where), own, where)
    grid = _grid(about["search"], recipe, config, f"{where}, search") if "search" in about else None
    labels, seeds = _several(about, "labels", str, where), _several(about, "seeds", int, where)
    return replace(row, config=config, labels=labels, seeds=seeds, grid=grid)


def _entry(about: Mapping[str, Any], key: str, kind: type[Any], where: str, default: Any = None) -> Any:
    """An entry of a table, which is of a kind; the default where there is none."""
    if key not in about:
        return default
    if type(about[key]) is not kind:
        raise TrilabelError(f"{where}: {key} is {_WORDS[kind]}, not {about[key]!r}")
    return about[key]


def _several(about: Mapping[str, Any], key: str, kind: type[Any], where: str) -> tuple[Any, ...] | None:
    """An entry that is a list of a kind, with something in it; None where there is none."""
    if key not in about:
        return None
    values = about[key]
    if type(values) is not list or not values or any(type(value) is not kind for value in values):
        raise TrilabelError(f"{where}: {key} is a list, of {_WORDS[kind]} each, not {values!r}")
    return tuple(values)


def _refuse_others(content: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in content:
        if name not in known:
            raise TrilabelError(f"{where}: {unknown_name_error('entry', name, known)}")
