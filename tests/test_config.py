"""Configurations survive JSON and refuse values that make no sense."""

import json
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from trilabel.config import Config
from trilabel.errors import TrilabelError


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
    with pytest.raises(
        TrilabelError, match="stages must be one of auto, fine-tune, linear, linear-then-fine-tune, not 'finetune'"
    ):
        Config(stages="finetune")


def test_the_outermost_sensible_values_are_taken():
    Config(crop=1.0, ema=0.0, workers=0, weight_decay=0, momentum=0, epochs=1, image_size=None, patience=1, seed=0)


def test_a_configuration_does_not_change():
    with pytest.raises(FrozenInstanceError):
        Config().epochs = 3


@pytest.mark.parametrize("name", ["image_size", "batch_size", "workers", "devices"])
def test_sizes_in_a_strangers_configuration_are_bounded_before_anything_is_made(name):
    with pytest.raises(TrilabelError, match=f"{name} must be at most .*, not 1,000,000,000"):
        Config.from_json({**Config().to_json(), name: 10**9})
