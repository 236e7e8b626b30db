"""Only regular files are opened, up to a size that can be raised; what else has the name of a file is named."""

import os
import socket
from pathlib import Path

import pytest

from tests.support.strange_files import as_somebody_else, closed_file, make_pipe
from trilabel.errors import TrilabelError
from trilabel.input_files import IMAGE_BYTES, IMAGE_PIXELS, TEXT_BYTES, limit, open_input, read_input


def refused(path, most=None):
    with pytest.raises(TrilabelError) as caught:
        open_input(path, most)
    return str(caught.value)


def test_a_regular_file_is_opened_also_through_a_link(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        with open_input(tmp_path / name) as opened:
            assert opened.read() == b"content"


def test_what_is_no_regular_file_is_named(tmp_path):
    pipe = make_pipe(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(pipe)
    address = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(tmp_path)  # the address of a socket has a hundred letters at most
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
    for path, kind in {
        pipe: "a named pipe",
        tmp_path / "link": "a named pipe",
        address: "a socket",
        tmp_path: "a folder",
        Path("/dev/zero"): "a device",
    }.items():
        assert refused(path) == f"{path}: not a regular file ({kind}); put the file in its place"


def test_a_missing_file_is_left_to_the_caller_who_knows_what_it_is(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_input(tmp_path / "none")
    assert "zero byte" in refused(f"{tmp_path}/a\0b")


def test_a_file_that_may_not_be_read():
    with closed_file(b"secret") as path, as_somebody_else():
        assert refused(path) == f"{path}: may not be read (permission denied)"


def test_a_file_that_is_too_large_says_how_to_allow_it(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"12345678")
    monkeypatch.setenv(IMAGE_BYTES, "7")
    expected = (
        "8 bytes, more than the 7 allowed; if you trust it, set the environment variable TRILABEL_MAX_IMAGE_BYTES"
    )
    assert expected in refused(tmp_path / "file", IMAGE_BYTES)
    monkeypatch.setenv(IMAGE_BYTES, "8")
    open_input(tmp_path / "file", IMAGE_BYTES).close()
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    monkeypatch.delenv(IMAGE_BYTES)
    assert "more than the 536,870,912 allowed" in refused(tmp_path / "sparse", IMAGE_BYTES)


def test_a_file_that_is_longer_than_its_size(monkeypatch):
    path = Path("/proc/self/maps")
    if not path.is_file():
        pytest.skip("this system has no such files")
    assert path.stat().st_size == 0 and len(read_input(path)) > 1000
    monkeypatch.setenv(TEXT_BYTES, "1000")
    with pytest.raises(TrilabelError, match=f"maps: more bytes than its size says, .* set .* {TEXT_BYTES}"):
        read_input(path)


def test_a_limit_is_a_whole_number(monkeypatch):
    assert limit(IMAGE_PIXELS) == 178_956_970
    monkeypatch.setenv(IMAGE_PIXELS, "many")
    with pytest.raises(TrilabelError, match="TRILABEL_MAX_IMAGE_PIXELS is 'many'; set it to a whole number"):
        limit(IMAGE_PIXELS)
