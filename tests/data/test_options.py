"""Options of readers and writers."""

from pathlib import Path

import pytest

from trilabel.data import FORMATS
from trilabel.data.options import check_choice, options_from_text
from trilabel.errors import TrilabelError


def test_a_choice_that_is_none_is_refused():
    check_choice(Path("x.json"), "unlisted", "absent", ("absent", "unknown"))
    with pytest.raises(TrilabelError, match=r"^x.json: unlisted='no': use one of 'absent', 'unknown'$"):
        check_choice(Path("x.json"), "unlisted", "no", ("absent", "unknown"))


def test_options_given_as_text(tmp_path):
    reader = FORMATS["open-images"].read
    texts = {"machine": "0.5", "classes": "trainable"}
    assert options_from_text(tmp_path, reader, texts) == {"machine": 0.5, "classes": "trainable"}
    assert options_from_text(tmp_path, reader, {"machine": "none"}) == {"machine": None}
    assert options_from_text(tmp_path, FORMATS["csv"].read, {"ignore": "a,b"}) == {"ignore": ["a", "b"]}
    assert options_from_text(tmp_path, FORMATS["voc"].read, {"boxes": "false"}) == {"boxes": False}
    for texts, message in (
        ({"machine": "much"}, "finite number"),
        ({"classes": "x"}, "trainable"),
        ({"x": "1"}, "no option 'x'"),
    ):
        with pytest.raises(TrilabelError, match=message):
            options_from_text(tmp_path, reader, texts)
