"""What is left out is named, all of it."""

import logging
from pathlib import Path

import pytest

from trilabel.data import left_out
from trilabel.data.image_paths import find_images
from trilabel.data.left_out import log_left_out, readable_images, write_left_out
from trilabel.errors import TrilabelError

MESSAGES = ["a.png: broken image", "b\x1b.png: no such image", "c.png: broken image"]


def test_all_in_the_log_or_in_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "trilabel"):
        log_left_out([], 9)
        assert not caplog.messages
        log_left_out(MESSAGES, 9)
        assert caplog.messages[0] == "3 of 9 images left out:" and len(caplog.messages) == 4
        caplog.clear()
        log_left_out(MESSAGES[:1], 1, tmp_path / "list.txt")
        assert caplog.messages == [
            f"1 of 1 image left out, listed in {tmp_path / 'list.txt'}; the first: a.png: broken image"
        ]
    write_left_out(MESSAGES, tmp_path / "list.txt")
    assert (tmp_path / "list.txt").read_text().splitlines() == [MESSAGES[0], "b\\x1b.png: no such image", MESSAGES[2]]


def test_files_beside_images_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    images = ["a.jpg", "b.HEIC", "c.heif"]
    files = [*images, "n.txt", "m.txt", "Makefile"]
    monkeypatch.setattr(left_out, "can_read_heif", lambda: False)
    found, notes = readable_images(files, images)
    assert found == ["a.jpg"]
    assert notes == [
        "2 HEIC images left out, such as 'b.HEIC'; install what reads it (pip install pillow-heif), or convert it to "
        "JPEG",
        "3 files that are no images are left out (2 .txt, 1 without extension)",
    ]
    monkeypatch.setattr(left_out, "can_read_heif", lambda: True)
    assert readable_images(images, images) == (images, [])


def test_a_folder_says_what_it_skips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(left_out, "can_read_heif", lambda: False)
    for name in ("a.jpg", "b.heic", "notes.txt"):
        (tmp_path / name).touch()
    with caplog.at_level(logging.WARNING, "trilabel"):
        assert find_images(tmp_path) == [str(tmp_path / "a.jpg")]
    assert "pip install pillow-heif" in caplog.text and "1 file that is no image is left out (1 .txt)" in caplog.text
    (tmp_path / "a.jpg").unlink()
    with pytest.raises(TrilabelError, match=r"no image in this folder .*; 1 HEIC image left out"):
        find_images(tmp_path)
