"""Components from a user's file on the command line: trained, resumed, scored; never run unasked."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trilabel as tl
from tests.support.command_line import QUICK, Capture, call, complaint, result
from tests.support.outside import CODE, new_process, times_run, write_code

SMALL = [*QUICK, "--epochs", "1"]


@pytest.fixture(autouse=True)
def nothing_is_loaded() -> Iterator[None]:
    """Each command runs in a process of its own."""
    with new_process():
        yield


@pytest.fixture(scope="module")
def lines(project: Path) -> Path:
    """The training images of the project in the format of the file."""
    rows = [line.split(",") for line in (project / "labels.csv").read_text().splitlines()]
    classes = rows[0]
    listed = [[row[0], *(name for name, cell in zip(classes, row, strict=True) if cell == "1")] for row in rows[1:]]
    file = project / "labels.lines"
    file.write_text("".join(f"{' '.join(words)}\n" for words in listed))
    return file


@pytest.fixture(scope="module")
def trained(lines: Path, project: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(the file, a run with its method, head and format)."""
    folder = tmp_path_factory.mktemp("outside")
    file, out = write_code(folder), folder / "run"
    parts = ("--method", f"{file}:Mine", "--head", f"{file}:Largest", "--format", f"{file}:Lines")
    words = ("--images", project / "photos", "--splits", "test=0.2", "--set", "smoothing=0.1")
    with new_process():
        assert call("train", lines, *words, *parts, "--out", out, *SMALL) == 0
    return file, out


