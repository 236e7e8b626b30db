"""What others wrote is shown, never obeyed by the terminal."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trilabel.printable import json_escaped, message, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\r\n", "two\\nlines\\r\\n"),
        ("a\tb", "a\\tb"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("nothing\0", "nothing\\x00"),
        ("\x9b31m", "\\x9b31m"),
        ("\x7f", "\\x7f"),
        ("caf\udce9", "caf\\udce9"),
        ("line\u2028paragraph\u2029", "line\\u2028paragraph\\u2029"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("hid\U000e0041den", "hid\\U000e0041den"),
    ],
)
def test_control_and_format_characters_are_made_visible(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    "text", ["Straße", "鳥", "नमस्ते", "می‌خواهم", "👨‍👩‍👧 family", "❤️", "C:\\new\\table", "[red]$x$", "é"]
)
def test_letters_of_all_languages_and_emoji_stay_as_they_are(text):
    assert printable(text) == text


@given(st.text(st.characters()))
def test_nothing_that_moves_the_cursor_is_left(text):
    shown = printable(text)
    kinds = {unicodedata.category(letter) for letter in shown} - {"Cf"}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    assert {letter for letter in shown if unicodedata.category(letter) == "Cf"} <= {"\u200c", "\u200d"}
    shown.encode()


def test_long_names_are_shortened_in_messages_and_long_messages_too():
    path = "/data/" + "folder/" * 30 + "image.jpg"
    assert message(f"{path}: no such image") == f"{path}: no such image"
    short = message(f"class '{'x' * 10_000}end' is listed twice")
    assert (
        short.startswith("class 'xxx")
        and "x…x" in short
        and short.endswith("end' is listed twice")
        and len(short) < 500
    )
    assert len(message("many words " * 10_000)) < 9000
    assert message("line\nend") == "line\\nend"


@given(st.text(st.characters()))
def test_json_stays_exact(text):
    written = json.dumps({"name": text, text: 1}, ensure_ascii=False, indent=1)
    shown = json_escaped(written)
    assert json.loads(shown) == json.loads(written)
    assert printable(shown.replace("\n", "")) == shown.replace("\n", "")
    shown.encode()
