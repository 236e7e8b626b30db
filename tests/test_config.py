"""Configurations survive JSON, refuse what makes no sense, and read settings given as text."""

import json
import re
from dataclasses import FrozenInstanceError, dataclass, fields, replace

import pytest

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.methods import METHODS
from trilabel.models import HEADS, check_graph, check_head
from trilabel.recipes import RECIPES
from trilabel.settings import settings_of
from trilabel.training.relabelling import STRATEGIES, check_relabel, relabel_epochs


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_says_where_it_is_from_and_has_a_method_that_takes_its_settings(recipe):
    config, about = RECIPES[recipe](), RECIPES[recipe].__doc__ or ""
    assert "\n" not in about
    if "20" in recipe:
        papers = "Cole 2021|Kim 2022|Durand 2019|Huynh 2020|Wang 2023"
        assert re.search(f"^({papers}), (table|appendix|figure) ", about)
        assert "Grid: " in about or "baseline" in about
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
    "durand2019-bce": {"settings": {"normalize": "all"}, "graph": "none", "relabel": "none"},
    "durand2019-gnn": {"settings": {"normalize": "share"}, "graph": "gnn", "relabel": "none"},
    "durand2019-score": {"graph": "gnn", "relabel": "score", "relabel_settings": {}},
    "durand2019-two-steps": {"graph": "gnn", "relabel": "all", "relabel_settings": {"epochs": [10]}},
    "huynh2020-openimages-imcl": {
        "backbone": "resnet101", "settings": {"label_weight": 1.0, "feature_weight": 0.5, "neighbors": 5},
        "optimizer": "rmsprop", "lr": 0.001, "batch_size": 32, "epochs": 1, "stages": "fine-tune", "keep_head": True,
    },
    "huynh2020-openimages-imcl-linear": {"stages": "linear"},
    "huynh2020-cub-imcl": {
        "settings": {"label_weight": 2.0, "feature_weight": 0.5, "neighbors": 5, "graph": "identity"},
        "lr": 0.01, "batch_size": 32, "epochs": 3,
    },
    "huynh2020-coco-imcl": {
        "backbone": "vgg16", "lr": 0.01, "lr_schedule": "step", "lr_step_epochs": 2, "lr_step_factor": 0.1, "epochs": 4,
        "settings": {"label_weight": 0.5, "feature_weight": 0.5, "neighbors": 3, "memory": 10_000},
    },
    "wang2023": {
        "method": "self-training", "head": "saliency", "head_settings": {}, "settings": {"threshold": 0.6},
        "backbone": "resnet101", "optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.0001, "batch_size": 32,
    },
    "wang2023-bn-bce": {"method": "known-only", "head": "gap", "settings": {"normalize": "batch"}},
    "wang2023-sr": {"method": "known-only", "head": "saliency", "settings": {"normalize": "batch"}},
}  # fmt: skip


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


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_comes_back_from_json(recipe):
    config = RECIPES[recipe]()
    text = json.dumps(config.to_json())
    assert Config.from_json(json.loads(text)) == config


def test_settings_and_changed_values_come_back_from_json():
    config = Config(
        method="x", settings={"a": 1.5, "b": None, "c": "text", "d": True}, lr=3e-7, patience=3, compile=True
    )
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == config
    assert set(config.to_json()) == {each.name for each in fields(Config)}


