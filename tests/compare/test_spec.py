"""What is compared: rows from recipes, cells, and the points that a search tries."""

import itertools
import math
from dataclasses import fields

from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.compare import MethodRow, Spec, recipe_row, with_grids
from trilabel.compare.grids import published_grid
from trilabel.config import METHOD_FIELDS, Config
from trilabel.recipes import resolve

BASE = Config(method="known-only", epochs=2, lr=3e-3, image_size=32, workers=0)


def test_a_recipe_gives_the_method_or_everything():
    published = resolve("cole2021-role-linear-init")
    row = recipe_row("cole2021-role-linear-init", BASE)
    assert (row.name, row.recipe) == ("cole2021-role-linear-init",) * 2
    for f in fields(Config):
        assert getattr(row.config, f.name) == getattr(published if f.name in METHOD_FIELDS else BASE, f.name), f.name
    whole = recipe_row("cole2021-role-linear-init", BASE, "ROLE", as_published=True, seeds=(1,))
    assert whole == MethodRow("ROLE", published, "cole2021-role-linear-init", seeds=(1,))


def test_no_part_of_a_method_comes_from_the_base():
    base = resolve("wang2023")
    row = recipe_row("cole2021-an", base)
    assert (row.config.head, row.config.settings) == ("gap", {}) and row.config.optimizer == "sgd"


def test_each_cell_is_listed_once():
    spec = Spec(
        (MethodRow("a", BASE), MethodRow("b", BASE, labels=("all",), seeds=(5,))),
        ("all", "noisy=0.1", "all"),
        None,
        (1, 1),
    )
    cells = [(row.name, labels, seed) for row, labels, seed in spec.cells()]
    assert cells == spec.cell_keys() == [("a", "all", 1), ("a", "noisy=0.1", 1), ("b", "all", 5)]


def spec_with(grid, budget=12):
    return with_grids(Spec((MethodRow("a", BASE),), budget=budget), grid)


def tried(spec):
    return spec.trials(spec.rows[0])


def test_the_whole_grid_if_it_fits():
    grid = {"lr": [1e-3, 1e-4], "settings.delta": [0.1, 0.2, 0.3]}
    expected = [{"lr": lr, "settings.delta": delta} for lr in grid["lr"] for delta in grid["settings.delta"]]
    assert tried(spec_with(grid)) == tried(spec_with(grid, 6)) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 20))
def test_a_larger_grid_is_drawn_from(sizes, budget):
    names = ("lr", "weight_decay", "momentum", "crop")
    grid = {name: [(1 + value) / 8 for value in range(size)] for name, size in zip(names, sizes, strict=False)}
    spec = spec_with(grid, budget)
    points, whole = tried(spec), [dict(zip(grid, each, strict=True)) for each in itertools.product(*grid.values())]
    count = math.prod(sizes)
    assert len(points) == (min(count, budget) if count > 1 else 0)
    assert [point for point in whole if point in points] == points, "in order, none twice, none from elsewhere"
    assert tried(spec_with(grid, budget)) == points


def test_the_draw_is_not_the_start_of_the_grid():
    points = tried(spec_with({"epochs": list(range(1, 101))}, 5))
    assert len({point["epochs"] for point in points}) == 5 and max(point["epochs"] for point in points) > 5


def test_a_grid_without_a_choice_is_not_searched():
    assert tried(spec_with({})) == tried(spec_with({"lr": [1e-3], "epochs": [3]})) == []


def test_a_rows_own_grid_replaces_the_one_for_all():
    spec = Spec((MethodRow("a", BASE, grid={"lr": (1.0, 2.0)}), MethodRow("b", BASE), MethodRow("none", BASE, grid={})))
    found = [row.grid for row in with_grids(spec, {"lr": [3.0], "epochs": [1, 2]}).rows]
    assert found == [{"lr": (1.0, 2.0)}, {"lr": (3.0,), "epochs": (1, 2)}, {}]


def test_published_grids_by_row():
    rows = (recipe_row("cole2021-an", BASE), recipe_row("wang2023-cr", BASE), MethodRow("own", BASE))
    found = with_grids(Spec(rows), "published").rows
    assert found[0].grid == {"lr": (1e-2, 1e-3, 1e-4, 1e-5), "batch_size": (8, 16)}
    assert found[1].grid == {"settings.threshold": (0.5, 0.6, 0.7, 0.8, 0.9)}
    assert found[2].grid == {} == published_grid("no such recipe")
    assert published_grid("kim2022-ll-r-absolute")["settings.start"] == (1.0, 1.5, 2.0)
    assert published_grid("kim2022-openimages-ll-r") == {"settings.delta": (0.005, 0.01)}
