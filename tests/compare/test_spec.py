"""What is compared: plans out of TOML files, errors that name file and row, what a search tries."""

import itertools
import math
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.compare import ALL, Plan, Row, read_plan, row_of, with_grids
from trilabel.compare.checks import _check_names
from trilabel.compare.grids import published_grid
from trilabel.compare.spec import PARTS, changed
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.methods import METHODS
from trilabel.models import HEADS
from trilabel.recipes import RECIPES, fine_tune, resolve
from trilabel.settings import settings_of

BASE = Config(method="known-only", epochs=2, lr=3e-3, image_size=32, workers=0)
quick = settings(max_examples=60, deadline=None)


def written(tmp_path, text):
    file = tmp_path / "plan.toml"
    file.write_text(text, encoding="utf-8")
    return file


def read(tmp_path, text, base=BASE):
    return read_plan(written(tmp_path, text), base)


# ---- files


def test_a_file_with_every_entry(tmp_path):
    plan = read(
        tmp_path,
        """
        labels = ["all", "keep-share=0.5"]
        seeds = [3, 4]
        hide_seed = 7
        [train]
        epochs = 5
        val = 0.2
        precision = "bf16"
        [search]
        epochs = 1
        budget = 3
        grid = {lr = [1e-3, 1e-4]}
        [rows.ROLE]
        recipe = "cole2021-role"
        [rows."LL, as they did"]
        recipe = "kim2022-ll-ct"
        as_published = true
        labels = ["single-positive"]
        seeds = [0]
        settings.delta = 0.5
        lr = 2e-5
        search = "published"
        [rows.own]
        method = "hill"
        epochs = 6
        search = {lr = [1.0], batch_size = [8, 16]}
        """,
    )
    common = {"epochs": 5, "val": "0.2", "precision": "bf16"}
    assert plan.labels == ("all", "keep-share=0.5") and plan.seeds == (3, 4) and plan.hide_seed == 7
    assert plan.search == {"epochs": 1} and plan.budget == 3
    role, large, own = plan.rows
    assert role == Row("ROLE", replace(BASE, method="role", **common), "cole2021-role", grid={"lr": (1e-3, 1e-4)})
    published = resolve("kim2022-ll-ct")
    assert large.name == "LL, as they did" and large.labels == ("single-positive",) and large.seeds == (0,)
    assert large.config == replace(published, settings={"mode": "correct", "delta": 0.5}, **common, lr=2e-5)
    assert large.grid == published_grid("kim2022-ll-ct")
    assert own == Row("own", replace(BASE, **{**common, "method": "hill", "epochs": 6}), grid=own.grid)
    assert own.grid == {"lr": (1.0,), "batch_size": (8, 16)}
    cells = [(row.name, labels, seed) for row, labels, seed in plan.cells()]
    twice = list(itertools.product(("ROLE", "own"), ("all", "keep-share=0.5"), (3, 4)))
    assert cells == [*twice[:4], ("LL, as they did", "single-positive", 0), *twice[4:]]


def test_what_a_file_leaves_open_is_as_before(tmp_path):
    plan = read(tmp_path, "[rows.a]")
    assert plan == Plan((Row("a", BASE, grid={}),))
    assert (plan.labels, plan.hide_seed, plan.seeds, plan.search, plan.search_labels) == ((ALL,), None, (0,), {}, None)


