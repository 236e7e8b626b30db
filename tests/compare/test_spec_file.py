"""Specs in TOML files, and errors that name file and row."""

import itertools
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.compare import ALL, MethodRow, Spec, read_spec
from trilabel.compare.changes import with_changes
from trilabel.compare.checks import check_spec
from trilabel.compare.grids import published_grid
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.recipes import fine_tune, resolve

BASE = Config(method="known-only", epochs=2, lr=3e-3, image_size=32, workers=0)


def written(tmp_path, text):
    file = tmp_path / "spec.toml"
    file.write_text(text, encoding="utf-8")
    return file


def read(tmp_path, text, base=BASE):
    return read_spec(written(tmp_path, text), base)


def test_a_file_with_every_entry(tmp_path):
    spec = read(
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
    assert spec.labels == ("all", "keep-share=0.5") and spec.seeds == (3, 4) and spec.hide_seed == 7
    assert spec.search == {"epochs": 1} and spec.budget == 3
    role, large, own = spec.rows
    theirs = replace(BASE, method="role", settings=resolve("cole2021-role").settings, **common)
    assert role == MethodRow("ROLE", theirs, "cole2021-role", grid={"lr": (1e-3, 1e-4)})
    published = resolve("kim2022-ll-ct")
    assert large.name == "LL, as they did" and large.labels == ("single-positive",) and large.seeds == (0,)
    assert large.config == replace(published, settings={"mode": "correct", "delta": 0.5}, **common, lr=2e-5)
    assert large.grid == published_grid("kim2022-ll-ct")
    assert own == MethodRow("own", replace(BASE, **{**common, "method": "hill", "epochs": 6}), grid=own.grid)
    assert own.grid == {"lr": (1.0,), "batch_size": (8, 16)}
    cells = [(row.name, labels, seed) for row, labels, seed in spec.cells()]
    twice = list(itertools.product(("ROLE", "own"), ("all", "keep-share=0.5"), (3, 4)))
    assert cells == [*twice[:4], ("LL, as they did", "single-positive", 0), *twice[4:]]


def test_settings_that_a_file_does_not_name_stay(tmp_path):
    spec = read(tmp_path, "[rows.a]")
    assert spec == Spec((MethodRow("a", BASE, grid={}),))
    assert (spec.labels, spec.hide_seed, spec.seeds, spec.search, spec.search_labels) == ((ALL,), None, (0,), {}, None)


def test_labels_hidden_anew_with_each_seed(tmp_path):
    spec = read(tmp_path, 'hide_seed = "each"\n' + ROW)
    assert [spec.hide_seed_of(seed) for seed in (0, 7)] == [0, 7]


def test_searching_in_one_label_setting(tmp_path):
    spec = read(tmp_path, 'labels = ["noisy=0.1"]\n[search]\nlabels = "all"\n[rows.a]\n[rows.b]\nlabels = ["all"]')
    assert spec.search_labels == "all" and spec.search == {}
    assert [spec.search_labels_of(row) for row in spec.rows] == [("all",), ("all",)]
    assert [spec.labels_of(row) for row in spec.rows] == [("noisy=0.1",), ("all",)]
    each = replace(spec, search_labels=None)
    assert [each.search_labels_of(row) for row in each.rows] == [("noisy=0.1",), ("all",)]


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
        ("[rows.a]\nrecipe = 3", "rows.a", "recipe must be text, not 3"),
        (ROW + 'as_published = "yes"', "rows.a", "as_published must be true or false, not 'yes'"),
        (ROW + 'lr = "fast"', "rows.a", "lr must be a finite number, not 'fast'"),
        (ROW + "lr = nan", "rows.a", "lr must be a finite number"),
        (ROW + "lr = -1", "rows.a", "lr must be more than 0"),
        (ROW + "lr = true", "rows.a", "lr must be a finite number, not True"),
        (ROW + "lr = [1, 2]", "rows.a", "lr must be a finite number"),
        (ROW + "lr = {a = 1}", "rows.a", "lr must be a finite number"),
        (ROW + '"lr.fast" = 1', "rows.a", "lr.fast"),
        (ROW + "epochs = 1.5", "rows.a", "epochs must be a whole number"),
        (ROW + "flip = 1", "rows.a", "flip must be true or false"),
        (ROW + "method = {}", "rows.a", "method must be text"),
        (ROW + 'method = ["a"]', "rows.a", "method must be text"),
        (ROW + 'optimizer = "adams"', "rows.a", "optimizer must be one of adam, "),
        (ROW + "settings = 3", "rows.a", "settings must be a table"),
        (ROW + "labels = []", "rows.a", "labels must be a list"),
        (ROW + 'labels = "all"', "rows.a", "labels must be a list"),
        (ROW + "seeds = 3", "rows.a", "seeds must be a list"),
        (ROW + 'search = "public"', "rows.a, search", "published"),
        (ROW + "search = {lr = []}", "rows.a, search", "lr must be a list of values to try"),
        (ROW + "search = {lr = 1e-3}", "rows.a, search", "lr must be a list of values to try"),
        (ROW + 'search = {method = "ab"}', "rows.a, search", "method must be a list of values to try"),
        (ROW + 'search = {lr = [1, "fast"]}', "rows.a, search", "lr must be a finite number"),
        (ROW + "search = {settings.delta = [0.1, 0.2]}", "rows.a, search", '"settings.delta"'),
        ("[search]\ngrid = {lr = []}\n" + ROW, "search.grid", "lr must be a list of values to try"),
        ('[search]\nlabels = ["all"]\n' + ROW, "search", "labels must be text"),
        ("[search]\ngrid = 3\n" + ROW, "search.grid", "a table of lists"),
        ('[search]\nbudget = "many"\n' + ROW, "search", "budget must be a whole number"),
        ("[search]\nbudget = 0\n" + ROW, "search", "budget must be 1 or more"),
        ('search = "published"\n' + ROW, "", "search must be a table"),
        ("train = 3\n" + ROW, "", "train must be a table"),
        ("[rows]\na = 3", "rows", "a must be a table"),
        ("rows = 3", "", "rows must be a table"),
        ("rows = {}", "", "no rows to compare"),
        ("seeds = [1]", "", "no rows to compare"),
        ("seeds = [1.5]\n" + ROW, "", "seeds must be a list"),
        ("seeds = [true]\n" + ROW, "", "seeds must be a list"),
        ("labels = [3]\n" + ROW, "", "labels must be a list"),
        ('hide_seed = "x"\n' + ROW, "", "hide_seed must be a whole number"),
        ("[rows.a", "", "not TOML"),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_name_file_and_row(tmp_path, text, where, says):
    with pytest.raises(TrilabelError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(", ".join([str(tmp_path / "spec.toml"), *([where] if where else [])]) + ":")
    assert re.search(says, message), message


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for file, says in (("none.toml", "no such file"), ("bytes.toml", "not TOML"), (".", "not a regular file")):
        with pytest.raises(TrilabelError, match=says) as caught:
            read_spec(tmp_path / file, BASE)
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
    "rows.a": (
        "recipe",
        "as_published",
        "labels",
        "seeds",
        "search",
        "lr",
        "val",
        "settings",
        "lr.x",
        "head",
        "stages",
    ),
}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([(table, key) for table in entries for key in entries[table]]), toml)
def test_whatever_a_file_says_it_is_read_or_refused_in_one_line(tmp_path_factory, place, value):
    table, key = place
    rest = ROW if key != "rows" and not table.startswith("rows") else ""
    text = (f"[{table}]\n" if table else "") + f'"{key}" = {as_toml(value)}\n' + rest
    file = written(tmp_path_factory.mktemp("spec"), text)
    try:
        spec = read_spec(file, BASE)
    except TrilabelError as error:
        assert str(file) in str(error) and "\n" not in str(error)
    else:
        for row in spec.rows:
            for tried in spec.trials(row):
                with_changes(row.config, tried, "")


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


