"""`trilabel train`: new runs, settings, resuming, and data that cannot be trained on."""

import json
import os
import shlex
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import QUICK, Capture, call, complaint, result
from tests.support.runs import same, tensors_of
from tests.support.stopped import forked_script, stopped_command
from trilabel import data
from trilabel.labels import Labels, simulate
from trilabel.review.store import AnswerStore, Record
from trilabel.training import checkpoint
from trilabel.training.run_lock import lock_run


def config_of(run: Path) -> dict[str, object]:
    config: dict[str, object] = json.loads((run / "config.json").read_text())["config"]
    return config


# ---- settings


def test_hidden_labels_and_method_settings(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "run"
    trained = result(
        capsys, "train", "scenes", "--hide", "keep-share=0.1", "--method", "known-only", "--set", "normalize=share",
        "gamma=2", "--out", out, "--epochs", "1", "--image-size", "16",
    )  # fmt: skip
    about = json.loads((out / "config.json").read_text())
    assert about["source"] == {"data": "scenes", "hide": "keep-share=0.1", "hide_seed": None}
    assert about["config"]["settings"] == {"normalize": "share", "gamma": "2"}
    assert trained["best"]["val"]["known_share"] == 1  # only training labels were hidden
    at_half, decided = trained["best"]["val"], trained["at_thresholds"]
    assert decided["mAP"] == pytest.approx(at_half["mAP"]) and decided["CF1"] > at_half["CF1"]
    labels = np.load(out / "labels.npz")
    assert len(labels["values"]) == pytest.approx(0.1 * 320 * 14, rel=0.1)


def test_what_people_confirmed_is_known(tmp_path: Path, capsys: Capture) -> None:
    """Answers come after labels are hidden; the method is chosen without them, and a resumed run reads them again."""
    scenes = data.scenes()
    hidden = simulate.single_positive(scenes.labels[scenes.rows_of("train")], seed=0)
    present, unknown = np.argwhere(hidden.to_signed() > 0), np.argwhere(hidden.to_signed() == 0)
    asked = [*unknown[:300], present[0]]
    labels = {(str(hidden.ids[row]), str(hidden.classes[column])): (row, column) for row, column in asked}
    store, out, quick = AnswerStore(tmp_path / "answers.db"), tmp_path / "run", (*QUICK, "--val", "none")
    store.add(Record("b", image, cls, -1, False, "anna", "", "grid", "", 1, 0.9, "run", "") for image, cls in labels)
    store.close()
    command = (
        "train",
        "scenes",
        "--hide",
        "single-positive",
        "--hide-seed",
        "0",
        "--answers",
        store.path,
        "--out",
        out,
    )
    assert call(*command, *quick) == 0
    told = capsys.readouterr().err
    assert "301 labels confirmed by people, 1 of them against the data" in told
    assert config_of(out)["method"] == "posterior" and config_of(out)["settings"] == {"rates": "one-of-k"}
    learned = Labels.load(out / "labels.npz").to_signed()
    assert all(learned[place] == -1 for place in labels.values())
    assert (learned != 0).sum() == (hidden.to_signed() != 0).sum() + 300
    table = tmp_path / "answers.csv"
    table.write_text("image,class,answer\n" + "".join(f"{image},{cls},0\n" for image, cls in labels))
    (tmp_path / "answers.db").unlink()
    assert "answers.db: no such file" in complaint(capsys, "train", "--resume", out, "--epochs", "3")
    command = ("train", "scenes", "--hide", "single-positive", "--hide-seed", "0", "--answers", table, "--out", out)
    assert call(*command, *quick, "--overwrite") == 0
    np.testing.assert_array_equal(Labels.load(out / "labels.npz").to_signed(), learned)
    assert call("evaluate", out) == 0  # of the data as it is


def test_another_method_does_not_take_over_the_settings_of_the_recipe(
    project: Path, tmp_path: Path, capsys: Capture
) -> None:
    data = (project / "labels.csv", "--images", project / "photos", "--backbone", "tiny", *QUICK)
    for method, settings in (("large-loss", {"mode": "correct"}), ("assume-negative", {})):
        result(capsys, "train", *data, "--recipe", "kim2022-ll-ct", "--method", method, "--out", tmp_path / method)
        assert config_of(tmp_path / method)["settings"] == settings


def test_settings_of_other_components(project: Path, tmp_path: Path, capsys: Capture) -> None:
    data = (project / "labels.csv", "--images", project / "photos", *QUICK)
    out = tmp_path / "run"
    assert call("train", *data, "--head", "weldon", "--set", "head.top=0.5", "--out", out) == 0
    assert config_of(out)["head_settings"] == {"top": "0.5"}
    printed = capsys.readouterr().out
    assert "best epoch: " in printed and "mAP %" in printed and f"run folder: {out}" in printed
    for wrong in ("method.gamma=1", "heads.top=1", "a.b.c=1"):
        assert "begin with head., graph. or relabel." in complaint(capsys, "train", *data, "--set", wrong, code=2)
    assert "NAME=VALUE" in complaint(capsys, "train", "scenes", "--set", "gamma", code=2)


def test_without_validation_the_last_epoch_is_kept(project: Path, tmp_path: Path, capsys: Capture) -> None:
    data = (project / "labels.csv", "--images", project / "photos", *QUICK)
    assert call("train", *data, "--val", "none", "--out", tmp_path / "run") == 0
    assert "2 epochs done; no validation, so the last one is kept" in capsys.readouterr().out


# ---- resuming


def test_ctrl_c_saves_and_exits_130_and_resume_needs_the_folder_only(project: Path, run: Path, tmp_path: Path) -> None:
    """And the run ends as one that nobody stopped, to the bit."""
    out = tmp_path / "stopped"
    arguments = ["train", project / "labels.csv", "--images", project / "photos", "--out", out, *QUICK]
    stopped = stopped_command([*arguments, "--save-minutes", "0"], signal.SIGINT, "last.safetensors", times=3)
    assert stopped.returncode == 130
    assert f"--resume {out}" in stopped.stderr
    state = checkpoint.load_state(out / "last.safetensors")
    assert 2 < state["step"] < 6 and not (out / "metrics.jsonl").exists(), "in the first of two epochs"
    assert call("train", "--resume", out) == 0
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 2
    for name in ("last", "best"):
        assert same(tensors_of(out, name), tensors_of(run, name))


def test_two_rounds_are_resumed_by_the_folder_that_was_named(
    project: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Stopped in the first of them; runs that teach are found from anywhere."""
    monkeypatch.chdir(run.parent)
    out = tmp_path / "stopped"
    arguments = ["train", project / "labels.csv", "--images", project / "photos", "--out", out, *QUICK]
    arguments += ["--rounds", "2", "--teachers", run.name, run.name, "--method", "known-only", "--epochs", "1"]
    stopped = stopped_command([*arguments, "--save-minutes", "0"], signal.SIGINT, "last.safetensors", times=2)
    assert stopped.returncode == 130, stopped.stderr
    assert f"--resume {out}\n" in stopped.stderr
    assert (out / "round-1" / "last.safetensors").is_file() and not (out / "last.safetensors").exists()
    monkeypatch.chdir(tmp_path)
    assert result(capsys, "train", "--resume", "stopped")["epochs"] == 1
    config = config_of(out)
    assert (config["rounds"], config["teachers"], config["method"]) == (2, [str(run)] * 2, "known-only")
    assert call("report", out) == 0 and call("evaluate", out, "--split", "test") == 0
    assert "--teachers" in complaint(capsys, "train", "--resume", out, "--teachers", run, code=2)


# Runs a command in a terminal of its own, which it closes when training has started; prints the exit code.
_IN_TERMINAL = """
import os, pty, runpy, sys
child, terminal = pty.fork()
if not child:
    os.environ["TERM"] = "xterm"
    runpy.run_module("trilabel", run_name="__main__")
seen = b""
while b"fine-tune" not in seen:
    seen += os.read(terminal, 4096)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals")
def test_a_closed_terminal_saves_and_stops(project: Path, tmp_path: Path) -> None:
    """Writing to it fails from then on, the bar of the progress too."""
    out = tmp_path / "closed"
    arguments = ["train", project / "labels.csv", "--images", project / "photos", "--out", out, *QUICK]
    done = forked_script(_IN_TERMINAL, [*arguments, "--epochs", "5000"])
    assert done.stdout == f"{128 + signal.SIGHUP}\n", done.stderr
    assert checkpoint.load_state(out / "last.safetensors")["epoch"] < 5000


def test_a_run_can_be_resumed_and_scored_from_anywhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(project)
    assert call("train", "labels.csv", "--images", "photos", "--out", tmp_path / "run", *QUICK) == 0
    monkeypatch.chdir(tmp_path)
    assert call("evaluate", "run", "--split", "test") == 0
    longer = result(capsys, "train", "--resume", "run", "--epochs", "3")
    assert longer["epochs"] == 3
    assert "give the data" in complaint(capsys, "evaluate", "run", "--values", "signed", code=2)


def test_a_table_of_rates_is_found_from_anywhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    out, table = tmp_path / "run", tmp_path / "rates.csv"
    with (project / "labels.csv").open() as file:
        classes = file.readline().strip().split(",")[1:]
    table.write_text("class,positives\n" + "".join(f"{name},0.5\n" for name in classes))
    monkeypatch.chdir(tmp_path)
    given = ("--method", "posterior", "--set", "rates=given", "table=rates.csv")
    assert call("train", project / "labels.csv", "--images", project / "photos", "--out", out, *given, *QUICK) == 0
    assert config_of(out)["settings"] == {"rates": "given", "table": str(table)}
    monkeypatch.chdir(project)
    assert result(capsys, "train", "--resume", out, "--epochs", "3")["epochs"] == 3


def test_a_resumed_run_keeps_its_settings(run: Path, capsys: Capture) -> None:
    for option, value in (("--lr", 1), ("--out", "x"), ("--recipe", "fine-tune"), ("--set", "a=1"), ("--year", 2007)):
        line = complaint(capsys, "train", "--resume", run, option, value, code=2)
        assert (
            f"trilabel train: {option}: a resumed run keeps its settings; with --resume only these may be given: "
            in line
        )
        assert "--epochs" in line
    assert "either data" in complaint(capsys, "train", "--resume", run, "scenes", code=2)
    assert "either data" in complaint(capsys, "train", code=2)


def test_a_finished_run_is_resumed_without_work_until_more_is_asked(
    project: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = (project / "labels.csv", "--images", project / "photos", *QUICK), tmp_path / "a run"
    assert call("train", *data, "--out", out) == 0
    first = capsys.readouterr().out
    again = complaint(capsys, "train", *data, "--out", out)
    assert f"choose another, or pass --overwrite, or go on with: trilabel train --resume '{out}'" in again
    with monkeypatch.context() as patched:
        patched.setattr("trilabel.cli.train.read_training_data", None)  # nothing is read, nothing trained
        assert call("train", "--resume", out) == 0
    told = capsys.readouterr()
    assert told.out == first and f"{out} is finished; to train on, pass more --epochs" in told.err
    (out / "finished.json").unlink()  # as if it had been killed before its end
    assert call("train", "--resume", out) == 0
    assert (out / "finished.json").is_file() and "is finished" not in capsys.readouterr().err
    with monkeypatch.context() as patched:
        patched.setattr("trilabel.training.api.fit", lambda job: os.kill(os.getpid(), signal.SIGINT))
        assert call("train", "--resume", out, "--epochs", "3") == 130
    assert not (out / "finished.json").exists()
    assert result(capsys, "train", "--resume", out)["epochs"] == 3


def test_a_run_started_from_python_is_resumed_there(run: Path, tmp_path: Path, capsys: Capture) -> None:
    about = json.loads((run / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**about, "source": {}}))
    assert "this run was started from Python" in complaint(capsys, "train", "--resume", tmp_path)


def test_a_folder_in_use_is_refused_before_data_is_read(run: Path, tmp_path: Path, capsys: Capture) -> None:
    words = f"another process is training here (process {os.getpid()} on "
    with lock_run(tmp_path / "run"):
        assert words in complaint(capsys, "train", tmp_path / "unread.csv", "--out", tmp_path / "run")
    with lock_run(run):
        assert words in complaint(capsys, "train", tmp_path / "unread.csv", "--out", run, "--overwrite")
        assert words in complaint(capsys, "train", "--resume", run, "--epochs", "9")


# ---- bad input


def test_bad_input_is_answered_in_one_line(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    good = (project / "labels.csv").read_text()
    header, first, rest = good.split("\n", 2)
    photos = ["--images", project / "photos"]

    def table(text: str) -> Path:
        (tmp_path / "bad.csv").write_text(text)
        return tmp_path / "bad.csv"

    cells, classes = first.split(","), header.split(",")
    line = complaint(capsys, "train", table("\n".join([header, ",".join([cells[0], "2", *cells[2:]]), rest])), *photos)
    assert "bad.csv" in line and "'2'" in line and cells[0] in line
    twice = ",".join([classes[0], classes[1], classes[1], *classes[3:]])
    assert repr(classes[1]) in complaint(capsys, "train", table("\n".join([twice, first, rest])), *photos)
    missing = table(good.replace(cells[0], "nowhere.png", 1))
    line = complaint(capsys, "train", missing, *photos, "--out", tmp_path / "r", *QUICK)
    assert "nowhere.png" in line and "--broken skip" in line
    assert "exists" in complaint(capsys, "train", project / "labels.csv", *photos, "--out", run, *QUICK)
    assert "exists" in complaint(capsys, "train", tmp_path / "unread.csv", "--out", run), "told before data is read"
    scenes = ("train", "scenes", "--out", tmp_path / "r")
    assert "no recipe named" in complaint(capsys, *scenes, "--recipe", "bigg")
    assert "no method named" in complaint(capsys, *scenes, "--method", "x")
    assert "no setting 'x'" in complaint(capsys, *scenes, "--method", "known-only", "--set", "x=1")
    assert "keep-share" in complaint(capsys, *scenes, "--hide", "keep")
    assert "no such file" in complaint(capsys, "train", tmp_path / "nothing.csv", "--read", "unlisted=absent")
    assert not (tmp_path / "r").exists()


def test_a_run_trains_around_a_broken_image(project: Path, tmp_path: Path, capsys: Capture) -> None:
    table = (project / "labels.csv").read_text().replace("split\n", "split\ngone.png" + "," * 14 + ",train\n", 1)
    (tmp_path / "labels.csv").write_text(table)
    arguments = ["train", tmp_path / "labels.csv", "--images", project / "photos", "--out", tmp_path / "run", *QUICK]
    assert call(*arguments, "--broken", "skip") == 0
    listed = tmp_path / "run/left_out.txt"
    assert f"images left out, listed in {listed}; the first: " in capsys.readouterr().err
    assert listed.read_text() == f"{project / 'photos/gone.png'}: no such image\n"


def test_what_to_do_next_can_be_pasted(project: Path, tmp_path: Path, capsys: Capture) -> None:
    out, table = tmp_path / "my first run", (project / "labels.csv", "--images", project / "photos")
    assert call("train", *table, "--out", out, *QUICK, "--epochs", "1") == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("try next: "))
    assert shlex.split(line.removeprefix("try next: "))[:3] == ["trilabel", "predict", str(out)]


def test_a_validation_split_that_cannot_be(project: Path, tmp_path: Path, capsys: Capture) -> None:
    data = ("train", project / "labels.csv", "--images", project / "photos", "--out", tmp_path / "r", *QUICK)
    for wrong in ("2", "0", "-0.5"):
        assert complaint(capsys, *data, "--val", wrong) == (
            f"trilabel: --val {wrong}: give a share of the training images between 0 and 1, such as 0.2, the name of a "
            "split (there are: 'train', 'val', 'test'), folds, or none"
        )


@pytest.mark.parametrize("broken", ["stop", "skip"])
def test_a_wrong_folder_of_images_is_told_before_anything_is_measured(
    project: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setattr("trilabel.training.api.with_choices", None)
    (tmp_path / "empty").mkdir()
    data = (project / "labels.csv", "--images", tmp_path / "empty", "--broken", broken)
    told = complaint(capsys, "train", *data, "--out", tmp_path / "run")
    assert "images can be read; is --images the right folder?" in told
