"""`trilabel data inspect`: counts, duplicates, and files that are no data."""

from pathlib import Path

import pandas as pd

from tests.support.command_line import Capture, call, complaint, result


def test_inspect_counts_and_warns(project: Path, capsys: Capture) -> None:
    found = result(capsys, "data", "inspect", project / "labels.csv", "--split", "train")
    table = pd.read_csv(project / "labels.csv").query("split == 'train'").drop(columns=["image", "split"])
    assert found["positives"] == int((table == 1).sum().sum())
    assert found["negatives"] == int((table == 0).sum().sum())
    assert found["images"] == 96
    assert call("data", "inspect", project / "labels.csv") == 0
    printed = capsys.readouterr().out
    assert "192 images" in printed
    assert "most often present together" in printed


def test_duplicates(photos: Path, capsys: Capture) -> None:
    (photos / "all.csv").write_text(
        "image,cat,split\nphotos/a.png,1,train\nphotos/b.png,1,train\nphotos/c.png,0,test\nphotos/d.png,0,test\n"
    )
    found = result(capsys, "data", "inspect", photos / "all.csv", "--duplicates")["duplicates"]
    assert found == {
        "images_without_file": 1,
        "groups": [["photos/a.png", "photos/c.png"]],
        "across_splits": 1,
        "contradicting": 1,
    }
    assert call("data", "inspect", photos / "all.csv", "--duplicates") == 0
    told = capsys.readouterr().out
    assert "photos/a.png = photos/c.png" in told and "1 image has no file and was not compared" in told


def test_files_that_are_no_data(tmp_path: Path, capsys: Capture) -> None:
    for text in ("", "image,label\n"):
        (tmp_path / "bad.csv").write_text(text)
        assert "bad.csv" in complaint(capsys, "data", "inspect", tmp_path / "bad.csv")
    assert "no such file or folder" in complaint(capsys, "data", "inspect", tmp_path / "missing.csv")
