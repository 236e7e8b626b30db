"""`trilabel data simulate`: the table that is left can be trained on."""

from pathlib import Path

from tests.support.command_line import QUICK, Capture, call, complaint, result


def test_simulate_writes_a_table_that_trains(project: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "single.csv"
    said = result(capsys, "data", "simulate", project / "labels.csv", "single-positive", "--images",
                  project / "photos", "--out", out)  # fmt: skip
    assert said["known_after"] <= 96
    assert call("data", "inspect", out) == 0
    assert "no label is known" not in capsys.readouterr().err
    assert "exists" in complaint(capsys, "data", "simulate", out, "single-positive", "--out", out)
    trained = result(capsys, "train", out, "--out", tmp_path / "run", *QUICK, "--val", "none")
    assert trained["epochs"] == 2
