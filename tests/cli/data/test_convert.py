"""`trilabel data convert`: there and back, what a format cannot hold, and nothing left behind after a failure."""

import signal
from pathlib import Path

import pytest

from tests.support.command_line import Capture, call, complaint, result
from tests.support.stopped import stopped_command
from trilabel.data import read
from trilabel.review.store import AnswerStore, Record


def test_converting_there_and_back(photos: Path, capsys: Capture) -> None:
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
    assert "the format is unclear" in complaint(capsys, "data", "convert", one, "--out", photos / "x.json")
    assert "no format to write named 'cub'" in complaint(
        capsys, "data", "convert", one, "--out", photos / "x", "--to", "cub"
    )


def test_options_of_the_format_that_is_written(photos: Path, capsys: Capture) -> None:
    one = photos / "one.csv"
    assert call("data", "convert", one, "--to", "yolo", "--out", photos / "linked") == 0
    linked = photos / "linked/images/train/photos/a.png"
    assert linked.samefile(photos / "photos/a.png")
    assert call("data", "convert", one, "--to", "yolo", "--out", photos / "copied", "--write", "files=copy") == 0
    copied = photos / "copied/images/train/photos/a.png"
    assert copied.read_bytes() == linked.read_bytes() and not copied.samefile(linked)
    told = complaint(capsys, "data", "convert", one, "--to", "yolo", "--out", photos / "x", "--write", "files=move")
    assert told.endswith("option 'files': move is not one of link, copy, none") or "link" in told
    told = complaint(
        capsys, "data", "convert", one, "--to", "coco", "--out", photos / "x.json", "--write", "files=copy"
    )
    assert "no option 'files' here" in told


def test_what_a_format_cannot_hold_is_counted(photos: Path, capsys: Capture) -> None:
    assert call("data", "convert", photos / "one.csv", "--to", "fiftyone", "--out", photos / "fo") == 0
    assert f"warning: {photos / 'fo'}: 2 absent labels" in capsys.readouterr().err
    assert "this folder exists" in complaint(
        capsys, "data", "convert", photos / "one.csv", "--to", "fiftyone", "--out", photos / "fo"
    )


def test_a_failed_conversion_leaves_nothing(photos: Path, capsys: Capture) -> None:
    (photos / "one.csv").write_text("image,cat\na.png,1\nb.png,maybe\n")
    before = sorted(photos.iterdir())
    for out in ("x.trilabel", "x.csv", "sub/x.trilabel"):
        assert "one.csv, row 3: value 'maybe'" in complaint(
            capsys, "data", "convert", photos / "one.csv", "--out", photos / out
        )
    assert sorted(photos.iterdir()) == before


def test_what_cannot_be_written_is_refused_before_reading(photos: Path, capsys: Capture) -> None:
    (photos / "one.csv").write_text("image,cat\na.png,maybe\n")  # reading would say so
    (photos / "folder").mkdir()
    for arguments, message in (
        (["--out", photos / "x.json"], "the format is unclear"),
        (["--out", photos / "x.trilabel.gz"], "the format is unclear"),
        (["--out", photos / "x", "--to", "nope"], "no format to write named 'nope'"),
        (["--out", photos / "x.trilabel", "--layout", "long"], "no option 'layout'"),
        (
            ["--out", photos / "folder", "--to", "native", "--overwrite"],
            "folder: this is a folder; give a file to write",
        ),
    ):
        assert message in complaint(capsys, "data", "convert", photos / "one.csv", *arguments)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_ended_while_writing_leaves_nothing(photos: Path, number: signal.Signals) -> None:
    out = photos / "out"
    command = ["data", "convert", photos / "one.csv", "--layout", "long", "--out", out / "long.csv"]
    stopped = stopped_command(command, number, "long.csv", before=True)
    assert stopped.returncode == 128 + number and out.is_dir() and not list(out.iterdir())


def test_names_that_a_spreadsheet_runs(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("image,=1+1,cat\na.jpg,1,0\n")
    found = result(capsys, "data", "convert", tmp_path / "a.csv", "--out", tmp_path / "b.csv")
    assert ["--safe-cells" in warning for warning in found["warnings"]] == [True]
    for command, data in (
        ("convert", ["a.csv"]),
        ("simulate", ["a.csv", "keep-share=1"]),
        ("merge", ["a.csv", "b.csv"]),
    ):
        out = tmp_path / f"{command}.csv"
        given = [tmp_path / data[0], *([data[1]] if command == "simulate" else [tmp_path / name for name in data[1:]])]
        assert call("data", command, *given, "--out", out, "--safe-cells") == 0
        assert "'=1+1" in out.read_text()
    assert "no option 'safe_cells' here" in complaint(
        capsys, "data", "convert", tmp_path / "a.csv", "--out", tmp_path / "c.trilabel", "--safe-cells"
    )


def test_what_people_confirmed_is_written_too(photos: Path, capsys: Capture) -> None:
    store = AnswerStore(photos / "answers.db")
    one = Record("b", "photos/a.png", "dog", 1, False, "anna", "", "grid", "", 1, 0.9, "run", "")
    store.add([one, one._replace(image="photos/b.png", cls="cat", value=0), one._replace(cls="cow")])
    store.close()
    for name in ("confirmed.csv", "confirmed.trilabel"):
        command = ("data", "convert", photos / "one.csv", "--answers", photos / "answers.db", "--out", photos / name)
        assert result(capsys, *command)["known"] == 4
        assert read(photos / name).labels.to_signed().tolist() == [[1, 1], [-1, 1]]
    assert call(*command, "--overwrite") == 0
    told = "1 label confirmed by people, 1 of them against the data; 1 undecided; 1 of other images or classes"
    assert told in capsys.readouterr().err
    other = photos / "confirmed.trilabel"
    assert "cannot be read or written as a store of answers" in complaint(
        capsys, "data", "convert", photos / "one.csv", "--answers", other, "--out", photos / "x.csv"
    )
