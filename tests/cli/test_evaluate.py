"""`trilabel evaluate`: scores, the pointing game, and scores that mean nothing."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tests.support.command_line import QUICK, Capture, call, complaint, result
from trilabel.training.run_folder import RunFolder


def test_scores_on_own_data_and_on_named_data(project: Path, run: Path, capsys: Capture) -> None:
    scored = result(capsys, "evaluate", run, "--split", "test")
    assert scored["images"] == 48
    assert scored["known_share"] == 1
    assert 0 < scored["mAP"] <= 1
    data = (project / "labels.csv", "--images", project / "photos")
    assert result(capsys, "evaluate", run, *data, "--split", "test") == scored
    assert call("evaluate", run, "--per-class") == 0
    printed = capsys.readouterr().out
    assert "test: 48 images, 100.0% of labels known" in printed and f"{100 * scored['mAP']:.1f}" in printed
    assert "mAP: average precision, mean over classes" in printed
    heads, first, *_ = printed[printed.index("class ") :].splitlines()
    assert heads.split("  ")[0] == "class" and "95 % interval" in heads
    name, ap = scored["class_names"][0], scored["per_class_ap"][0]
    low, high = (result(capsys, "evaluate", run, "--per-class")[f"per_class_ap_{end}"][0] for end in ("low", "high"))
    known = f"{scored['per_class_positives'][0]}  {scored['per_class_negatives'][0]}"
    wanted = f"{name} {100 * ap:.1f} {100 * low:.1f} … {100 * high:.1f} {known}"
    assert first.split() == wanted.split() and low <= ap <= high


def test_says_which_images_the_model_has_seen(run: Path, capsys: Capture) -> None:
    assert result(capsys, "evaluate", run, "--split", "test")["warnings"] == []
    learned = result(capsys, "evaluate", run, "--split", "train")
    chosen = json.loads((run / "validation_images.json").read_text())
    assert len(learned["warnings"]) == 1 and "that the model was trained on" in learned["warnings"][0]
    on_val = result(capsys, "evaluate", run, "--split", "val")
    assert on_val["warnings"][0].startswith(
        f"{len(chosen)} of {on_val['images']} scored images are ones that its epoch"
    )
    assert call("evaluate", run, "--split", "val") == 0
    assert "its epoch was chosen on: the scores are better than on new ones" in capsys.readouterr().err


def test_where_the_model_looks(run: Path, capsys: Capture) -> None:
    found = result(capsys, "evaluate", run, "scenes", "--pointing")
    assert 0 < found["pointing_game"] < 1 and found["pointing_game_pairs"] > 1000
    assert call("evaluate", run, "scenes", "--pointing", "--per-class") == 0
    printed = capsys.readouterr().out
    assert f"pointing game: {100 * found['pointing_game']:.1f} % of {found['pointing_game_pairs']:,} present" in printed
    assert f"{100 * found['per_class_pointing_game']['flower']:.1f}" in printed.split("flower")[1].split("\n")[0]
    assert "split 'test' has no boxes" in complaint(capsys, "evaluate", run, "--pointing")


def test_classes_that_the_model_does_not_have(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    table = pd.read_csv(project / "labels.csv", dtype=str).assign(dragon="0")
    table.to_csv(tmp_path / "labels.csv", index=False)
    data = (tmp_path / "labels.csv", "--images", project / "photos", "--split", "test")
    line = complaint(capsys, "evaluate", run, *data)
    assert "'dragon'" in line and "--common-classes" in line
    assert call("evaluate", run, *data, "--common-classes") == 0


def test_an_unfinished_run_is_not_believed(run: Path, tmp_path: Path, capsys: Capture) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    assert not [line for line in result(capsys, "evaluate", copy)["warnings"] if "unfinished" in line]
    RunFolder(copy).change_config(replace(RunFolder(copy).read().config, epochs=5))  # as when it was to take five
    doubt = "this run is unfinished: 2 of 5 epochs are done; the scores are of its best epoch so far"
    assert result(capsys, "evaluate", copy)["warnings"][0] == doubt
    assert call("evaluate", copy) == 0
    assert f"warning: {doubt}" in capsys.readouterr().err


def test_a_class_without_negatives_is_not_believed(project: Path, tmp_path: Path, capsys: Capture) -> None:
    """As after a merge with a set of tags: its average precision would be perfect."""
    table = pd.read_csv(project / "labels.csv", dtype=str)
    cls = table.columns[1]
    table[cls] = table[cls].where(table[cls] == "1")
    table.to_csv(tmp_path / "labels.csv", index=False)
    images = ["--images", project / "photos"]
    assert call("train", tmp_path / "labels.csv", *images, "--out", tmp_path / "run", *QUICK) == 0
    assert "1 of" in (told := capsys.readouterr().err) and "such as assume-negative" in told
    assert call("evaluate", tmp_path / "run", "--split", "test") == 0
    assert (
        f"warning: {cls!r}: split 'test' has no known negative of them, so they have no AP" in capsys.readouterr().err
    )


def test_without_any_negative_only_recall_counts(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    table = pd.read_csv(project / "labels.csv", dtype=str)
    classes = table.columns[1:-1]
    table[classes] = table[classes].where(table[classes] == "1")
    table.to_csv(tmp_path / "labels.csv", index=False)
    assert call("evaluate", run, tmp_path / "labels.csv", "--images", project / "photos") == 0
    told = capsys.readouterr().err
    assert "warning: no label of split 'test' is known to be absent" in told and "no negative of them" not in told


def test_bad_input_is_answered_in_one_line(run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert "not a run folder" in complaint(capsys, "evaluate", tmp_path, "scenes")
    told = complaint(capsys, "evaluate", run, "--split", "tset")
    assert "no split named 'tset'" in told and "or train again with --splits tset=0.2" in told
    assert "give the data" in complaint(capsys, "evaluate", run, "--values", "signed", code=2)
    copy = tmp_path / "run"
    copy.mkdir()
    for file in run.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    whole = (copy / "best.safetensors").read_bytes()
    (copy / "best.safetensors").write_bytes(whole[:1000])
    assert "best.safetensors" in complaint(capsys, "evaluate", copy, "scenes")
    (copy / "config.json").write_text("{")
    assert "config.json" in complaint(capsys, "evaluate", copy)
