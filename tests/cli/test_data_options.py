"""How commands read data: options of a format, splits, hints, and paths that hold in any folder."""

from pathlib import Path

import pytest

from tests.data.formats.layouts import openimages
from tests.support.command_line import QUICK, Capture, call, complaint, result
from trilabel.training.run_folder import RunFolder


def test_options_of_a_format(tmp_path: Path, capsys: Capture) -> None:
    release = openimages.write(tmp_path)
    found = result(
        capsys, "data", "inspect", release, "--read", "classes=trainable", "machine=0.7", "--missing", "drop"
    )
    assert found["classes"] == 3 and found["images"] == 3
    assert any("a machine gave confidence 0.7" in note for note in found["notes"])
    assert call("data", "inspect", release) == 0
    assert "verified with confidence 1: present, with 0: absent; everything else is unknown" in capsys.readouterr().err
    for text, message in (
        ("machine=much", "option 'machine' must be a finite number, not 'much'"),
        ("classes=some", "option 'classes' must be one of all, trainable, boxable; not 'some'"),
        ("class=all", "no option 'class' here; use one of classes, machine"),
    ):
        assert message in complaint(capsys, "data", "inspect", release, "--read", text)
    assert "write NAME=VALUE" in complaint(capsys, "data", "inspect", release, "--read", "machine", code=2)


def test_splits_by_number(photos: Path, capsys: Capture) -> None:
    (photos / "t.csv").write_text("image,cat\n" + "".join(f"{i}.png,1\n" for i in range(10)))
    assert result(capsys, "data", "inspect", photos / "t.csv", "--splits", "test=4", "val=0.1")["splits"] == {
        "train": 5, "test": 4, "val": 1,
    }  # fmt: skip
    assert "10 images for split 'test'" in complaint(capsys, "data", "inspect", photos / "t.csv", "--splits", "test=10")


def test_lists_may_be_complete(photos: Path, capsys: Capture) -> None:
    (photos / "tags.csv").write_text("image,tags\nphotos/a.png,cat\nphotos/b.png,dog\n")
    assert call("data", "inspect", photos / "tags.csv") == 0
    assert "if labels that are not listed are absent, pass --read unlisted=absent" in capsys.readouterr().err
    assert result(capsys, "data", "inspect", photos / "tags.csv", "--read", "unlisted=absent")["negatives"] == 2
    assert "pass --read" not in capsys.readouterr().err


def test_training_from_what_was_converted(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The same data in two formats gives the same run, which knows its data from any folder."""
    table = ["labels.csv", "--images", "photos"]
    monkeypatch.chdir(project)
    assert call("data", "convert", *table, "--out", tmp_path / "data/labels.trilabel") == 0
    first = result(capsys, "train", *table, "--out", tmp_path / "a", *QUICK)
    second = result(
        capsys, "train", tmp_path / "data/labels.trilabel", "--read", "verify=true", "--out", tmp_path / "b", *QUICK
    )
    timeless = [{key: value for key, value in one["best"].items() if "seconds" not in key} for one in (first, second)]
    assert timeless[0] == timeless[1]
    monkeypatch.chdir(tmp_path)
    assert result(capsys, "evaluate", "a", "--split", "test") == result(capsys, "evaluate", "b", "--split", "test")
    assert result(capsys, "train", "--resume", "b", "--epochs", "3")["epochs"] == 3
    assert RunFolder(tmp_path / "b").read().source["read"] == ["verify=true"]


def test_words_that_happen_to_be_files_stay_words(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    work = tmp_path / "x=y"
    (work / "csv").mkdir(parents=True)
    header, first, *_ = (project / "labels.csv").read_text().split("\n")
    cls, image = header.split(",")[1], first.split(",")[0]
    (work / cls).mkdir()
    (work / "labels.csv").write_bytes((project / "labels.csv").read_bytes())
    (work / "val.txt").write_text(f"{image}\n")
    (work / "9").mkdir()
    monkeypatch.chdir(work)
    chosen = [
        "--format",
        "csv",
        "--images",
        project / "photos",
        "--splits",
        "val=val.txt",
        "test=9",
        "--read",
        f"ignore={cls}",
    ]
    assert call("train", "labels.csv", *chosen, "--out", tmp_path / "run", *QUICK) == 0
    source = RunFolder(tmp_path / "run").read().source
    assert source["data"] == str(work / "labels.csv") and source["format"] == "csv"
    assert source["splits"] == [f"val={work / 'val.txt'}", "test=9"] and source["read"] == [f"ignore={cls}"]
    monkeypatch.chdir(tmp_path)
    assert call("evaluate", "run", "--split", "val") == 0
    twice = ["--splits", "val=0.5", "val=0.2"]
    assert "--splits val is given twice" in complaint(capsys, "data", "inspect", work / "labels.csv", *twice, code=2)
    assert "no such file" in complaint(capsys, "train", "nothing.csv", "--read", "unlisted=absent")
    assert "--values and --read values: give one of the two" in complaint(
        capsys, "data", "inspect", work / "labels.csv", "--values", "binary", "--read", "values=signed", code=2
    )


def test_words_and_columns_of_a_table(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "t.csv").write_text("image,who,cat,nothing\n1.jpg,me,YES,NO\n2.jpg,you,NA,YES\n")
    words = ["--class-columns", "cat", "nothing", "--positive-values", "YES", "--negative-values", "NO"]
    found = result(
        capsys, "data", "inspect", tmp_path / "t.csv", *words, "--unknown-values", "NA", "--none-class", "nothing"
    )
    assert (found["classes"], found["positives"], found["negatives"]) == (2, 2, 2)
