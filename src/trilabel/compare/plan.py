"""What a comparison compares: rows (methods) × label settings × seeds, and what is searched first."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from trilabel.compare.grids import Grid, published_grid
from trilabel.config import Config, read_as
from trilabel.errors import TrilabelError, no_such
from trilabel.recipes import resolve

ALL = "all"  # the label setting that hides nothing
# What makes a method what it is; the rest of a recipe is how it is trained.
PARTS = (
    *("method", "settings", "head", "head_settings", "graph", "graph_settings"),
    *("relabel", "relabel_settings", "augment", "plan", "linear_epochs"),
)
_PUBLISHED = "published"
_FIELDS = {f.name: f for f in fields(Config)}
_KINDS = get_type_hints(Config)
_OF_A_ROW = ("recipe", "as_published", "labels", "seeds", "search")


@dataclass(frozen=True)
class Row:
    """A method as the table will show it."""

    name: str
    config: Config
    recipe: str = ""  # whose published figures stand beside it
    labels: tuple[str, ...] | None = None  # only in these settings
    seeds: tuple[int, ...] | None = None  # other seeds than the plan's
    grid: Grid = field(default_factory=dict)  # what is searched for it


@dataclass(frozen=True)
class Plan:
    """All of a comparison. Labels are hidden once: seeds change the training, not what is known."""

    rows: tuple[Row, ...]
    labels: tuple[str, ...] = (ALL,)
    hide_seed: int | None = None
    seeds: tuple[int, ...] = (0,)
    search: Mapping[str, Any] = field(default_factory=dict)  # settings of search runs alone, such as fewer epochs
    budget: int = 12  # search runs a row and label setting, at most

    def cells(self) -> Iterator[tuple[Row, str, int]]:
        """Every (row, labels, seed) to be trained and scored, without the search."""
        for row in self.rows:
            for labels in self.labels_of(row):
                for seed in self.seeds if row.seeds is None else row.seeds:
                    yield row, labels, seed

    def labels_of(self, row: Row) -> tuple[str, ...]:
        """The settings in which a row is trained."""
        return self.labels if row.labels is None else row.labels

    def trials(self, row: Row) -> list[Mapping[str, Any]]:
        """What the search tries for a row: the whole grid, or as much of it as the budget allows, drawn at random."""
        points: list[Mapping[str, Any]] = [
            dict(zip(row.grid, values, strict=True)) for values in itertools.product(*row.grid.values())
        ]
        if len(points) <= self.budget:
            return points if len(points) > 1 else []
        drawn = np.random.default_rng(0).permutation(len(points))[: self.budget]
        return [points[place] for place in sorted(drawn.tolist())]


def changed(config: Config, values: Mapping[str, Any], where: str) -> Config:
    """The configuration with fields replaced; "settings.NAME" replaces one setting of the method, and so on."""
    new: dict[str, Any] = {}
    for name, value in values.items():
        part, dot, own = name.partition(".")
        if part not in _FIELDS:
            raise TrilabelError(f"{where}: {no_such('setting of a run', part, _FIELDS)}")
        if dot:
            new.setdefault(part, dict(getattr(config, part)))[own] = value
        elif isinstance(value, Mapping) and part in PARTS:
            new[part] = dict(value)
        else:
            new[part] = read_as(_FIELDS[part].default, _KINDS[part], value, f"{where}: {part}")
    try:
        return replace(config, **new)
    except TrilabelError as error:
        raise TrilabelError(f"{where}: {error}") from None


def row_of(recipe: str, base: Config, name: str = "", as_published: bool = False, **options: Any) -> Row:
    """A row with the method of a recipe, trained as `base` is; `as_published`: trained as the recipe says."""
    own = resolve(recipe)
    config = own if as_published else replace(base, **{part: getattr(own, part) for part in PARTS})
    return Row(name or recipe, config, recipe, **options)


def with_grids(plan: Plan, grid: Mapping[str, Any] | str) -> Plan:
    """The plan with something to search: a grid for all rows, or "published", each row's own paper's."""
    rows = (replace(row, grid=_grid(grid, row.recipe, "search") | dict(row.grid)) for row in plan.rows)
    return replace(plan, rows=tuple(rows))


def _grid(values: Mapping[str, Any] | str, recipe: str, where: str) -> dict[str, tuple[Any, ...]]:
    if values == _PUBLISHED:
        return dict(published_grid(recipe))
    if not isinstance(values, Mapping):
        raise TrilabelError(f'{where}: a table of lists, or "{_PUBLISHED}"; not {values!r}')
    for name, several in values.items():
        if not isinstance(several, Sequence) or isinstance(several, str) or not several:
            raise TrilabelError(f"{where}: {name} is a list of values to try, not {several!r}")
    return {name: tuple(several) for name, several in values.items()}


def read_plan(file: str | Path, base: Config) -> Plan:
    """The plan in a TOML file; what it leaves open is as in `base`.

    labels, seeds, hide_seed: as in `Plan`. [train]: settings of every run. [rows.NAME]: recipe (its method),
    as_published (its training too), labels, seeds, settings of its own, search. [search]: grid (a table of lists, or
    "published"), budget, and settings of search runs alone.
    """
    file = Path(file)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TrilabelError(f"{file}: no such file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TrilabelError(f"{file}: not TOML ({error})") from None
    _refuse_others(content, ("labels", "seeds", "hide_seed", "train", "rows", "search"), f"{file}")
    if not content.get("rows"):
        raise TrilabelError(f'{file}: no rows to compare; write [rows.NAME] and recipe = "…"')
    search = dict(content.get("search", {}))
    grid, budget = search.pop("grid", {}), search.pop("budget", Plan.budget)
    rows = tuple(
        _read_row(f"{file}, rows.{name}", name, about, content, base) for name, about in content["rows"].items()
    )
    plan = Plan(
        rows,
        tuple(content.get("labels", (ALL,))),
        content.get("hide_seed"),
        tuple(content.get("seeds", (0,))),
        search,
        budget,
    )
    changed(base, search, f"{file}, search")
    return with_grids(plan, grid)


def _read_row(where: str, name: str, about: Mapping[str, Any], content: Mapping[str, Any], base: Config) -> Row:
    own = {key: value for key, value in about.items() if key not in _OF_A_ROW}
    recipe, as_published = about.get("recipe", ""), about.get("as_published", False)
    row = row_of(recipe, base, name, as_published) if recipe else Row(name, base)
    config = changed(changed(row.config, content.get("train", {}), where), own, where)
    labels, seeds = (tuple(about[key]) if key in about else None for key in ("labels", "seeds"))
    return replace(row, config=config, labels=labels, seeds=seeds, grid=_grid(about.get("search", {}), recipe, where))


def _refuse_others(content: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in content:
        if name not in known:
            raise TrilabelError(f"{where}: {no_such('entry', name, known)}")