def test_names_of_another_version_are_refused():
    with pytest.raises(TrilabelError, match="unknown settings color, size: written by another version"):
        Config.from_json({"size": 3, "color": "red", "epochs": 2})
    assert Config.from_json({}) == Config()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epochs", [0, -1]),
        ("linear_epochs", [0]),
        ("batch_size", [0, -8]),
        ("accumulate", [0]),
        ("lr", [0, -1e-3, float("nan"), float("inf")]),
        ("linear_lr", [0, -1]),
        ("head_lr_scale", [-1]),
        ("lr_step_epochs", [0]),
        ("lr_step_factor", [0, -0.1]),
        ("clip_gradient", [0, -1]),
        ("image_size", [0, -64]),
        ("patience", [0, -1]),
        ("devices", [0]),
        ("workers", [-1]),
        ("weight_decay", [-0.1, float("nan")]),
        ("momentum", [-0.1]),
        ("seed", [-1]),
        ("save_minutes", [-1]),
        ("crop", [0, -0.1, 1.1, float("nan")]),
        ("erase", [-0.1, 1.1, float("nan")]),
        ("ema", [-0.1, 1, 1.5, float("nan")]),
        ("cache", ["disk", "", None]),
        ("broken", ["ignore"]),
        ("stages", ["finetune"]),
        ("optimizer", ["adamW", "lion"]),
        ("lr_schedule", ["linear"]),
        ("precision", ["16", 32]),
    ],
)
def test_values_that_make_no_sense_are_refused(name, values):
    for value in values:
        with pytest.raises(TrilabelError, match=f"^{name} ") as caught:
            Config(**{name: value})
        assert str(value) in str(caught.value) and "\n" not in str(caught.value)
        with pytest.raises(TrilabelError):
            replace(Config(), **{name: value})


def test_choices_are_named_when_one_is_wrong():
    with pytest.raises(TrilabelError, match="stages is fine-tune, linear, linear-then-fine-tune; not 'finetune'"):
        Config(stages="finetune")


def test_the_outermost_sensible_values_are_taken():
    Config(crop=1.0, ema=0.0, workers=0, weight_decay=0, momentum=0, epochs=1, image_size=None, patience=1, seed=0)


def test_a_configuration_does_not_change():
    with pytest.raises(FrozenInstanceError):
        Config().epochs = 3


# ---- settings of methods


@dataclass(frozen=True)
class Example:
    share: float = 0.5
    count: int = 3
    on: bool = True
    kind: str = "plain"
    weight: float | None = 1.0
    limit: float | None = None
    name: str | None = None


def test_text_is_read_as_the_type_of_the_setting():
    text = {"share": "0.25", "count": "7", "on": "False", "kind": "none", "weight": "2", "limit": "1e-3"}
    assert settings_of(Example, text, "m") == Example(0.25, 7, False, "none", 2.0, 0.001)
    assert settings_of(Example, {"on": "TRUE"}, "m").on is True
    assert settings_of(Example, {"share": "1"}, "m").share == 1.0


def test_none_is_read_where_a_setting_may_be_none():
    for name in ("weight", "limit", "name"):
        for text in ("none", "None", None):
            assert getattr(settings_of(Example, {name: text}, "m"), name) is None
    for name in ("share", "count", "on"):
        with pytest.raises(TrilabelError, match=f"setting '{name}' of method 'm'"):
            settings_of(Example, {name: "none"}, "m")


def test_values_that_are_no_text_stay_what_they_are():
    values = {"share": 1, "count": 2, "on": False, "kind": "x", "weight": None}
    assert settings_of(Example, values, "m") == Example(1, 2, False, "x", None)
    assert settings_of(Example, {}, "m") == Example()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("share", "half", "setting 'share' of method 'm' is a finite number, not 'half'"),
        ("count", "2.5", "setting 'count' of method 'm' is a whole number, not '2.5'"),
        ("on", "yes", "setting 'on' of method 'm' is true or false, not 'yes'"),
        ("weight", "heavy", "setting 'weight' of method 'm' is a finite number, not 'heavy'"),
        ("color", "1", "method 'm' has no setting 'color'; it has: share, count, on, kind, weight, limit, name"),
    ],
)
def test_text_that_cannot_be_read_is_refused(name, value, says):
    with pytest.raises(TrilabelError) as caught:
        settings_of(Example, {name: value}, "m")
    assert str(caught.value) == says


@pytest.mark.parametrize("method", METHODS)
def test_the_settings_of_every_method_can_be_given_as_text(method):
    kind = METHODS[method].Settings
    text = {each.name: str(each.default) for each in fields(kind)}
    assert settings_of(kind, text, method) == kind()
    with pytest.raises(TrilabelError, match=f"method '{method}' has no setting 'color'"):
        settings_of(kind, {"color": 1}, method)
