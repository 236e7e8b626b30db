"""What is compared: rows (methods) × label settings × seeds, and the values that are searched first."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from trilabel.compare.changes import with_changes
from trilabel.compare.grids import SearchGrid, published_grid
from trilabel.compare.results import CellKey
from trilabel.config import METHOD_FIELDS, Config
from trilabel.errors import TrilabelError
from trilabel.methods import METHODS
from trilabel.plugin_files import beside, reference, use
from trilabel.recipes import resolve

ALL = "all"  # the label setting that hides nothing
PUBLISHED = "published"

HideSeed = int | Literal["each"] | None


@dataclass(frozen=True)
class MethodRow:
    """A method to compare: one row of the table."""

    name: str
    config: Config
    recipe: str = ""  # the recipe whose published figures are shown beside it
    labels: tuple[str, ...] | None = None  # only in these label settings
    seeds: tuple[int, ...] | None = None  # instead of the spec's
    grid: SearchGrid | None = None  # values to search for this row; None: those for all rows


@dataclass(frozen=True)
class Spec:
    """A whole comparison. Labels are hidden once, unless `hide_seed` is "each": with the seed of each training."""

    rows: tuple[MethodRow, ...]
    labels: tuple[str, ...] = (ALL,)
    hide_seed: HideSeed = None  # None: that of the label setting
    seeds: tuple[int, ...] = (0,)
    search: Mapping[str, Any] = field(default_factory=dict)  # settings of search runs only, such as fewer epochs
    search_labels: str | None = None  # search only in this label setting, and choose the same values for all
    budget: int = 12  # largest number of search runs per row and label setting

    def cells(self) -> Iterator[tuple[MethodRow, str, int]]:
        """Every (row, labels, seed) to train and score, without the search."""
        for row in self.rows:
            for labels in self.labels_of(row):
                for seed in dict.fromkeys(self.seeds if row.seeds is None else row.seeds):
                    yield row, labels, seed

    def hide_seed_of(self, seed: int) -> int | None:
        """The seed of the hidden labels in a run that trains with this seed."""
        return seed if self.hide_seed == "each" else self.hide_seed

    def cell_keys(self) -> list[CellKey]:
        """The names of these cells, in the same order."""
        return [CellKey(row.name, labels, seed) for row, labels, seed in self.cells()]

    def labels_of(self, row: MethodRow) -> tuple[str, ...]:
        """The label settings in which a row is trained."""
        return tuple(dict.fromkeys(self.labels if row.labels is None else row.labels))

    def search_labels_of(self, row: MethodRow) -> tuple[str, ...]:
        """The label settings in which a row's values are searched."""
        return self.labels_of(row) if self.search_labels is None else (self.search_labels,)

    def trials(self, row: MethodRow) -> list[Mapping[str, Any]]:
        """The points of a row's grid that the search tries: all of them, or a random draw of `budget` points.

        Empty if the grid leaves no choice.
        """
        grid = row.grid or {}
        points: list[Mapping[str, Any]] = [
            dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
        ]
        if len(points) <= self.budget:
            return points if len(points) > 1 else []
        drawn = np.random.default_rng(0).permutation(len(points))[: self.budget]
        return [points[number] for number in sorted(drawn.tolist())]

    def search_config(self, row: MethodRow, tried: Mapping[str, Any]) -> Config:
        """The configuration of a search run."""
        return with_changes(with_changes(row.config, self.search, "search"), tried, row.name)


def recipe_row(recipe: str, base: Config, name: str = "", as_published: bool = False, **options: Any) -> MethodRow:
    """A row with the method of a recipe, trained as `base` is; with `as_published`, as the recipe is."""
    own = resolve(recipe)
    config = own if as_published else replace(base, **{name: getattr(own, name) for name in METHOD_FIELDS})
    return MethodRow(name or recipe, config, recipe, **options)


def method_row(method: str, base: Config) -> MethodRow:
    """A row with a method (a name, or FILE.py:CLASS) in its own default settings, trained as `base` is."""
    method = use(method)
    heads = [beside(head, method) for head in METHODS.find(method).heads]
    head: dict[str, Any] = {} if not heads or base.head in heads else {"head": heads[0], "head_settings": {}}
    refers = reference(method)
    name = method if refers is None else f"{refers.file.name}:{refers.name}"
    return MethodRow(name, replace(base, method=method, settings={}, **head))


def with_grids(spec: Spec, grid: Mapping[str, Any] | str, where: str = "search") -> Spec:
    """The spec with a grid for every row that has none: this one, or with "published" that of the row's own paper."""
    rows = (
        replace(row, grid=search_grid(grid, row.recipe, row.config, where)) if row.grid is None else row
        for row in spec.rows
    )
    return replace(spec, rows=tuple(rows))


def search_grid(values: Mapping[str, Any] | str, recipe: str, config: Config, where: str) -> SearchGrid:
    """The grid that was given for a row, checked against its configuration."""
    if values == PUBLISHED:
        return dict(published_grid(recipe))
    if not isinstance(values, Mapping):
        raise TrilabelError(f'{where}: must be a table of lists or "{PUBLISHED}", not {values!r}')
    for name, several in values.items():
        if isinstance(several, Mapping):  # TOML reads a dot in a name as a table in a table
            raise TrilabelError(f'{where}: a name with a dot needs quotes: "{name}.{next(iter(several), "NAME")}"')
        if not isinstance(several, Sequence) or isinstance(several, str) or not several:
            raise TrilabelError(f"{where}: {name} must be a list of values to try, not {several!r}")
        for value in several:
            with_changes(config, {name: value}, where)
    return {name: tuple(several) for name, several in values.items()}
