"""The command line on data: formats, convert, merge, inspect, and training from what was converted."""

import signal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from tests.cli.test_main import QUICK, call, complaint, project, result
from tests.data.formats.layouts import openimages
from tests.support.stopped import stopped_command
from trilabel.data import FORMATS, read
from trilabel.training.run_folder import RunFolder

__all__ = ["project"]  # the fixture


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two tables about one folder of images, of which a and c have the same content."""
    (tmp_path / "photos").mkdir()
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        Image.new("RGB", (8, 8), color).save(tmp_path / f"photos/{name}.png")
    (tmp_path / "one.csv").write_text("image,cat,dog,split\nphotos/a.png,1,0,train\nphotos/b.png,0,1,train\n")
    (tmp_path / "two.csv").write_text("image,dog,Tree,split\nphotos/b.png,0,1,test\nphotos/c.png,1,,train\n")
    return tmp_path


def test_converting_there_and_back(photos: Path, capsys: Any) -> None:
    one = photos / "one.csv"
    for out, more in (("one.trilabel", []), ("long.tsv", ["--layout", "long"]), ("one.json", ["--to", "coco"])):
        told = result(capsys, "data", "convert", one, "--out", photos / out, *more)
        assert told == {"out": str(photos / out), "images": 2, "classes": 2, "known": 4, "warnings": []}
        after = read(photos / out)
        assert after.labels.to_signed().tolist() == [[1, -1], [-1, 1]] and list(after.splits) == ["train"]
        assert [Path(path).resolve() for path in after.paths] == [photos / "photos/a.png", photos / "photos/b.png"]
    assert "this file exists" in complaint(capsys, "data", "convert", one, "--out", photos / "one.trilabel")
    assert call("data", "convert", one, "--out", photos / "one.trilabel", "--overwrite") == 0
    assert capsys.readouterr().out == f"{photos / 'one.trilabel'}: 2 images × 2 classes, 4 labels known (100.00%)\n"
    assert "which format?" in complaint(capsys, "data", "convert", one, "--out", photos / "x.json")
    assert "no format to write named 'voc'" in complaint(
        capsys, "data", "convert", one, "--out", photos / "x", "--to", "voc"
    )


def test_what_a_format_cannot_hold_is_counted(photos: Path, capsys: Any) -> None:
    assert call("data", "convert", photos / "one.csv", "--to", "fiftyone", "--out", photos / "fo") == 0
    assert f"warning: {photos / 'fo'}: 2 absent labels" in capsys.readouterr().err
    assert "this folder exists" in complaint(
        capsys, "data", "convert", photos / "one.csv", "--to", "fiftyone", "--out", photos / "fo"
    )


def test_a_failed_conversion_leaves_nothing(photos: Path, capsys: Any) -> None:
    (photos / "one.csv").write_text("image,cat\na.png,1\nb.png,maybe\n")
    before = sorted(photos.iterdir())
    for out in ("x.trilabel", "x.csv", "sub/x.trilabel"):
        assert "one.csv, row 3: value 'maybe'" in complaint(
            capsys, "data", "convert", photos / "one.csv", "--out", photos / out
        )
    assert sorted(photos.iterdir()) == before


def test_merging(photos: Path, capsys: Any) -> None:
    sets = [photos / "one.csv", photos / "two.csv"]
    line = complaint(capsys, "data", "merge", *sets, "--out", photos / "all.trilabel")
    assert "image 'photos/b.png', class 'dog' is present in one and absent in two (1 such labels)" in line
    assert not (photos / "all.trilabel").exists()
    out = ["--out", photos / "all.trilabel", "--overwrite"]
    report = result(capsys, "data", "merge", *sets, *out, "--conflict", "first")
    assert report["images"] == 3 and report["contradicting"] == 1 and report["images_in_different_splits"] == 1
    merged = read(photos / "all.trilabel")
    assert merged.classes == ["cat", "dog", "Tree"]
    assert merged.labels.to_signed().tolist() == [[1, -1, 0], [-1, 1, 1], [0, 1, 0]]
    assert {name: rows.tolist() for name, rows in merged.splits.items()} == {"train": [0, 2], "test": [1]}
    assert call("data", "merge", *sets, *out, "--conflict", "unknown", "--same", "content") == 0
    told = capsys.readouterr().out
    assert "2 images and 1 classes are in several sets" in told and "  dog: 2" in told
    assert "photos/b.png, dog: present in one, absent in two" in told and "they are kept out of train" in told


def test_merging_with_a_map_of_classes(photos: Path, capsys: Any) -> None:
    (photos / "map.csv").write_text("set,from,to\nb,dog,\n,Tree,plant\n")
    named = [f"a={photos / 'one.csv'}", f"b={photos / 'two.csv'}"]
    report = result(capsys, "data", "merge", *named, "--map", photos / "map.csv", "--out", photos / "all.csv")
    assert report["contradicting"] == 0 and [one["set"] for one in report["sets"]] == ["a", "b"]
    assert read(photos / "all.csv").classes == ["cat", "dog", "plant"]
    (photos / "map.csv").write_text("from,to\ntree,plant\n")
    line = complaint(capsys, "data", "merge", *named, "--map", photos / "map.csv", "--out", photos / "no.csv")
    assert "no class in any set to rename named 'tree'" in line and "did you mean 'Tree'?" in line
    assert "name two" in complaint(capsys, "data", "merge", named[0], "--out", photos / "no.csv", code=2)
    same = [photos / "one.csv", photos / "one.csv"]
    assert "two sets of one name" in complaint(capsys, "data", "merge", *same, "--out", photos / "no.csv", code=2)


def test_duplicates(photos: Path, capsys: Any) -> None:
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
    assert "photos/a.png = photos/c.png" in told and "1 images have no file: they were not compared" in told


def test_options_of_a_format(tmp_path: Path, capsys: Any) -> None:
    release = openimages.write(tmp_path)
    found = result(
        capsys, "data", "inspect", release, "--read", "classes=trainable", "machine=0.7", "--missing", "drop"
    )
    assert found["classes"] == 3 and found["images"] == 3
    assert any("a machine gave confidence 0.7" in note for note in found["notes"])
    assert call("data", "inspect", release) == 0
    assert "verified with confidence 1: present, with 0: absent; everything else is unknown" in capsys.readouterr().err
    for text, message in (
        ("machine=much", "option 'machine' is a finite number, not 'much'"),
        ("classes=some", "option 'classes' is all, trainable, boxable; not 'some'"),
        ("class=all", "no option 'class' here; use one of classes, machine"),
    ):
        assert message in complaint(capsys, "data", "inspect", release, "--read", text)
    assert "write NAME=VALUE" in complaint(capsys, "data", "inspect", release, "--read", "machine", code=2)


def test_splits_by_number(photos: Path, capsys: Any) -> None:
    (photos / "t.csv").write_text("image,cat\n" + "".join(f"{i}.png,1\n" for i in range(10)))
    assert result(capsys, "data", "inspect", photos / "t.csv", "--splits", "test=4", "val=0.1")["splits"] == {
        "train": 5, "test": 4, "val": 1,
    }  # fmt: skip
    assert "10 images for split 'test'" in complaint(capsys, "data", "inspect", photos / "t.csv", "--splits", "test=10")


def test_formats_are_listed(capsys: Any) -> None:
    found = result(capsys, "data", "formats")
    assert set(found) == set(FORMATS) and found["open-images"]["options"]["machine"] == "none"
    assert call("data", "formats") == 0
    told = capsys.readouterr().out
    assert "coco (read and written)" in told and "--read not_visible=unknown|absent" in told
    assert "boxes=true" in told


def test_training_from_what_was_converted(project: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
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
    assert RunFolder(tmp_path / "b").read()["source"]["read"] == ["verify=true"]


def test_words_that_happen_to_be_files_stay_words(project: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
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
    source = RunFolder(tmp_path / "run").read()["source"]
    assert source["data"] == str(work / "labels.csv") and source["format"] == "csv"
    assert source["splits"] == [f"val={work / 'val.txt'}", "test=9"] and source["read"] == [f"ignore={cls}"]
    monkeypatch.chdir(tmp_path)
    assert call("evaluate", "run", "--split", "val") == 0
    twice = ["--splits", "val=0.5", "val=0.2"]
    assert "--splits val: say it once" in complaint(capsys, "data", "inspect", work / "labels.csv", *twice, code=2)
    assert "no such file" in complaint(capsys, "train", "nothing.csv", "--read", "unlisted=absent")
    assert "say it once" in complaint(
        capsys, "data", "inspect", work / "labels.csv", "--values", "binary", "--read", "values=signed", code=2
    )


def test_what_cannot_be_written_is_refused_before_reading(photos: Path, capsys: Any) -> None:
    (photos / "one.csv").write_text("image,cat\na.png,maybe\n")  # reading would say so
    (photos / "folder").mkdir()
    for arguments, message in (
        (["--out", photos / "x.json"], "which format?"),
        (["--out", photos / "x.trilabel.gz"], "which format?"),
        (["--out", photos / "x", "--to", "nope"], "no format to write named 'nope'"),
        (["--out", photos / "x.trilabel", "--layout", "long"], "no option 'layout'"),
        (
            ["--out", photos / "folder", "--to", "native", "--overwrite"],
            "folder: this is a folder; name a file to write",
        ),
    ):
        assert message in complaint(capsys, "data", "convert", photos / "one.csv", *arguments)


def test_lists_may_be_complete(photos: Path, capsys: Any) -> None:
    (photos / "tags.csv").write_text("image,tags\nphotos/a.png,cat\nphotos/b.png,dog\n")
    assert call("data", "inspect", photos / "tags.csv") == 0
    assert "if what is not listed is absent, pass --read unlisted=absent" in capsys.readouterr().err
    assert result(capsys, "data", "inspect", photos / "tags.csv", "--read", "unlisted=absent")["negatives"] == 2
    assert "pass --read" not in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_ended_while_writing_leaves_nothing(photos: Path, number: int) -> None:
    out = photos / "out"
    command = ["data", "convert", photos / "one.csv", "--layout", "long", "--out", out / "long.csv"]
    stopped = stopped_command(command, number, "long.csv", before=True)
    assert stopped.returncode == 128 + number and out.is_dir() and not list(out.iterdir())


def test_a_class_without_absents_is_not_believed(project: Path, tmp_path: Path, capsys: Any) -> None:
    """As after a merge with a set of tags: its average precision would be perfect."""
    table = pd.read_csv(project / "labels.csv", dtype=str)
    cls = table.columns[1]
    table[cls] = table[cls].where(table[cls] == "1")
    table.to_csv(tmp_path / "labels.csv", index=False)
    images = ["--images", project / "photos"]
    assert call("train", tmp_path / "labels.csv", *images, "--out", tmp_path / "run", *QUICK) == 0
    assert "1 of" in (told := capsys.readouterr().err) and "such as assume-negative" in told
    assert call("evaluate", tmp_path / "run", "--split", "test") == 0
    assert f"warning: {cls!r}: no negative of them is known in split 'test'" in capsys.readouterr().err
