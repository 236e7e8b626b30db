"""Recipes have the settings that the papers print, and every one can be trained with."""

import json
import re

import pytest

from trilabel.compare.published import figures
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.methods import METHODS
from trilabel.models import HEADS, check_graph, check_head
from trilabel.recipes import RECIPES, resolve
from trilabel.settings import settings_of
from trilabel.training.strategies import STRATEGIES, check_relabel, relabel_epochs


def test_every_recipe_says_where_it_is_from():
    papers = "Cole 2021|Kim 2022|Durand 2019|Huynh 2020|Wang 2023"
    for name, recipe in RECIPES.items():
        about = recipe.__doc__ or ""
        assert about and "\n" not in about, name
        if "20" in name:
            assert re.search(f"^({papers}), (table|appendix|figure|section) ", about), name
            assert "Grid: " in about or "baseline" in about, name


def test_the_parts_of_every_recipe_have_its_settings():
    for recipe in RECIPES.values():
        config = recipe()
        if config.method != "auto":
            settings_of(METHODS[config.method].Settings, config.settings, config.method)
            assert config.head in (METHODS[config.method].heads or HEADS)
        check_head(config.head, config.head_settings)
        check_graph(config.graph, config.graph_settings)
        if config.relabel != "none":
            runs = {"runs": "a,b"} if config.relabel == "ensemble" else {}
            check_relabel(config.relabel, {**config.relabel_settings, **runs}, [config.epochs])


# What the papers print, where a slip of the pen would not be seen otherwise.
PUBLISHED = {
    "durand2019": {
        "backbone": "resnet101", "head": "weldon", "head_settings": {}, "graph": "gnn", "graph_settings": {},
        "settings": {"normalize": "share"}, "relabel": "uncertainty",
        "relabel_settings": {"threshold": 0.3}, "image_size": 448, "batch_size": 16, "epochs": 20,
        "optimizer": "sgd", "lr": 0.01, "lr_schedule": "step", "lr_step_epochs": 10, "lr_step_factor": 0.1,
    },
    "durand2019-openimages-bce": {"settings": {"normalize": "all"}, "graph": "none", "epochs": 5, "patience": 1},
    "durand2019-bce": {"settings": {"normalize": "all"}, "graph": "none", "relabel": "none"},
    "durand2019-gnn": {"settings": {"normalize": "share"}, "graph": "gnn", "relabel": "none"},
    "durand2019-score": {"graph": "gnn", "relabel": "score", "relabel_settings": {}},
    "durand2019-two-steps": {"graph": "gnn", "relabel": "all", "relabel_settings": {"epochs": [10]}},
    "huynh2020-openimages-imcl": {
        "backbone": "resnet101",
        "settings": {"label_weight": 1.0, "feature_weight": 0.5, "neighbors": 5, "warm_up": 0, "graph_lr": 0.5},
        "optimizer": "rmsprop", "lr": 0.001, "batch_size": 32, "epochs": 1, "stages": "fine-tune", "keep_head": True,
    },
    "huynh2020-openimages-imcl-linear": {"stages": "linear"},
    "huynh2020-cub-imcl": {
        "settings": {
            "label_weight": 2.0, "feature_weight": 0.5, "neighbors": 5, "warm_up": 0, "graph_lr": 0.5,
            "graph": "identity", "learn_graph": False,
        },
        "lr": 0.01, "batch_size": 32, "epochs": 3,
    },
    "huynh2020-coco-curriculum": {
        "backbone": "vgg16", "relabel": "score", "relabel_settings": {"epochs": [1, 2, 3, 4]}, "keep_head": True,
    },
    "huynh2020-cub-wsabie": {"backbone": "resnet101", "lr": 0.01, "epochs": 3, "head": "embedding", "keep_head": False},
    "kim2022-wan-linear-init": {
        "method": "assume-negative", "settings": {"weight": None}, "stages": "linear-then-fine-tune",
        "linear_epochs": 25, "epochs": 10, "head_lr_scale": 10,
    },
    "kim2022-openimages-an-ls": {
        "settings": {"smoothing": 0.1}, "backbone": "resnet101", "image_size": 224, "batch_size": 72, "devices": 4,
        "epochs": 20, "lr": 2e-5,
    },
    "kim2022-openimages-ll-cp-absolute": {
        "method": "large-loss", "settings": {"mode": "correct-for-good", "start": 2.0, "delta": 0.1},
        "backbone": "resnet101",
    },
    "huynh2020-coco-imcl": {
        "backbone": "vgg16", "lr": 0.01, "lr_schedule": "step", "lr_step_epochs": 2, "lr_step_factor": 0.1, "epochs": 4,
        "settings": {
            "label_weight": 0.5, "feature_weight": 0.5, "neighbors": 3, "warm_up": 0, "graph_lr": 0.01,
            "memory": 10_000,
        },
    },
    "wang2023": {
        "method": "self-training", "head": "saliency", "head_settings": {},
        "settings": {"normalize": "batch", "threshold": 0.6},
        "backbone": "resnet101", "optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.0001, "batch_size": 32,
    },
    "wang2023-bn-bce": {"method": "known-only", "head": "gap", "settings": {"normalize": "batch"}},
    "wang2023-sr": {"method": "known-only", "head": "saliency", "settings": {"normalize": "batch"}},
}  # fmt: skip


