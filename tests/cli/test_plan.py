"""`trilabel plan`: from a run to a table of questions that a review opens, and what to expect."""

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import QUICK, Capture, call, complaint, result
from trilabel.data import read
from trilabel.planning import expectations
from trilabel.review.question_tables import read_questions


@pytest.fixture(autouse=True)
def few_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expectations, "_SPLITS", 2)


def test_a_plan_and_its_table(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    data = (project / "labels.csv", "--images", project / "photos", "--run", run)
    out = tmp_path / "questions.csv"
    found = result(capsys, "plan", *data, "--budget", 50, "--out", out)
    dataset = read(project / "labels.csv", images=project / "photos")
    table = read_questions(out, dataset.labels.ids, dataset.labels.classes)
    rows, columns = np.divmod(table.keys, len(dataset.classes))
    assert found["questions"] == len(table.keys) == 50 and not table.random
    assert not dataset.labels.to_signed()[rows, columns].any()  # nothing that is known is asked
    assert set(rows) <= set(dataset.rows_of("train"))
    chances = [float(row["probability"]) for row in csv.DictReader(out.open())]
    assert found["expected_present"] == pytest.approx(sum(chances), abs=0.1)
    assert found["curve"]["labels"] == sorted(found["curve"]["labels"]) and not found["curve"]["fixed_features"]
    assert [one["questions"] for one in found["gains"]] == [25, 50, 100, 250]
    assert all(one["low"] <= one["high"] and one["gain"] >= 0 for one in found["gains"])
    assert found["spread"]["low"] <= found["spread"]["value"] <= found["spread"]["high"]

    answered = tmp_path / "answered.csv"
    first = out.read_text().splitlines()
    answered.write_text("\n".join([first[0], *(f"{line}1" for line in first[1:])]) + "\n")
    again = tmp_path / "again.csv"
    assert call("plan", *data, "--budget", 50, "--answers", answered, "--out", again) == 0
    printed = capsys.readouterr().out
    assert set(first[1:]).isdisjoint(again.read_text().splitlines()[1:])
    assert "50 questions about" in printed and "50 answers, 50 labels more: mAP +" in printed
    assert "has learned from these labels" in printed and f"--questions {again}" in printed
    assert "this file exists; choose another name, or pass --overwrite" in complaint(
        capsys, "plan", *data, "--out", again
    )
    assert "--budget 0: give 1 or more" in complaint(capsys, "plan", *data, "--budget", 0, code=2)
    assert "not a run folder (no config.json in it)" in complaint(capsys, "plan", *data[:-1], tmp_path / "none")


def test_positives_alone(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    """What questions are expected to add are the positives among them; whole images cannot be told from spread."""
    table = list(csv.reader((project / "labels.csv").open()))
    for row in table[1:]:
        places = [place for place, cell in enumerate(row) if cell == "1"]
        row[1:-1] = ["1" if place == min(places, default=0) else "" for place in range(1, len(row) - 1)]
    with (tmp_path / "one.csv").open("w", newline="") as file:
        csv.writer(file).writerows(table)
    data = (tmp_path / "one.csv", "--images", project / "photos")
    assert call("train", *data, *QUICK, "--val", "none", "--out", tmp_path / "run") == 0
    found = result(capsys, "plan", *data, "--run", tmp_path / "run", "--budget", 40)
    assert found["counts"] == "positives" and found["spread"] is None and found["curve"]["unknown_as_absent"]
    assert found["gains"][1]["added"] == round(found["expected_present"])
    assert call("plan", *data, "--run", tmp_path / "run", "--budget", 40, "--order", "random") == 0
    assert "about one known label each" in capsys.readouterr().out


def test_nothing_to_ask_and_too_little_to_see(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    table = list(csv.reader((project / "labels.csv").open()))
    few = [table[0], *(row for row in table[1:] if row[-1] == "train")][:20]
    for name, rows in (("few.csv", few), ("full.csv", [[cell or "0" for cell in row] for row in few])):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    options = ("--images", project / "photos", "--run", run, "--budget", 5)
    assert call("plan", tmp_path / "few.csv", *options) == 0
    assert "what to expect cannot be said: 19 images have known labels" in capsys.readouterr().out
    assert "there is nothing to ask" in complaint(capsys, "plan", tmp_path / "full.csv", *options)
