"""No command hangs or fills the memory because of what a path leads to."""

import shutil
from pathlib import Path

import pytest

from tests.support.command_line import QUICK, Capture, call, complaint, result
from tests.support.strange_files import make_pipe


@pytest.fixture
def strange(project: Path, tmp_path: Path) -> Path:
    """A part of the project in which one image is a pipe, one a device, and one a pipe of the same size."""
    lines = (project / "labels.csv").read_text().splitlines()
    train = [line for line in lines if line.endswith(",train")][:20]
    (tmp_path / "photos").mkdir()
    for line in train:
        shutil.copy(project / "photos" / line.partition(",")[0], tmp_path / "photos")
    first, second, third = (tmp_path / "photos" / line.partition(",")[0] for line in train[:3])
    for path in (first, second, third):
        path.unlink()
    make_pipe(first)
    make_pipe(second)
    third.symlink_to("/dev/zero")
    (tmp_path / "labels.csv").write_text("\n".join([lines[0], *train]) + "\n")
    return tmp_path


def test_images_that_are_no_files(strange, run, capsys: Capture):
    table, photos = strange / "labels.csv", strange / "photos"
    data = (table, "--images", photos)
    assert "not a regular file (a named pipe)" in complaint(capsys, "train", *data, "--out", strange / "run", *QUICK)
    skipped = ("train", *data, "--out", strange / "run", *QUICK, "--epochs", "1", "--broken", "skip", "--val", "0.2")
    assert call(*skipped) == 0
    found = result(capsys, "data", "inspect", *data, "--duplicates")
    assert found["duplicates"]["images_without_file"] == 3 and found["images_without_file"] == 3
    assert "not a regular file" in complaint(capsys, "predict", run, photos, "--workers", "0")
    assert len(result(capsys, "predict", run, photos, "--workers", "0", "--broken", "skip")) == 17
    assert "not a regular file" in complaint(capsys, "evaluate", run, *data, "--split", "train")
    assert "not a regular file" in complaint(
        capsys, "maps", run, "--data", *data, "--split", "train", "--out", strange / "maps"
    )


def test_data_and_side_files_that_are_no_files(project, tmp_path, capsys: Capture):
    pipe = make_pipe(tmp_path / "pipe.csv")
    expected = f"{pipe}: not a regular file (a named pipe); put the file in its place"
    table = project / "labels.csv"
    for command in (
        ("data", "inspect", pipe),
        ("data", "convert", pipe, "--out", tmp_path / "a.csv"),
        ("data", "merge", f"a={table}", f"b={table}", "--map", pipe, "--out", tmp_path / "a.csv"),
        ("train", table, "--splits", f"val={pipe}", "--out", tmp_path / "run", *QUICK),
        ("compare", table, "--rows", pipe, "--out", tmp_path / "comparison"),
    ):
        assert complaint(capsys, *command) == f"trilabel: {expected}"