SPECS = sorted((Path(__file__).parents[2] / "benchmarks" / "specs").glob("*.toml"))


@pytest.mark.parametrize("file", SPECS, ids=lambda file: file.stem)
def test_the_specs_behind_our_results_can_be_read(file):
    spec = read_spec(file, fine_tune())
    check_spec(spec)
    assert spec.cell_keys()


@pytest.mark.parametrize("file", SPECS, ids=lambda file: file.stem)
def test_the_command_in_the_header_of_a_spec_is_of_this_spec(file):
    header = file.read_text("utf-8").partition("\nlabels")[0]
    of_features = "fixed" in file.stem.split("_")
    if commands := re.findall(r"^#   (?:python )?(.*?) .*?(benchmarks/specs/\S+)", header, re.MULTILINE):
        assert commands == [
            ("benchmarks/fixed_features.py" if of_features else "trilabel", f"benchmarks/specs/{file.name}")
        ]
    assert commands or not of_features


def test_there_are_specs_behind_our_results():
    assert len(SPECS) > 10


def test_files_made_to_fill_the_memory(tmp_path):
    for text, says in (
        ("labels = " + "[" * 9_000, "not TOML"),
        (".".join("a" * 100_000) + " = 1", "too long for a comparison"),
        ("# x\n" * 500_000, "too long for a comparison"),
    ):
        (tmp_path / "rows.toml").write_text(text)
        with pytest.raises(TrilabelError, match=says) as caught:
            read_spec(tmp_path / "rows.toml", Config())
        assert "\n" not in str(caught.value)
