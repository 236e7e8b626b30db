"""Checks that several commands make."""

from pathlib import Path

import pytest

from trilabel.cli.arguments import (
    UsageError,
    absolute_path,
    check_output,
    check_output_folder,
    require_positive,
    split_pair,
    split_pairs,
)
from trilabel.errors import TrilabelError


def test_names_and_values() -> None:
    assert split_pair("--set", "a=b=c") == ("a", "b=c")
    assert split_pairs("--set", ["a=1", "b=", "a=1"]) == {"a": "1", "b": ""}
    with pytest.raises(UsageError, match="--set a: write NAME=VALUE"):
        split_pair("--set", "a")
    with pytest.raises(UsageError, match="--set a is given twice"):
        split_pairs("--set", ["a=1", "a=2"])


def test_numbers_of_things() -> None:
    require_positive(top=1, limit=20)
    with pytest.raises(UsageError, match="--batch-size 0: give 1 or more"):
        require_positive(top=1, batch_size=0)


def test_only_what_exists_becomes_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").touch()
    assert [absolute_path(text) for text in ("a", "b", "", None)] == [str(tmp_path / "a"), "b", "", None]


def test_nothing_is_replaced_unless_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check_output(tmp_path / "new", overwrite=False)
    check_output_folder(tmp_path / "new", overwrite=False)
    check_output(tmp_path / "file", overwrite=True)
    check_output_folder(tmp_path, overwrite=True)
    with pytest.raises(TrilabelError, match="this file exists; choose another name, or pass --overwrite"):
        check_output(tmp_path / "file", overwrite=False)
    for check in (check_output, check_output_folder):
        with pytest.raises(TrilabelError, match="this folder exists; choose another, or pass --overwrite"):
            check(tmp_path, overwrite=False)
    with pytest.raises(TrilabelError, match="this is a file; give a folder"):
        check_output_folder(tmp_path / "file", overwrite=True)
