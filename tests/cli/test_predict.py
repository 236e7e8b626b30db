"""`trilabel predict`: tables, records, lines, and broken images."""

import json
import os
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

from tests.support.command_line import Capture, call, complaint, result
from trilabel.training import checkpoint


def test_a_table_of_all_images(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    records = result(capsys, "predict", run, project / "photos", "--out", tmp_path / "all.csv")
    table = pd.read_csv(tmp_path / "all.csv")
    assert len(table) == len(records) == 192
    assert list(table.columns[1:]) == list(records[0]["scores"])
    assert table.iloc[0, 1:].tolist() == pytest.approx(list(records[0]["scores"].values()), abs=1e-5)


def test_files_print_a_line_each(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    files = sorted((project / "photos").iterdir())[:3]
    capsys.readouterr()
    assert call("predict", run, *files, "--threshold", "0") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == [str(file) for file in files]
    assert call("predict", run, *files, "--threshold", "1") == 0
    assert capsys.readouterr().out.splitlines() == [f"{file}\t(none)" for file in files]
    out = tmp_path / "some.json"
    for overwrite in ([], ["--overwrite"]):
        assert call("predict", run, *files, "--out", out, *overwrite) == 0
        assert capsys.readouterr().out == f"{out}: 3 images × 14 classes\n"
    assert len(json.loads(out.read_text())) == 3
    assert "this file exists" in complaint(capsys, "predict", run, *files, "--out", out)


def test_a_threshold_is_refused_where_it_would_say_nothing_and_kept_elsewhere(
    project: Path, run: Path, tmp_path: Path, capsys: Capture
) -> None:
    files, wide = sorted((project / "photos").iterdir())[:3], tmp_path / "present.csv"
    for name in ("all.csv", "all.parquet"):
        told = complaint(capsys, "predict", run, *files, "--out", tmp_path / name, "--threshold", "0.9", code=2)
        assert "--threshold" in told and "--to csv" in told and "all.jsonl" in told and not (tmp_path / name).exists()
    for threshold, present in (("0", 3 * 14), ("1", 0)):
        options = ("--out", wide, "--to", "csv", "--threshold", threshold, "--overwrite")
        assert call("predict", run, *files, *options) == 0
        cells = pd.read_csv(wide, dtype=str, keep_default_na=False)
        assert (cells == "1").to_numpy().sum() == present
    records = tmp_path / "all.jsonl"
    assert call("predict", run, *files, "--out", records, "--threshold", "0") == 0
    assert all(len(json.loads(line)["present"]) == 14 for line in records.read_text().splitlines())


def test_wrong_usage(run: Path, capsys: Capture) -> None:
    assert ".csv, .parquet, .json or .jsonl" in complaint(capsys, "predict", run, "x.jpg", "--out", "x.xls", code=2)
    assert "--threshold 7: give a prob" in complaint(capsys, "predict", run, "x.jpg", "--threshold", "7", code=2)
    assert "give a folder of images" in complaint(capsys, "predict", run, code=2)
    assert "--resume: this is for files" in complaint(capsys, "predict", run, "x.jpg", "--resume", code=2)
    assert "--devices: this is for files" in complaint(capsys, "predict", run, "x.jpg", "--devices", "2", code=2)
    both = ("--out", "x.csv", "--resume", "--overwrite")
    assert "give one of the two" in complaint(capsys, "predict", run, "x.jpg", *both, code=2)


def test_broken_images_stop_or_are_left_out(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    files = sorted((project / "photos").iterdir())[:4]
    for file in files:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    whole = (tmp_path / files[1].name).read_bytes()
    (tmp_path / files[1].name).write_bytes(whole[: len(whole) // 2])
    line = complaint(capsys, "predict", run, tmp_path)
    assert files[1].name in line
    assert "broken image" in line
    records = result(capsys, "predict", run, tmp_path, "--broken", "skip")
    assert [Path(record["image"]).name for record in records] == [file.name for file in files if file != files[1]]


def test_a_model_that_gives_nan_writes_nothing(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    """Whatever becomes of images that cannot be read: these are others."""
    diverged, photos = tmp_path / "diverged", tmp_path / "photos"
    shutil.copytree(run, diverged)
    tensors, state = checkpoint.load(diverged / "best.safetensors")
    weights = next(name for name in tensors if "head" in name and name.endswith("weight"))
    checkpoint.save(diverged / "best.safetensors", {**tensors, weights: tensors[weights] * torch.nan}, state)
    photos.mkdir()
    for file in sorted((project / "photos").iterdir())[:3]:
        shutil.copy(file, photos)
    before = sorted(tmp_path.rglob("*"))
    for broken in ("stop", "skip"):
        for arguments in (
            ["predict", diverged, photos],
            ["predict", diverged, photos, "--out", tmp_path / "out.csv"],
            ["predict", diverged, photos, "--out", tmp_path / "out.json"],
            ["evaluate", diverged, project / "labels.csv", "--images", project / "photos"],
        ):
            says = complaint(capsys, *arguments, "--broken", broken)
            assert f"{diverged}: gives NaN for image '" in says and "--lr" in says
        says = complaint(capsys, "maps", diverged, photos, "--out", tmp_path / "maps", "--broken", broken)
        assert f"{diverged}: gives class maps or scores that are not finite for image" in says
        assert sorted(tmp_path.rglob("*")) == before
        (photos / "broken.png").write_bytes(b"no image")  # of which nothing is said
        before = sorted(tmp_path.rglob("*"))


def test_names_that_a_spreadsheet_runs(run, project, tmp_path, capsys, caplog, monkeypatch):
    """Warned of, or written as text."""
    image = tmp_path / "=cmd.png"
    image.write_bytes(next((project / "photos").iterdir()).read_bytes())
    monkeypatch.chdir(tmp_path)
    assert call("predict", run, "=cmd.png", "--out", "a.csv") == 0
    assert "a.csv: 1 names begin with = + - or @" in caplog.text and "--safe-cells" in caplog.text
    caplog.clear()
    assert call("predict", run, "=cmd.png", "--out", "b.csv", "--safe-cells") == 0
    assert "begin with" not in caplog.text
    assert (tmp_path / "a.csv").read_text().splitlines()[1].startswith("=cmd.png,")
    assert (tmp_path / "b.csv").read_text().splitlines()[1].startswith("'=cmd.png,")
    assert "give --out FILE.csv" in complaint(capsys, "predict", run, image, "--safe-cells", code=2)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text on other systems")
def test_a_file_whose_name_is_no_text(run, project, tmp_path, capsys):
    """Bytes that are not UTF-8 are kept in files and shown on the terminal."""
    image = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.png")
    shutil.copy(next((project / "photos").iterdir()), image)
    assert call("predict", run, image, "--out", tmp_path / "a.csv", "--workers", "0") == 0
    assert b"/caf\xe9.png," in (tmp_path / "a.csv").read_bytes()
    assert call("predict", run, image, "--out", tmp_path / "a.json", "--workers", "0") == 0
    assert json.loads((tmp_path / "a.json").read_text())[0]["image"] == image
    capsys.readouterr()
    assert call("predict", run, image, "--workers", "0") == 0
    assert "/caf\\udce9.png\t" in capsys.readouterr().out
    assert result(capsys, "predict", run, image, "--workers", "0")[0]["image"] == image
