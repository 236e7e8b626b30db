"""Text becomes what a setting declares, or an error that says what it should be."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import pytest

from trilabel.errors import TrilabelError
from trilabel.methods import METHODS
from trilabel.settings import NoSettings, choices_of, read_as, settings_of


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
        ("share", "half", "setting 'share' of method 'm' must be a finite number, not 'half'"),
        ("count", "2.5", "setting 'count' of method 'm' must be a whole number, not '2.5'"),
        ("on", "yes", "setting 'on' of method 'm' must be true or false, not 'yes'"),
        ("weight", "heavy", "setting 'weight' of method 'm' must be a finite number, not 'heavy'"),
        ("color", "1", "method 'm' has no setting 'color'; it has: share, count, on, kind, weight, limit, name"),
    ],
)
def test_text_that_cannot_be_read_is_refused(name, value, says):
    with pytest.raises(TrilabelError) as caught:
        settings_of(Example, {name: value}, "m")
    assert str(caught.value) == says


def test_the_settings_of_every_method_can_be_given_as_text():
    for name, method in METHODS.items():
        kind = method.Settings
        text = {each.name: str(each.default) for each in fields(kind)}
        assert settings_of(kind, text, name) == kind()


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (int | float | str, "4", 4),
        (int | float | str, "0.1", 0.1),
        (int | float | str, "val.txt", "val.txt"),
        (str | int, "2012", 2012),
        (float | None, "None", None),
        (str | None, "none", None),
        (Literal["none", "all"], "none", "none"),
        (Literal["32", "bf16"], 32, "32"),
        (str, 0.2, "0.2"),
        (str, Path("a/b"), "a/b"),
        (str | Path | None, Path("a"), Path("a")),
        (tuple[int, ...] | None, "10,15", (10, 15)),
        (tuple[int, ...] | None, 10, (10,)),
        (tuple[str, ...], "", ()),
        (Sequence[str], "a,b", ["a", "b"]),
        (bool, "TRUE", True),
    ],
)
def test_a_value_is_read_as_what_is_declared(hint, value, expected):
    read = read_as(hint, value, "it")
    assert read == expected and type(read) is type(expected)


@pytest.mark.parametrize(
    ("hint", "value", "says"),
    [
        (int, True, "it must be a whole number, not True"),
        (float, "nan", "it must be a finite number, not 'nan'"),
        (int, 10**400, f"it must be a whole number, not {10**400}"),
        (str, True, "it must be text, not True"),
        (str, ["a"], "it must be text, not ['a']"),
        (Literal["a", "b"], "c", "it must be one of a, b; not 'c'"),
        (tuple[int, ...], "1,x", "it must be a whole number, not 'x'"),
        (float | bool, "x", "it must be a finite number or true or false, not 'x'"),
        (int, None, "it must be a whole number, not None"),
    ],
)
def test_a_value_of_another_kind_is_refused(hint, value, says):
    with pytest.raises(TrilabelError) as caught:
        read_as(hint, value, "it")
    assert str(caught.value) == says


def test_a_part_without_settings_says_so():
    with pytest.raises(TrilabelError, match=r"^graph 'g' has no setting 'a'; it has none$"):
        settings_of(NoSettings, {"a": 1}, "g", "graph")


def test_choices_are_listed_after_the_default():
    assert choices_of(Literal["a", "b", "c"], "b") == "b|a|c"
    assert [choices_of(object, value) for value in (None, False, 0.5, ())] == ["none", "false", "0.5", "…"]
