"""Text files of other programs."""

from pathlib import Path

import pytest

from trilabel.data.text_files import peek, peeking_once, read_lines, read_text
from trilabel.errors import TrilabelError


def refusal(action, file: Path) -> str:
    with pytest.raises(TrilabelError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(file), "FILE")


def test_lines(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes("\ufeffone\r\n\r\n  zwölf  2 \n\n".encode())
    assert list(read_lines(file)) == [(1, "one"), (3, "zwölf  2")]
    file.write_bytes(b"one\ntw\0o\n")
    assert refusal(lambda: list(read_lines(file)), file) == (
        "FILE, line 2: contains a zero byte, so it is not text; write it again"
    )


def test_a_folder_is_no_text(tmp_path):
    assert (
        refusal(lambda: read_text(tmp_path), tmp_path)
        == "FILE: not a regular file (a folder); put the file in its place"
    )


def test_the_start_of_a_file_is_kept_inside_peeking_once_only(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"one")
    with peeking_once():
        assert peek(file) == b"one"
        file.write_bytes(b"two")
        assert peek(file) == b"one"
        assert peek(tmp_path) == b"" and peek(file) == b"two"  # only the last one is kept
    file.write_bytes(b"six")
    assert peek(file) == b"six" and peek(tmp_path / "no\0name") == b""
