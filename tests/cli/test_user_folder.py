"""Where trilabel keeps what it remembers, and what happens to a damaged file."""

import json
from pathlib import Path

import pytest

from trilabel.cli.user_folder import (
    DefaultWeights,
    default_weights,
    fetched,
    forget,
    remember,
    settings_file,
    weights_folder,
)
from trilabel.errors import TrilabelError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRILABEL_HOME", str(tmp_path))
    return tmp_path


def test_what_is_remembered_is_read_back_until_it_is_forgotten(home: Path) -> None:
    assert default_weights() is None
    remember(DefaultWeights("/weights/ß.safetensors", "resnet50-v1"))
    assert default_weights() == DefaultWeights("/weights/ß.safetensors", "resnet50-v1")
    assert settings_file() == home / "settings.json" and fetched("a") == home / "weights" / "a.safetensors"
    forget()
    assert default_weights() is None
    forget()


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"default_weights": {"weights": "a"}}'),
        b'{"default_weights": {"weights": 1, "backbone": null}}',
        b'{"default_weights": {"weights": "a", "backbone": "b", "c": 1}}',
    ],
)
def test_a_damaged_file_is_one_line_that_says_what_to_do(content: bytes) -> None:
    settings_file().write_bytes(content)
    with pytest.raises(TrilabelError, match=r"settings\.json: damaged, .* `trilabel weights --forget`") as caught:
        default_weights()
    assert "\n" not in str(caught.value)
    forget()
    assert default_weights() is None


@pytest.mark.parametrize(
    ("platform", "settings", "weights"),
    [
        ("linux", ".config/trilabel", ".local/share/trilabel"),
        ("darwin", "Library/Application Support/trilabel", "Library/Application Support/trilabel"),
        ("win32", "Roaming/trilabel", "Local/trilabel"),
    ],
)
def test_each_system_has_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, settings: str, weights: str
) -> None:
    for name in ("TRILABEL_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("APPDATA", str(tmp_path / "Roaming"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "Local"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr("sys.platform", platform)
    assert settings_file() == tmp_path / settings / "settings.json"
    assert weights_folder() == tmp_path / weights / "weights"
    if platform == "linux":
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
        assert settings_file() == tmp_path / "own/trilabel/settings.json"
        monkeypatch.setenv("XDG_CONFIG_HOME", "relative")  # which the XDG specification says to ignore
        assert settings_file() == tmp_path / ".config/trilabel/settings.json"


def test_who_has_no_home_has_no_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in containers that run as a user whom nobody knows, or with the home of another."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRILABEL_HOME", str(tmp_path / "file"))
    assert default_weights() is None
    monkeypatch.delenv("TRILABEL_HOME")
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    pwd = pytest.importorskip("pwd")
    monkeypatch.setattr(pwd, "getpwuid", lambda _: {}["unknown"])
    assert default_weights() is None
    with pytest.raises(TrilabelError, match="no home folder; name one in the environment variable TRILABEL_HOME"):
        remember(DefaultWeights("a", "b"))


def test_the_file_is_plain_json(home: Path) -> None:
    remember(DefaultWeights("a", "b"))
    assert json.loads((home / "settings.json").read_text()) == {"default_weights": {"weights": "a", "backbone": "b"}}
