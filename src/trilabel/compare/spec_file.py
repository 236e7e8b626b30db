"""Comparison specs as TOML files."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trilabel.compare.changes import with_changes
from trilabel.compare.spec import ALL, HideSeed, MethodRow, Spec, recipe_row, search_grid, with_grids
from trilabel.config import Config
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.input_files import read_input

_LONGEST, _LONGEST_LINE = 1 << 20, 10_000  # letters; a key of 100,000 parts would take tomllib gigabytes
_ENTRIES = ("labels", "seeds", "hide_seed", "train", "rows", "search")
_ROW_ENTRIES = ("recipe", "as_published", "labels", "seeds", "search")  # the rest are settings of its runs
_SEARCH_ENTRIES = ("grid", "budget", "labels")  # the rest are settings of search runs
_TYPE_NAMES = {str: "text", int: "a whole number", bool: "true or false", dict: "a table"}


def read_spec(file: str | Path, base: Config) -> Spec:
    """Reads a spec from a TOML file; settings that it does not name are those of `base`.

    labels, seeds, hide_seed: as in `Spec`. [train]: settings of every run. [rows.NAME]: recipe (its method),
    as_published (also its training), labels, seeds, its own settings, search (a grid instead of the one for all rows).
    [search]: grid (a table of lists, or "published"), budget, labels (search only in this label setting), and settings
    of search runs only.
    """
    where, content = str(file), _read_toml(Path(file))
    for name in content:
        if name not in _ENTRIES:
            raise TrilabelError(f"{where}: {unknown_name_error('entry', name, _ENTRIES)}")
    search, in_search = _entry(content, "search", dict, where, {}), f"{where}, search"
    budget = _entry(search, "budget", int, in_search, Spec.budget)
    if budget < 1:
        raise TrilabelError(f"{in_search}: budget must be 1 or more, not {budget}")
    search_labels = _entry(search, "labels", str, in_search)
    search_settings = {name: value for name, value in search.items() if name not in _SEARCH_ENTRIES}
    with_changes(base, search_settings, in_search)
    common, rows = _entry(content, "train", dict, where, {}), _entry(content, "rows", dict, where, {})
    if not rows:
        raise TrilabelError(f'{where}: no rows to compare; write [rows.NAME] and recipe = "…"')
    base = with_changes(base, common, f"{where}, train")
    spec = Spec(
        tuple(_read_row(where, name, _entry(rows, name, dict, f"{where}, rows"), common, base) for name in rows),
        _list_entry(content, "labels", str, where) or (ALL,),
        _hide_seed(content, where),
        _list_entry(content, "seeds", int, where) or (0,),
        search_settings,
        search_labels,
        budget,
    )
    return with_grids(spec, search.get("grid", {}), f"{in_search}.grid")


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        text = read_input(file).decode()
        if len(text) > _LONGEST or any(len(line) > _LONGEST_LINE for line in text.splitlines()):
            raise TrilabelError(f"{file}: too long for a comparison; keep it to {_LONGEST:,} letters in short lines")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise TrilabelError(f"{file}: no such file") from None
    except OSError as error:
        raise TrilabelError(f"{file}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TrilabelError(f"{file}: not TOML ({error})") from None


def _read_row(file: str, name: str, entries: Mapping[str, Any], common: Mapping[str, Any], base: Config) -> MethodRow:
    where = f"{file}, rows.{name}"
    own = {key: value for key, value in entries.items() if key not in _ROW_ENTRIES}
    recipe = _entry(entries, "recipe", str, where, "")
    as_published = _entry(entries, "as_published", bool, where, False)
    try:
        row = recipe_row(recipe, base, name, as_published) if recipe else MethodRow(name, base)
    except TrilabelError as error:
        raise TrilabelError(f"{where}: {error}") from None
    config = with_changes(with_changes(row.config, common, where), own, where)
    grid = search_grid(entries["search"], recipe, config, f"{where}, search") if "search" in entries else None
    labels, seeds = _list_entry(entries, "labels", str, where), _list_entry(entries, "seeds", int, where)
    return replace(row, config=config, labels=labels, seeds=seeds, grid=grid)


def _entry(entries: Mapping[str, Any], key: str, kind: type[Any], where: str, default: Any = None) -> Any:
    """An entry of this type; the default if there is none."""
    if key not in entries:
        return default
    if type(entries[key]) is not kind:
        raise TrilabelError(f"{where}: {key} must be {_TYPE_NAMES[kind]}, not {entries[key]!r}")
    return entries[key]


def _hide_seed(content: Mapping[str, Any], where: str) -> HideSeed:
    return "each" if content.get("hide_seed") == "each" else _entry(content, "hide_seed", int, where)


def _list_entry(entries: Mapping[str, Any], key: str, kind: type[Any], where: str) -> tuple[Any, ...] | None:
    """An entry that is a list of this type and not empty; None if there is none."""
    if key not in entries:
        return None
    values: Sequence[Any] = entries[key]
    if type(values) is not list or not values or any(type(value) is not kind for value in values):
        raise TrilabelError(f"{where}: {key} must be a list, each item {_TYPE_NAMES[kind]}, not {values!r}")
    return tuple(values)
