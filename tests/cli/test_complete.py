"""`trilabel complete`: the table that came in with its holes filled, and what stands beside it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import trilabel as tl
from tests.support.command_line import QUICK, Capture, call, complaint, result
from trilabel.data.provenance import read_predicted
from trilabel.inference.completion import folds
from trilabel.review.store import AnswerStore, Record
from trilabel.training.run_folder import RunFolder

LAX = ("--precision", "0.6", "--confidence", "0.5", "--workers", "0")


@pytest.fixture
def own(run: Path, tmp_path: Path) -> Path:
    """A copy of the run, to write into."""
    return shutil.copytree(run, tmp_path / "run")


@pytest.fixture
def command(project: Path, own: Path, tmp_path: Path) -> list[object]:
    return [
        *("complete", own, project / "labels.csv", "--images", project / "photos"),
        *("--out", tmp_path / "filled.csv", *LAX),
    ]


def test_the_same_table_with_holes_filled(
    project: Path, own: Path, command: list[object], tmp_path: Path, capsys: Capture
) -> None:
    summary = result(capsys, *command, "--audit", "9")
    before = pd.read_csv(project / "labels.csv", dtype=str, keep_default_na=False)
    after = pd.read_csv(tmp_path / "filled.csv", dtype=str, keep_default_na=False)
    assert list(after.columns) == list(before.columns) and after["image"].tolist() == before["image"].tolist()
    was, now = before.to_numpy(), after.to_numpy()
    np.testing.assert_array_equal(now[was != ""], was[was != ""])
    filled = (was == "") & (now != "")
    assert filled.sum() == summary["filled_present"] + summary["filled_absent"] > 0
    assert set(now[filled]) <= {"0", "1"} and (now[filled] == "1").sum() == summary["filled_present"]
    assert json.loads((own / "completion.json").read_text()) == {k: v for k, v in summary.items() if k != "files"}
    assert pd.read_csv(own / "mistakes.csv").columns.tolist() == ["image", "class", "known", "probability", "expected"]
    labels = tl.data.read(project / "labels.csv", images=project / "photos").labels
    provenance = pd.read_csv(tmp_path / "filled.provenance.csv", keep_default_na=False)
    assert len(provenance) == labels.shape[0] * labels.shape[1]
    assert (provenance["source"] == "known").sum() == labels.known
    predicted = read_predicted(tmp_path / "filled.provenance.csv", labels)
    np.testing.assert_array_equal(
        np.sort(predicted.values[predicted.values != 0]), np.sort(np.where(now[filled] == "1", 1, -1))
    )
    audit = pd.read_csv(tmp_path / "filled.audit.csv", keep_default_na=False)
    assert len(audit) == 9 and set(audit["answer"]) == {""}
    assert "this file exists" in complaint(capsys, *command)


def test_a_few_lines_for_people(own: Path, command: list[object], capsys: Capture) -> None:
    assert call(*command, "--provenance", "none") == 0
    lines = capsys.readouterr().out.splitlines()
    assert 3 <= len(lines) <= 7 and "left unknown" in lines[0] and lines[1].startswith("promise: at least 60%")
    assert any(line.startswith("no suspected mistakes") or line.endswith(str(own / "mistakes.csv")) for line in lines)
    assert lines[-1].startswith("written: ") and "provenance" not in lines[-1]


def test_other_formats_and_answers_of_people(project: Path, own: Path, tmp_path: Path, capsys: Capture) -> None:
    labels = tl.data.read(project / "labels.csv", images=project / "photos").labels
    row, column = np.argwhere(labels.to_signed() == 0)[0]
    store = AnswerStore(tmp_path / "answers.db")
    told = (labels.ids[row], labels.classes[column], 1, False, "anna", "2026-01-01T00:00:00.000Z")
    store.add([Record("1", *told, "grid", "", 0, None, "", "")])
    store.close()
    table = tmp_path / "answers.csv"
    table.write_text(f"image,class,answer\n{labels.ids[row]},{labels.classes[column]},yes\n")
    for answers in (tmp_path / "answers.db", table):
        out = tmp_path / f"{answers.suffix[1:]}.trilabel"
        data = (own, project / "labels.csv", "--images", project / "photos", "--answers", answers)
        summary = result(capsys, "complete", *data, "--out", out, *LAX)
        assert summary["known"] == labels.known + 1
        found = tl.data.read(out).labels
        assert found.to_signed()[row, column] == 1 and list(found.ids) == list(labels.ids)
        provenance = pd.read_csv(tmp_path / f"{answers.suffix[1:]}.provenance.csv")
        assert (provenance["source"] == "confirmed").sum() == 1


def test_models_trained_on_parts_score_what_the_model_has_learned_from(
    project: Path, own: Path, command: list[object], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = result(capsys, *command)["not_decided_images"]
    assert left == len(tl.Labels.load(own / "labels.npz"))
    real, trained = folds.train, list[str]()

    def dying(split: object, config: object, out: Path, **options: object) -> object:
        trained.append(out.name)
        if len(trained) == 2:
            raise KeyboardInterrupt
        return real(split, config, out, **options)

    monkeypatch.setattr(folds, "train", dying)
    assert call(*command, "--folds", "2", "--overwrite") == 130
    assert not RunFolder(own).out_of_fold.exists()
    summary = result(capsys, *command, "--folds", "2", "--overwrite")
    assert trained == ["1-of-2", "2-of-2", "2-of-2"]  # the first is not trained again
    assert summary["not_decided_images"] == 0 and not RunFolder(own).folds.exists()
    assert not np.isnan(np.load(RunFolder(own).out_of_fold)).any()
    assert result(capsys, *command, "--folds", "2", "--overwrite") and len(trained) == 3


def test_wrong_usage(own: Path, command: list[object], tmp_path: Path, capsys: Capture) -> None:
    assert "--precision 95: give a share" in complaint(capsys, *command, "--precision", "95", code=2)
    assert "--audit 0: give 1 or more" in complaint(capsys, *command, "--audit", "0", code=2)
    assert "no such" in complaint(capsys, *command, "--answers", tmp_path / "none.db")
    assert "not a run folder" in complaint(capsys, "complete", tmp_path, *command[2:])
    (tmp_path / "odd.csv").write_text("image,class,answer\na.png,cat,perhaps\n")
    assert "row 2: answer 'perhaps'" in complaint(capsys, *command, "--answers", tmp_path / "odd.csv")


@pytest.mark.parametrize("predicted", ["soft", "hard"])
def test_training_on_a_completed_table_keeps_known_and_predicted_apart(
    project: Path, command: list[object], tmp_path: Path, capsys: Capture, predicted: str
) -> None:
    assert call(*command) == 0
    table, provenance = tmp_path / "filled.csv", tmp_path / "filled.provenance.csv"
    learn = ("train", table, "--images", project / "photos", *QUICK)
    assert call(*learn, "--out", tmp_path / "again", "--provenance", provenance, "--predicted", predicted) == 0
    known = tl.data.read(project / "labels.csv", images=project / "photos").labels
    learned = tl.Labels.load(tmp_path / "again/labels.npz")
    assert learned == known[known.ids.positions(learned.ids)]  # what was predicted is in the table, not here
    judged = tl.Labels.load(tmp_path / "again/validation_labels.npz")
    assert judged == known[known.ids.positions(judged.ids)]
    about = RunFolder(tmp_path / "again").read()
    assert about.config.method == "taught" and about.config.settings["hard"] == (predicted == "hard")
    assert call("train", "--resume", tmp_path / "again", "--epochs", "3") == 0
    assert "--provenance and --method" in complaint(
        capsys, *learn, "--out", tmp_path / "x", "--provenance", provenance, "--method", "role", code=2
    )
