"""The command line as a person uses it: real commands, real files, exit codes, one-line errors."""

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.support.stopped import run_script, stopped_command
from trilabel.cli.main import COMMANDS, main
from trilabel.data.dataset import Dataset
from trilabel.methods import METHODS

QUICK = ["--image-size", "32", "--epochs", "2", "--workers", "0", "--batch-size", "16"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, small_scenes: Dataset) -> Path:
    """A folder of images and a wide table with holes in it, as a person would have them."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "photos").mkdir()
    assert small_scenes.images is not None
    names = [f"{name}.png" for name in small_scenes.ids]
    for name, image in zip(names, small_scenes.images, strict=True):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(folder / "photos" / name)
    signed = small_scenes.labels.to_signed()
    hole = np.random.default_rng(0).random(signed.shape) < 0.5
    hole[small_scenes.rows_of("test")] = False
    table = pd.DataFrame(np.where(hole, "", np.where(signed > 0, "1", "0")), columns=list(small_scenes.classes))
    split = np.empty(len(names), object)
    for name, rows in small_scenes.splits.items():
        split[rows] = name
    table.insert(0, "image", names)
    table["split"] = split
    table.to_csv(folder / "labels.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def run(project: Path) -> Path:
    """A run trained by the command line on that project."""
    out = project / "run"
    assert call("train", project / "labels.csv", "--images", project / "photos", "--out", out, *QUICK) == 0
    return out


def call(*arguments: Any) -> int:
    return main([str(argument) for argument in arguments])


def result(capsys: pytest.CaptureFixture[str], *arguments: Any) -> Any:
    capsys.readouterr()
    assert call(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def complaint(capsys: pytest.CaptureFixture[str], *arguments: Any, code: int = 1) -> str:
    """The one line of an error, on standard error, with the right exit code and nothing on standard output."""
    capsys.readouterr()
    assert call(*arguments) == code
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if line.startswith("trilabel: ")]
    assert len(lines) == 1, captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return lines[0]


# ---- the way through


def test_the_whole_way(project: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scored = result(capsys, "evaluate", run, "--split", "test")
    assert scored["images"] == 48
    assert scored["known_share"] == 1
    assert 0 < scored["mAP"] <= 1
    again = result(capsys, "evaluate", run, project / "labels.csv", "--images", project / "photos", "--split", "test")
    assert again["mAP"] == scored["mAP"]
    records = result(capsys, "predict", run, project / "photos", "--out", project / "all.csv")
    table = pd.read_csv(project / "all.csv")
    assert len(table) == len(records) == 192
    assert list(table.columns[1:]) == list(records[0]["scores"])
    assert table.iloc[0, 1:].tolist() == pytest.approx(list(records[0]["scores"].values()), abs=1e-5)


def test_predicting_files_prints_a_line_each(project: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((project / "photos").iterdir())[:3]
    capsys.readouterr()
    assert call("predict", run, *files, "--threshold", "0") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == [str(file) for file in files]
    assert call("predict", run, *files, "--out", project / "some.json", "--overwrite") == 0
    assert len(json.loads((project / "some.json").read_text())) == 3


def test_inspect_counts_and_warns(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, "data", "inspect", project / "labels.csv", "--split", "train")
    table = pd.read_csv(project / "labels.csv").query("split == 'train'").drop(columns=["image", "split"])
    assert found["positives"] == int((table == 1).sum().sum())
    assert found["negatives"] == int((table == 0).sum().sum())
    assert found["images"] == 96
    assert call("data", "inspect", project / "labels.csv") == 0
    printed = capsys.readouterr().out
    assert "192 images" in printed
    assert "most often present together" in printed


def test_simulate_writes_a_table_that_trains(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = project / "single.csv"
    said = result(capsys, "data", "simulate", project / "labels.csv", "single-positive", "--images",
                  project / "photos", "--out", out)  # fmt: skip
    assert said["known_after"] <= 96
    assert call("data", "inspect", out) == 0
    assert "no label is known" not in capsys.readouterr().err
    assert "exists" in complaint(capsys, "data", "simulate", out, "single-positive", "--out", out)
    trained = result(capsys, "train", out, "--out", project / "single-run", *QUICK, "--val", "none")
    assert trained["epochs"] == 2


def test_hidden_labels_and_method_settings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = project / "hidden"
    trained = result(
        capsys, "train", "scenes", "--hide", "keep-share=0.1", "--method", "known-only", "--set", "normalize=share",
        "gamma=2", "--out", out, "--epochs", "1", "--image-size", "16",
    )  # fmt: skip
    about = json.loads((out / "config.json").read_text())
    assert about["source"] == {"data": "scenes", "hide": "keep-share=0.1", "hide_seed": None}
    assert about["config"]["settings"] == {"normalize": "share", "gamma": "2"}
    assert trained["best"]["val"]["known_share"] == 1  # only training labels were hidden
    labels = np.load(out / "labels.npz")
    assert len(labels["values"]) == pytest.approx(0.1 * 2000 * 14, rel=0.1)


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {row["method"]: row for row in result(capsys, "methods")}
    assert list(listed) == list(METHODS)
    assert all(row["what"] and row["labels"] and row["cost"] for row in listed.values())
    assert listed["large-loss"]["settings"] == {"mode": "reject", "delta": 0.2, "start": None}
    parts = result(capsys, "parts")
    assert {next(iter(row)) for row in parts} == {"head", "graph", "relabel"}
    weldon, *_ = (row for row in parts if row.get("head") == "weldon")
    assert weldon["settings"] == {"top": 0.1, "bottom": 0.1}
    recipes = result(capsys, "recipes")
    assert recipes["kim2022-ll-ct"]["settings"] == {"mode": "correct"}
    assert recipes["cole2021-role-linear-init"]["stages"] == "linear-then-fine-tune"


def test_another_method_does_not_take_over_the_settings_of_the_recipe(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = (project / "labels.csv", "--images", project / "photos", "--backbone", "tiny", *QUICK)
    for method, settings in (("large-loss", {"mode": "correct"}), ("assume-negative", {})):
        out = project / f"recipe-{method}"
        result(capsys, "train", *data, "--recipe", "kim2022-ll-ct", "--method", method, "--out", out)
        assert json.loads((out / "config.json").read_text())["config"]["settings"] == settings


# ---- looking


def test_evaluating_where_the_model_looks(project: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, "evaluate", run, "scenes", "--pointing")
    assert 0 < found["pointing_game"] < 1 and found["pointing_game_pairs"] > 2000
    assert call("evaluate", run, "scenes", "--pointing", "--per-class") == 0
    printed = capsys.readouterr().out
    assert f"pointing game: {100 * found['pointing_game']:.1f} % of {found['pointing_game_pairs']:,} present" in printed
    assert f"{100 * found['per_class_pointing_game']['flower']:.1f}" in printed.split("flower")[1].split("\n")[0]
    assert "split 'test' has no boxes" in complaint(capsys, "evaluate", run, "--pointing")


def test_class_maps_of_files(project: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, "maps", run, project / "photos", "--out", tmp_path / "maps", "--limit", "2", "--top", "2")
    files = sorted((project / "photos").iterdir())
    assert found["images"] == len(files)
    assert [record["image"] for record in found["pictures"]] == list(map(str, files[:2]))
    names = {Path(record["file"]).name for record in found["pictures"]} | {"overview.png"}
    assert (
        {file.name for file in (tmp_path / "maps").iterdir()} == names == {"overview.png", *(f.name for f in files[:2])}
    )
    scores = result(capsys, "predict", run, files[0])[0]["scores"]
    best = sorted(scores, key=lambda name: -scores[name])[:2]
    assert found["pictures"][0]["classes"] == pytest.approx({name: scores[name] for name in best}, abs=1e-5)
    assert "exists" in complaint(capsys, "maps", run, files[0], "--out", tmp_path / "maps")
    assert call("maps", run, files[2], "--out", tmp_path / "maps", "--overwrite", "--classes", "sun", "boat") == 0
    printed = capsys.readouterr()
    assert "pictures of 1 images" in printed.out and "the first" not in printed.err
    assert call("maps", run, *files[:3], "--limit", "2", "--out", tmp_path / "two") == 0
    assert "the first 2 of 3 images" in capsys.readouterr().err
    assert "is it 'boat'?" in complaint(capsys, "maps", run, files[0], "--classes", "boats", "--out", tmp_path / "x")
    assert "no such image or folder" in complaint(capsys, "maps", run, tmp_path / "nothing", "--out", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_class_maps_of_a_data_set(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result(
        capsys, "maps", run, "--data", "scenes", "--split", "val", "--limit", "1", "--out", tmp_path / "maps"
    )
    assert [record["image"] for record in found["pictures"]] == ["scene02000"] and found["images"] == 500
    out = ("--out", tmp_path / "x")
    assert "either images" in complaint(capsys, "maps", run, *out, code=2)
    assert "either images" in complaint(capsys, "maps", run, "photos", "--data", "scenes", *out, code=2)
    assert "values: these are for --data" in complaint(capsys, "maps", run, "p", "--values", "signed", *out, code=2)
    assert "--top 0" in complaint(capsys, "maps", run, "--data", "scenes", "--top", "0", *out, code=2)
    assert "no split named" in complaint(capsys, "maps", run, "--data", "scenes", "--split", "tset", *out)
    (tmp_path / "file").write_text("")
    assert "name a folder" in complaint(capsys, "maps", run, "--data", "scenes", "--out", tmp_path / "file")


def test_similar_images_and_labels(
    project: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = result(capsys, "similar", run, "--out", tmp_path / "one", "--limit", "3", "--neighbours", "2")
    assert {Path(file).name for file in found["files"]} == {"images.csv", "images.png"}
    assert {file.name for file in (tmp_path / "one").iterdir()} == {"images.csv", "images.png"}
    table = pd.read_csv(tmp_path / "one" / "images.csv")
    assert found["images"] == 48 and len(table) == len(found["pairs"]) > 24
    assert table.groupby("image").size().max() <= 2 and (table["image"] != table["similar"]).all()
    assert (table[["label_weight", "feature_weight"]] >= 0).all().all()
    test = set(pd.read_csv(project / "labels.csv").query("split == 'test'").image)
    assert set(table["image"]) <= test and set(table["similar"]) <= test
    graph = run / "label_graph.csv"
    graph.write_text("label,neighbour,weight\nsun,sun,1\nsun,cloud,-0.5\n")
    try:
        assert call("similar", run, "--out", tmp_path / "two") == 0
        assert "labels.png" in capsys.readouterr().out
        labels = pd.read_csv(tmp_path / "two" / "labels.csv")
        assert ("sun", "cloud", -0.5) in list(labels.itertuples(index=False, name=None))
        assert (tmp_path / "two" / "labels.png").is_file()
    finally:
        graph.unlink()
    monkeypatch.setattr("trilabel.report.similarity.MOST_IMAGES", 10)
    few = result(capsys, "similar", run, "--out", tmp_path / "one", "--overwrite")
    assert few["images"] == 10
    assert "exists" in complaint(capsys, "similar", run, "--out", tmp_path / "one")
    assert "--neighbours 0" in complaint(capsys, "similar", run, "--neighbours", "0", "--out", tmp_path / "x", code=2)


# ---- stopping


def test_ctrl_c_saves_and_exits_130_and_resume_needs_the_folder_only(project: Path) -> None:
    out = project / "stopped"
    arguments = ["train", project / "labels.csv", "--images", project / "photos", "--out", out, *QUICK]
    stopped = stopped_command([*arguments, "--epochs", "200"], signal.SIGINT, "last.safetensors")
    assert stopped.returncode == 130
    assert f"--resume {out}" in stopped.stderr
    done = len((out / "metrics.jsonl").read_text().splitlines())
    config = json.loads((out / "config.json").read_text())
    config["config"]["epochs"] = done + 2
    (out / "config.json").write_text(json.dumps(config))
    assert call("train", "--resume", out) == 0
    assert len((out / "metrics.jsonl").read_text().splitlines()) == done + 2


# ---- help and usage


SLOW_TO_IMPORT = {"numpy", "scipy", "torch", "pandas", "sklearn", "PIL", "matplotlib", "rich"}
IMPORTED = """
import atexit, runpy, sys
atexit.register(lambda: print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr))
runpy.run_module("trilabel", run_name="__main__")
"""


def test_help_has_an_example_and_imports_nothing_slow() -> None:
    for name in ["", *COMMANDS]:
        done = run_script(IMPORTED, [*name.split(), "--help"])
        assert done.returncode == 0, done.stderr
        assert "Example: trilabel" in done.stdout
        imported = set(done.stderr.split())
        assert "tyro" in imported and not imported & SLOW_TO_IMPORT, name


def test_wrong_usage_exits_2(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    assert "there are: demo" in complaint(capsys, "tarin", code=2)
    assert "inspect | simulate" in complaint(capsys, "data", code=2)
    assert "either data" in complaint(capsys, "train", code=2)
    assert "NAME=VALUE" in complaint(capsys, "train", "scenes", "--set", "gamma", code=2)
    assert ".csv or .json" in complaint(capsys, "predict", run, "x.jpg", "--out", "x.xls", code=2)
    with pytest.raises(SystemExit) as stopped:
        call("train", "--epochs", "many")
    assert stopped.value.code == 2
    assert call() == 2


# ---- bad input


def test_bad_input_is_answered_in_one_line(
    project: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = (project / "labels.csv").read_text()
    header, first, rest = good.split("\n", 2)
    photos = ["--images", project / "photos"]

    def table(text: str) -> Path:
        (tmp_path / "bad.csv").write_text(text)
        return tmp_path / "bad.csv"

    cells = first.split(",")
    line = complaint(capsys, "train", table("\n".join([header, ",".join([cells[0], "2", *cells[2:]]), rest])), *photos)
    assert "bad.csv" in line
    assert "'2'" in line
    assert cells[0] in line
    classes = header.split(",")
    twice = ",".join([classes[0], classes[1], classes[1], *classes[3:]])
    assert repr(classes[1]) in complaint(capsys, "train", table("\n".join([twice, first, rest])), *photos)
    assert "bad.csv" in complaint(capsys, "data", "inspect", table(""))
    assert "bad.csv" in complaint(capsys, "data", "inspect", table("image,label\n"))
    assert "no such" in complaint(capsys, "data", "inspect", tmp_path / "missing.csv").lower()
    missing = table(good.replace(cells[0], "nowhere.png", 1))
    line = complaint(capsys, "train", missing, *photos, "--out", tmp_path / "r", *QUICK)
    assert "nowhere.png" in line
    assert "--broken skip" in line
    assert "exists" in complaint(capsys, "train", project / "labels.csv", *photos, "--out", run, *QUICK)
    assert "not a run folder" in complaint(capsys, "evaluate", tmp_path, "scenes")
    assert "no split named 'tset'" in complaint(capsys, "evaluate", run, "--split", "tset")
    assert "no recipe named" in complaint(capsys, "train", "scenes", "--recipe", "bigg")
    assert "no method named" in complaint(capsys, "train", "scenes", "--method", "x", "--out", tmp_path / "r")
    assert "no setting 'x'" in complaint(
        capsys, "train", "scenes", "--method", "known-only", "--set", "x=1", "--out", tmp_path / "r"
    )
    assert "keep-share" in complaint(capsys, "train", "scenes", "--hide", "keep", "--out", tmp_path / "r")
    extra = table("\n".join([header + ",dragon", first + ",1", *(row + ",0" for row in rest.strip().split("\n"))]))
    line = complaint(capsys, "evaluate", run, extra, *photos, "--split", "test")
    assert "'dragon'" in line
    assert "--common-classes" in line
    assert call("evaluate", run, extra, *photos, "--split", "test", "--common-classes") == 0


def test_broken_images_stop_or_are_left_out(project: Path, run: Path, tmp_path: Path, capsys: Any) -> None:
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


def test_a_run_trains_around_a_broken_image(project: Path, tmp_path: Path, capsys: Any) -> None:
    table = (project / "labels.csv").read_text().replace("split\n", "split\ngone.png" + "," * 14 + ",train\n", 1)
    (tmp_path / "labels.csv").write_text(table)
    arguments = ["train", tmp_path / "labels.csv", "--images", project / "photos", "--out", tmp_path / "run", *QUICK]
    assert call(*arguments, "--broken", "skip") == 0
    assert "1 of 97 images left out" in capsys.readouterr().err


def test_damaged_run_folders(run: Path, tmp_path: Path, capsys: Any) -> None:
    copy = tmp_path / "run"
    copy.mkdir()
    for file in run.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    whole = (copy / "best.safetensors").read_bytes()
    (copy / "best.safetensors").write_bytes(whole[:1000])
    assert "best.safetensors" in complaint(capsys, "predict", copy, run)
    (copy / "config.json").write_text("{")
    assert "config.json" in complaint(capsys, "evaluate", copy)


def test_a_run_can_be_resumed_and_scored_from_anywhere(
    project: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(project)
    assert call("train", "labels.csv", "--images", "photos", "--out", tmp_path / "run", *QUICK) == 0
    monkeypatch.chdir(tmp_path)
    assert call("evaluate", "run", "--split", "test") == 0
    longer = result(capsys, "train", "--resume", "run", "--epochs", "3")
    assert longer["epochs"] == 3
    assert "--lr" in complaint(capsys, "train", "--resume", "run", "--lr", "1", code=2)
    assert "name the data" in complaint(capsys, "evaluate", "run", "--values", "signed", code=2)