ROW = '[rows.a]\nrecipe = "cole2021-an"\n'


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("lables = []\n" + ROW, "", "'lables'.*did you mean 'labels'"),
        (ROW + "lrr = 1", "rows.a", "'lrr'.*did you mean 'lr'"),
        ("[train]\nlrr = 1\n" + ROW, "train", "'lrr'"),
        ("[search]\nepoch = 1\n" + ROW, "search", "'epoch'.*did you mean 'epochs'"),
        ("[search]\ngrid = {lrr = [1, 2]}\n" + ROW, "search.grid", "'lrr'"),
        (ROW + "search = {lrr = [1, 2]}", "rows.a, search", "'lrr'"),
        ('[rows.a]\nrecipe = "cole2021-ann"', "rows.a", "no recipe named 'cole2021-ann'"),
        ("[rows.a]\nrecipe = 3", "rows.a", "recipe is text, not 3"),
        (ROW + 'as_published = "yes"', "rows.a", "as_published is true or false, not 'yes'"),
        (ROW + 'lr = "fast"', "rows.a", "lr is a finite number, not 'fast'"),
        (ROW + "lr = nan", "rows.a", "lr is a finite number"),
        (ROW + "lr = -1", "rows.a", "lr must be more than 0"),
        (ROW + "lr = true", "rows.a", "lr is a finite number, not True"),
        (ROW + "lr = [1, 2]", "rows.a", "lr is a finite number"),
        (ROW + "lr = {a = 1}", "rows.a", "lr is a finite number"),
        (ROW + '"lr.fast" = 1', "rows.a", "lr.fast"),
        (ROW + "epochs = 1.5", "rows.a", "epochs is a whole number"),
        (ROW + "flip = 1", "rows.a", "flip is true or false"),
        (ROW + "method = {}", "rows.a", "method is text"),
        (ROW + 'method = ["a"]', "rows.a", "method is text"),
        (ROW + 'optimizer = "adams"', "rows.a", "optimizer is adam, "),
        (ROW + "settings = 3", "rows.a", "settings is a table"),
        (ROW + "labels = []", "rows.a", "labels is a list"),
        (ROW + 'labels = "all"', "rows.a", "labels is a list"),
        (ROW + "seeds = 3", "rows.a", "seeds is a list"),
        (ROW + 'search = "public"', "rows.a, search", "published"),
        (ROW + "search = {lr = []}", "rows.a, search", "lr is a list of values to try"),
        (ROW + "search = {lr = 1e-3}", "rows.a, search", "lr is a list of values to try"),
        (ROW + 'search = {method = "ab"}', "rows.a, search", "method is a list of values to try"),
        (ROW + 'search = {lr = [1, "fast"]}', "rows.a, search", "lr is a finite number"),
        (ROW + "search = {settings.delta = [0.1, 0.2]}", "rows.a, search", '"settings.delta"'),
        ("[search]\ngrid = {lr = []}\n" + ROW, "search.grid", "lr is a list of values to try"),
        ('[search]\nlabels = ["all"]\n' + ROW, "search", "labels is text"),
        ("[search]\ngrid = 3\n" + ROW, "search.grid", "a table of lists"),
        ('[search]\nbudget = "many"\n' + ROW, "search", "budget is a whole number"),
        ("[search]\nbudget = 0\n" + ROW, "search", "budget is 1 or more"),
        ('search = "published"\n' + ROW, "", "search is a table"),
        ("train = 3\n" + ROW, "", "train is a table"),
        ("[rows]\na = 3", "rows", "a is a table"),
        ("rows = 3", "", "rows is a table"),
        ("rows = {}", "", "no rows to compare"),
        ("seeds = [1]", "", "no rows to compare"),
        ("seeds = [1.5]\n" + ROW, "", "seeds is a list"),
        ("seeds = [true]\n" + ROW, "", "seeds is a list"),
        ("labels = [3]\n" + ROW, "", "labels is a list"),
        ('hide_seed = "x"\n' + ROW, "", "hide_seed is a whole number"),
        ("[rows.a", "", "not TOML"),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_name_file_and_row(tmp_path, text, where, says):
    with pytest.raises(TrilabelError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(", ".join([str(tmp_path / "plan.toml"), *([where] if where else [])]) + ":")
    assert re.search(says, message), message


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for file, says in (("none.toml", "no such file"), ("bytes.toml", "not TOML"), (".", "cannot be read")):
        with pytest.raises(TrilabelError, match=says) as caught:
            read_plan(tmp_path / file, BASE)
        assert str(caught.value).startswith(str(tmp_path / file)) and "\n" not in str(caught.value)


toml = st.recursive(
    st.integers(-5, 5) | st.floats() | st.booleans() | st.sampled_from(["all", "published", "cole2021-an", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
entries = {
    "": ("labels", "seeds", "hide_seed", "train", "rows", "search"),
    "train": tuple(f.name for f in fields(Config)),
    "search": ("grid", "budget", "labels", "epochs", "settings", "settings.delta"),
    "rows.a": ("recipe", "as_published", "labels", "seeds", "search", "lr", "val", "settings", "lr.x", "head", "plan"),
}


@quick
@given(st.sampled_from([(table, key) for table in entries for key in entries[table]]), toml)
def test_whatever_a_file_says_it_is_read_or_refused_in_one_line(tmp_path_factory, place, value):
    table, key = place
    rest = ROW if key != "rows" and not table.startswith("rows") else ""
    text = (f"[{table}]\n" if table else "") + f'"{key}" = {as_toml(value)}\n' + rest
    file = written(tmp_path_factory.mktemp("drawn"), text)
    try:
        plan = read_plan(file, BASE)
    except TrilabelError as error:
        assert str(file) in str(error) and "\n" not in str(error)
    else:
        for row in plan.rows:
            for tried in plan.trials(row):
                changed(row.config, tried, "")


def as_toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name} = {as_toml(inner)}' for name, inner in value.items())}}}"
    return repr(value)


# ---- configurations


def test_changing_fields_and_settings():
    config = Config(method="large-loss", settings={"mode": "correct"}, head="saliency", head_settings={"k": 3})
    assert changed(config, {"lr": "1e-4", "epochs": 3, "flip": "false"}, "") == replace(
        config, lr=1e-4, epochs=3, flip=False
    )
    both = {"settings.delta": 0.5, "settings.start": 1.0, "head_settings.alpha": 0.1}
    found = changed(config, both, "")
    assert found.settings == {"mode": "correct", "delta": 0.5, "start": 1.0}
    assert found.head_settings == {"k": 3, "alpha": 0.1}
    assert config.settings == {"mode": "correct"} and config.head_settings == {"k": 3}, "it is left as it is"
    assert changed(config, {"settings": {"delta": 0.5}}, "").settings == {"mode": "correct", "delta": 0.5}


def test_settings_go_where_their_part_goes():
    config = Config(method="large-loss", settings={"mode": "correct"}, head="saliency", head_settings={"k": 3})
    assert changed(config, {"method": "large-loss"}, "") == config
    assert changed(config, {"method": "role"}, "") == replace(config, method="role", settings={})
    other = {"settings.smoothing": 0.1, "method": "assume-negative"}
    assert changed(config, other, "") == replace(config, method="assume-negative", settings={"smoothing": 0.1})
    assert changed(config, {"head": "gap"}, "") == replace(config, head="gap", head_settings={})


def test_numbers_may_be_given_for_text():
    found = changed(BASE, {"val": 0.2, "precision": 32}, "")
    assert (found.val, found.precision) == ("0.2", "32")


def test_a_recipe_gives_the_method_or_everything():
    published = resolve("cole2021-role-linear-init")
    row = row_of("cole2021-role-linear-init", BASE)
    assert (row.name, row.recipe) == ("cole2021-role-linear-init",) * 2
    for f in fields(Config):
        assert getattr(row.config, f.name) == getattr(published if f.name in PARTS else BASE, f.name), f.name
    whole = row_of("cole2021-role-linear-init", BASE, "ROLE", as_published=True, seeds=(1,))
    assert whole == Row("ROLE", published, "cole2021-role-linear-init", seeds=(1,))


def test_nothing_of_a_method_comes_from_the_base():
    base = resolve("wang2023")
    row = row_of("cole2021-an", base)
    assert (row.config.head, row.config.settings) == ("gap", {}) and row.config.optimizer == "sgd"


# ---- cells and trials


def test_cells_are_each_there_once():
    plan = Plan(
        (Row("a", BASE), Row("b", BASE, labels=("all",), seeds=(5,))), ("all", "noisy=0.1", "all"), None, (1, 1)
    )
    cells = [(row.name, labels, seed) for row, labels, seed in plan.cells()]
    assert cells == [("a", "all", 1), ("a", "noisy=0.1", 1), ("b", "all", 5)]


def plan_with(grid, budget=12):
    return with_grids(Plan((Row("a", BASE),), budget=budget), grid)


def tried(plan):
    return plan.trials(plan.rows[0])


def test_the_whole_grid_where_it_fits():
    grid = {"lr": [1e-3, 1e-4], "settings.delta": [0.1, 0.2, 0.3]}
    expected = [{"lr": lr, "settings.delta": delta} for lr in grid["lr"] for delta in grid["settings.delta"]]
    assert tried(plan_with(grid)) == tried(plan_with(grid, 6)) == expected


@quick
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 20))
def test_a_larger_grid_is_drawn_from(sizes, budget):
    names = ("lr", "weight_decay", "momentum", "crop")
    grid = {name: [(1 + value) / 8 for value in range(size)] for name, size in zip(names, sizes, strict=False)}
    plan = plan_with(grid, budget)
    points, whole = tried(plan), [dict(zip(grid, each, strict=True)) for each in itertools.product(*grid.values())]
    count = math.prod(sizes)
    assert len(points) == (min(count, budget) if count > 1 else 0)
    assert [point for point in whole if point in points] == points, "in order, none twice, none from elsewhere"
    assert tried(plan_with(grid, budget)) == points


def test_the_draw_is_no_beginning():
    points = tried(plan_with({"epochs": list(range(1, 101))}, 5))
    assert len({point["epochs"] for point in points}) == 5 and max(point["epochs"] for point in points) > 5


def test_nothing_to_choose_is_no_search():
    assert tried(plan_with({})) == tried(plan_with({"lr": [1e-3], "epochs": [3]})) == []


def test_a_rows_own_grid_stands_in_the_place_of_that_for_all():
    plan = Plan((Row("a", BASE, grid={"lr": (1.0, 2.0)}), Row("b", BASE), Row("none", BASE, grid={})))
    found = [row.grid for row in with_grids(plan, {"lr": [3.0], "epochs": [1, 2]}).rows]
    assert found == [{"lr": (1.0, 2.0)}, {"lr": (3.0,), "epochs": (1, 2)}, {}]


def test_searching_in_one_label_setting(tmp_path):
    plan = read(tmp_path, 'labels = ["noisy=0.1"]\n[search]\nlabels = "all"\n[rows.a]\n[rows.b]\nlabels = ["all"]')
    assert plan.search_labels == "all" and plan.search == {}
    assert [plan.searched_in(row) for row in plan.rows] == [("all",), ("all",)]
    assert [plan.labels_of(row) for row in plan.rows] == [("noisy=0.1",), ("all",)]
    each = replace(plan, search_labels=None)
    assert [each.searched_in(row) for row in each.rows] == [("noisy=0.1",), ("all",)]


# ---- published grids


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_with_a_grid_has_one_that_its_parts_take(recipe):
    grid, about, config = published_grid(recipe), RECIPES[recipe].__doc__ or "", resolve(recipe)
    assert bool(grid) == ("Grid:" in about)
    said = about.partition("Grid:")[2]
    for name, values in grid.items():
        word = {"batch_size": "batch"}.get(name, name.replace("settings.", "").replace("head_", "head."))
        assert word in said or (name == "lr" and "appendix B" in about), (name, said)  # B searches as table 2 does
        assert len(set(values)) == len(values) > 1
        for value in values:
            new = changed(config, {name: value}, recipe)
            settings_of(METHODS[new.method].Settings, new.settings, new.method)
            settings_of(HEADS[new.head].Settings, new.head_settings, new.head, "head")


def test_published_grids_by_row():
    rows = (row_of("cole2021-an", BASE), row_of("wang2023-cr", BASE), Row("own", BASE))
    found = with_grids(Plan(rows), "published").rows
    assert found[0].grid == {"lr": (1e-2, 1e-3, 1e-4, 1e-5), "batch_size": (8, 16)}
    assert found[1].grid == {"settings.threshold": (0.5, 0.6, 0.7, 0.8, 0.9)}
    assert found[2].grid == {} == published_grid("no such recipe")
    assert published_grid("kim2022-ll-r-absolute")["settings.start"] == (1.0, 1.5, 2.0)
    assert published_grid("kim2022-openimages-ll-r") == {"settings.delta": (0.005, 0.01)}


PLANS = sorted((Path(__file__).parents[2] / "benchmarks" / "plans").glob("*.toml"))


@pytest.mark.parametrize("file", PLANS, ids=lambda file: file.stem)
def test_the_plans_behind_our_results_can_be_read(file):
    plan = read_plan(file, fine_tune())
    for row in plan.rows:
        for tried in ({}, *plan.trials(row)):
            _check_names(changed(row.config, tried, row.name), row.name)
    assert PLANS and list(plan.cells())