def copied(trained: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """(a copy of the file elsewhere, a copy of the run)."""
    shutil.copytree(trained[1], tmp_path / "run")
    return write_code(tmp_path / "mine"), tmp_path / "run"


def change(run: Path, *where: str, to: Any) -> None:
    """Changes an entry of config.json."""
    about = json.loads((run / "config.json").read_text())
    entry = about
    for name in where[:-1]:
        entry = entry[name]
    entry[where[-1]] = to
    (run / "config.json").write_text(json.dumps(about))


def test_the_run_remembers_where_everything_came_from(trained: tuple[Path, Path]) -> None:
    file, run = trained
    about = json.loads((run / "config.json").read_text())
    assert about["config"]["method"] == f"{file}:Mine" and about["source"]["format"] == f"{file}:Lines"
    assert about["plugins"].keys() == {"method", "head", "format"}
    assert {entry["file"] for entry in about["plugins"].values()} == {str(file)}
    assert {len(entry["sha256"]) for entry in about["plugins"].values()} == {64}


def test_a_run_is_scored_and_resumed_with_a_trusted_copy(
    trained: tuple[Path, Path], tmp_path: Path, capsys: Capture
) -> None:
    copy, run = copied(trained, tmp_path)
    original = times_run(trained[0])
    assert result(capsys, "evaluate", run, "--trust", copy)["images"] > 10
    with new_process():
        assert call("train", "--resume", run, "--epochs", 2, "--trust", copy) == 0
    assert f"--trust {copy}" in capsys.readouterr().out  # in the command to try next
    assert len((run / "metrics.jsonl").read_text().splitlines()) == 2
    assert times_run(copy) > 0 and times_run(trained[0]) == original


def test_without_being_told_to_no_command_runs_a_file(
    trained: tuple[Path, Path], project: Path, tmp_path: Path, capsys: Capture
) -> None:
    """Though the file is where the folder says, and the folder is a stranger's."""
    file, before = trained[0], times_run(trained[0])
    _, run = copied(trained, tmp_path)
    data, photo = project / "labels.csv", next((project / "photos").iterdir())
    change(run, "classes", to=list(tl.data.read(data).classes))  # the same in another order, so that it may teach
    photos = ("--images", photo.parent)
    told = f"came from {file}; if you trust that file, pass --trust {file}"
    for words in (
        ("evaluate", run),
        ("evaluate", run, data),
        ("predict", run, photo),
        ("maps", run, photo, "--out", tmp_path / "maps"),
        ("similar", run, data, "--out", tmp_path / "similar"),
        ("train", "--resume", run),
        ("train", data, *photos, "--teachers", run, "--out", tmp_path / "taught", *SMALL),
    ):
        assert told in complaint(capsys, *words), words
    change(run, "plugins", to={})  # as if it were one of ours
    for words in (("evaluate", run), ("predict", run, photo), ("train", "--resume", run)):
        assert f"--trust {file}" in complaint(capsys, *words), words
    assert call("report", run) == 0
    assert times_run(file) == before


def test_a_spec_file_runs_no_file_either(
    trained: tuple[Path, Path], project: Path, tmp_path: Path, capsys: Capture
) -> None:
    file, before = trained[0], times_run(trained[0])
    (tmp_path / "spec.toml").write_text(f'[rows.mine]\nmethod = "{file}:Mine"\n')
    words = ("compare", project / "labels.csv", "--rows", tmp_path / "spec.toml", "--out", tmp_path / "out")
    assert f"mine: {file}: code runs only if you say so" in complaint(capsys, *words)
    assert times_run(file) == before


def test_a_copy_that_differs_is_told(
    trained: tuple[Path, Path], project: Path, tmp_path: Path, capsys: Capture
) -> None:
    copy, run = copied(trained, tmp_path)
    copy.write_text(CODE + "\n")
    photo = next((project / "photos").iterdir())
    assert call("predict", run, photo, "--trust", copy) == 0
    assert "Largest' has changed since the run was made; scores may differ" in capsys.readouterr().err
    words = ("train", "--resume", run, "--epochs", 2, "--trust", copy)
    assert f"has changed since the run was made; restore {trained[0]}, or start" in complaint(capsys, *words)


def test_a_package_that_is_missing_is_named(
    trained: tuple[Path, Path], project: Path, tmp_path: Path, capsys: Capture
) -> None:
    _, run = copied(trained, tmp_path)
    change(run, "config", "head", to="liked")
    photo = next((project / "photos").iterdir())
    for origin, advice in (
        ({"package": "outside-labels", "version": "1.2"}, "outside-labels 1.2; install that package"),
        ({"module": "__main__"}, "module __main__; register it under that name before"),
    ):
        change(run, "plugins", to={"head": origin})
        assert f"its head 'liked' came from {advice}" in complaint(capsys, "predict", run, photo)
    change(run, "plugins", to={"head": {"file": 3}})
    assert "file of head in plugins cannot be 3" in complaint(capsys, "predict", run, photo)
    change(run, "plugins", to={"backbone": {}})
    assert "plugins cannot be" in complaint(capsys, "predict", run, photo)


def test_compare_takes_files_and_tells_changed_ones_apart(project: Path, tmp_path: Path, capsys: Capture) -> None:
    file, out = write_code(tmp_path), tmp_path / "out"
    data = (project / "labels.csv", "--images", project / "photos")
    words = ("compare", *data, "--methods", f"{file}:Mine", "--out", out, *SMALL, "--lr", 0.003)
    (cell,) = result(capsys, *words)
    assert cell["row"] == "mine.py:Mine" and f"--method {file}:Mine" in cell["command"]
    with new_process():
        result(capsys, *words)
    (done,) = (out / "cells").glob("mine*")
    file.write_text(CODE + "\n# another\n")
    with new_process():
        result(capsys, *words)
    assert len([*(out / "cells").glob("mine*")]) == 2 and done.is_dir()


def test_lists_say_where_components_come_from(tmp_path: Path, capsys: Capture) -> None:
    file = write_code(tmp_path)
    about = result(capsys, "methods", f"{file}:Mine")
    assert about["from"] == str(file) and about["settings"] == {"smoothing": 0.0}
    assert {entry["from"] for entry in result(capsys, "methods")} == {"trilabel"}
    (head,) = result(capsys, "components", f"{file}:Largest")
    assert head["from"] == str(file)
    assert call("methods", f"{file}:Mine") == call("components", f"{file}:Largest") == 0
    printed = capsys.readouterr().out
    assert " ".join(printed.split()).count(f"from: {file}") == 2 and "--set smoothing=0.0: Of the targets." in printed
    assert "has no 'Yours'" in complaint(capsys, "methods", f"{file}:Yours")
    assert "must be a class derived from" in complaint(capsys, "components", f"{file}:Mine")


@pytest.mark.slow
def test_two_processes_that_are_started_for_a_run_have_it_too(tmp_path: Path, capsys: Capture) -> None:
    file = write_code(tmp_path)
    words = ("--method", f"{file}:Mine", "--head", f"{file}:Largest", "--out", tmp_path / "run", "--devices", 2)
    assert result(capsys, "train", "scenes", *words, *SMALL)["epochs"] == 1
    assert times_run(file) == 3
