"""Changing fields and settings of a configuration by name."""

from dataclasses import replace

from trilabel.compare.changes import with_changes
from trilabel.config import Config


def test_changing_fields_and_settings():
    config = Config(method="large-loss", settings={"mode": "correct"}, head="saliency", head_settings={"k": 3})
    assert with_changes(config, {"lr": "1e-4", "epochs": 3, "flip": "false"}, "") == replace(
        config, lr=1e-4, epochs=3, flip=False
    )
    both = {"settings.delta": 0.5, "settings.start": 1.0, "head_settings.alpha": 0.1}
    found = with_changes(config, both, "")
    assert found.settings == {"mode": "correct", "delta": 0.5, "start": 1.0}
    assert found.head_settings == {"k": 3, "alpha": 0.1}
    assert config.settings == {"mode": "correct"} and config.head_settings == {"k": 3}, "it is left as it is"
    assert with_changes(config, {"settings": {"delta": 0.5}}, "").settings == {"mode": "correct", "delta": 0.5}


def test_settings_go_with_their_part():
    config = Config(method="large-loss", settings={"mode": "correct"}, head="saliency", head_settings={"k": 3})
    assert with_changes(config, {"method": "large-loss"}, "") == config
    assert with_changes(config, {"method": "role"}, "") == replace(config, method="role", settings={})
    other = {"settings.smoothing": 0.1, "method": "assume-negative"}
    assert with_changes(config, other, "") == replace(config, method="assume-negative", settings={"smoothing": 0.1})
    assert with_changes(config, {"head": "gap"}, "") == replace(config, head="gap", head_settings={})


def test_numbers_may_be_given_for_text():
    found = with_changes(Config(), {"val": 0.2, "precision": 32}, "")
    assert (found.val, found.precision) == ("0.2", "32")
