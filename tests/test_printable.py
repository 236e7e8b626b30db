"""What others wrote is shown, never obeyed by the terminal."""

import json
import os
import shlex
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trilabel.printable import command_line, in_number, json_escaped, message, plural, printable, without_controls

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
VISIBLE = set("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")


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
        ("\U0001f3f4\U000e0067", "\U0001f3f4\\U000e0067"),
    ],
)
def test_control_and_format_characters_are_made_visible(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Straße",
        "鳥",
        "नमस्ते",
        "می‌خواهم",
        "👨‍👩‍👧 family",
        "❤️",
        "C:\\new\\table",
        "[red]$x$",
        "é",
        ENGLAND,
        "\u0600\u06dd",
    ],
)
def test_letters_of_all_languages_and_emoji_stay_as_they_are(text):
    assert printable(text) == text


@given(st.text(st.characters()))
def test_nothing_that_moves_the_cursor_is_left(text):
    shown = printable(text)
    kinds = {unicodedata.category(letter) for letter in shown} - {"Cf"}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    assert {letter for letter in shown if unicodedata.category(letter) == "Cf"} <= VISIBLE
    shown.encode()


def test_documents_have_no_escapes():
    assert without_controls(f"\x1b[31mred\u202e {ENGLAND}\n") == f"[31mred {ENGLAND}"


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


def test_counts_in_the_right_number() -> None:
    assert [plural(count, "image") for count in (0, 1, 2, 12_345)] == [
        "0 images",
        "1 image",
        "2 images",
        "12,345 images",
    ]
    assert plural(2, "class") == "2 classes" and plural(2, "image has", "images have") == "2 images have"


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        ("1 images have no file in photos", "1 image has no file in photos"),
        ("1 classes have no description: codes stand there", "1 class has no description: codes stand there"),
        ("1 boxes of labels left out", "1 box of labels left out"),
        ("1 labels are given twice: they are unknown", "1 label is given twice: it is unknown"),
        ("1 of 4 images have no file", "1 of 4 images have no file"),
        ("11 images have no file", "11 images have no file"),
        ("empty cells are unknown", "empty cells are unknown"),
    ],
)
def test_notes_about_one(note: str, shown: str) -> None:
    assert in_number(note) == shown


def test_commands_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["trilabel", "train", "--resume", "my runs/it's; rm -rf $HOME"]
    assert shlex.split(command_line(*words)) == words
    monkeypatch.setattr(os, "name", "nt")
    assert command_line("trilabel", "train", "--resume", "C:\\my runs\\a") == (
        'trilabel train --resume "C:\\my runs\\a"'
    )