def test_all_rows_of_wang_table_2_but_the_first_have_the_mean_over_a_batch():
    rows = {each.recipe for each in figures() if (each.paper, each.table) == ("wang2023", "table 2")}
    normalized = {name: resolve(name).settings["normalize"] for name in rows}
    assert normalized == {**dict.fromkeys(rows, "batch"), "wang2023-s-bce": "all"} and len(rows) == 7


def test_an_absolute_threshold_stays_above_0_so_that_not_every_unknown_label_is_large():
    recipes = {name: recipe for name, recipe in RECIPES.items() if name.endswith("-absolute")}
    assert len(recipes) == 2 * 3
    for name, recipe in recipes.items():
        config, about = recipe(), recipe.__doc__ or ""
        start, delta = config.settings["start"], config.settings["delta"]
        assert start in (1, 1.5, 2) and delta in (0.1, 0.15, 0.2)  # the grid of the paper
        assert "Grid: start 1, 1.5, 2, delta 0.1, 0.15, 0.2" in about and "the paper does not say" in about
        above = [epoch for epoch in range(1, config.epochs + 1) if start - epoch * delta > 1e-9]
        assert len(above) >= config.epochs - 1, name


def test_recipes_have_the_published_settings():
    for recipe, settings in PUBLISHED.items():
        config = RECIPES[recipe]().to_json()
        assert {name: config[name] for name in settings} == settings, recipe
    assert relabel_epochs(RECIPES["durand2019"]().epochs) == (10, 15)
    defaults = METHODS["imcl"].Settings()
    assert (defaults.label_weight, defaults.feature_weight, defaults.neighbors) == (1.0, 0.5, 5)
    assert defaults.label_neighbors == 50 and defaults.graph == "co-occurrence"
    known = METHODS["known-only"].Settings()
    assert (known.gamma, known.at, known.value) == (1, 0.1, 5)
    assert vars(HEADS["weldon"].Settings()) == {"top": 0.1, "bottom": 0.1}
    assert vars(HEADS["saliency"].Settings()) == {"alpha": 0.5, "k": 5}
    assert {name: strategy.threshold for name, strategy in STRATEGIES.items()} == {
        "score": 2, "proportion": 0.8, "positive": 5, "ensemble": 2, "uncertainty": 0.3, "all": None
    }  # fmt: skip


def test_every_recipe_comes_back_from_json():
    for name, recipe in RECIPES.items():
        assert Config.from_json(json.loads(json.dumps(recipe().to_json()))) == recipe(), name


def test_a_name_or_a_configuration_is_resolved():
    assert resolve("small") == RECIPES["small"]()
    config = Config(epochs=7)
    assert resolve(config) is config
    with pytest.raises(TrilabelError, match=r"no recipe named 'cole2021-roll'; try .*cole2021-role"):
        resolve("cole2021-roll")
