"""`trilabel weights`, and what `--weights` of `train` means."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.batch_norms import write_weights
from tests.support.command_line import QUICK, Capture, call, complaint, result
from tests.support.stopped import run_script
from trilabel.cli.main import parse
from trilabel.models.variants import photographs

LIST = """
import sys
from trilabel.cli.main import main
assert main(["weights"]) == 0
print("IMPORTED", *sorted(sys.modules))
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRILABEL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_weights(tmp_path_factory.mktemp("made") / "weights.safetensors", "test_resnet", photographs(64))


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "weights.safetensors"))


@pytest.fixture
def data(project: Path) -> tuple[object, ...]:
    quick = [*QUICK, "--epochs", "1"]
    return (project / "labels.csv", "--images", project / "photos", *quick)


def config_of(run: Path) -> dict[str, object]:
    config: dict[str, object] = json.loads((run / "config.json").read_text())["config"]
    return config


# ---- the command


def test_the_list_names_all_ways_and_imports_nothing_slow(home: Path) -> None:
    done = run_script(LIST, [])
    assert done.returncode == 0, done.stderr
    listed, imported = done.stdout.split("IMPORTED ")
    for words in ("--weights FILE", "--weights RUN", "--weights hub", "efficientnet-lite0 --fetch", "default: none"):
        assert words in listed
    assert str(home / "weights") in listed
    assert not set(imported.split()) & {"torch", "timm", "numpy", "safetensors", "huggingface_hub"}


def test_what_a_file_is_for(file: Path, capsys: Capture) -> None:
    about = result(capsys, "weights", file)
    assert about["backbone"] == "test_resnet" and about["weights"] == str(file) and about["image_size"] == 160
    assert about["mean"] == about["std"] == [0.5, 0.5, 0.5] and len(about["sha256"]) == 64
    assert call("weights", file) == 0
    printed = capsys.readouterr().out
    assert "backbone: test_resnet\n" in printed and f"--weights {file}" in printed


def test_what_a_run_has(run: Path, capsys: Capture) -> None:
    assert result(capsys, "weights", run)["backbone"] == "tiny"


def test_a_default_is_remembered_and_forgotten(file: Path, capsys: Capture) -> None:
    assert result(capsys, "weights", file, "--default")["default"] is True
    assert result(capsys, "weights")["default"] == {"weights": str(file), "backbone": "test_resnet"}
    assert call("weights") == 0 and f"default: {file} (test_resnet)" in capsys.readouterr().out
    assert call("weights", "--forget") == 0
    assert result(capsys, "weights")["default"] is None


def test_nothing_is_fetched_without_being_told(home: Path, data: tuple[object, ...], capsys: Capture) -> None:
    assert "`trilabel weights resnet18 --fetch` fetches it" in complaint(capsys, "weights", "resnet18")
    told = complaint(capsys, "train", *data, "--weights", "resnet18", "--out", home / "run")
    assert "resnet18: no such weights file" in told and "see `trilabel weights`" in told
    assert "no name of weights" in complaint(capsys, "weights", "../resnet18", "--fetch")
    assert not (home / "weights").exists()
    for wrong in (["--fetch"], ["--default"], ["resnet18", "--forget"]):
        complaint(capsys, "weights", *wrong, code=2)


def test_a_damaged_settings_file_is_one_line(home: Path, data: tuple[object, ...], capsys: Capture) -> None:
    home.mkdir()
    (home / "settings.json").write_text("{")
    for command in (["weights"], ["train", *data]):
        assert "settings.json: damaged" in complaint(capsys, *command)
    assert call("weights", "--forget") == 0 and call("weights") == 0


# ---- what --weights means to `train`


def test_train_recognizes_the_backbone(
    file: Path, data: tuple[object, ...], tmp_path: Path, capsys: Capture, home: Path
) -> None:
    """Of a file, and of weights that were fetched, whatever the recipe has; a backbone that is named stays."""
    assert call("train", *data, "--weights", file, "--out", tmp_path / "a") == 0
    assert "backbone: test_resnet, recognized" in capsys.readouterr().err
    assert config_of(tmp_path / "a")["backbone"] == "test_resnet"
    (home / "weights").mkdir(parents=True)
    shutil.copy(file, home / "weights" / "fetched.safetensors")
    arguments = ("--recipe", "fine-tune", "--precision", "32", "--weights", "fetched")
    assert call("train", *data, *arguments, "--out", tmp_path / "b") == 0
    assert config_of(tmp_path / "b")["backbone"] == "test_resnet"
    assert config_of(tmp_path / "b")["weights"] == str(home / "weights" / "fetched.safetensors")
    told = complaint(capsys, "train", *data, "--weights", file, "--backbone", "resnet18", "--out", tmp_path / "c")
    assert "do not fit backbone 'resnet18'" in told and "they are for test_resnet" in told
    told = complaint(capsys, "train", *data, "--weights", file, "--backbone", "tiny", "--out", tmp_path / "c")
    assert "--backbone tiny has no pretrained weights" in told


def test_train_starts_from_the_default(file: Path, data: tuple[object, ...], tmp_path: Path, capsys: Capture) -> None:
    assert call("weights", file, "--default") == 0
    capsys.readouterr()
    assert call("train", *data, "--out", tmp_path / "a") == 0
    assert f"weights: {file}, the default (test_resnet); --weights none" in capsys.readouterr().err
    assert config_of(tmp_path / "a")["weights"] == str(file)
    for number, other in enumerate((["--weights", "none"], ["--recipe", "small"], ["--backbone", "tiny"])):
        assert call("train", *data, *other, "--out", tmp_path / str(number)) == 0
        assert (config_of(tmp_path / str(number))["weights"], config_of(tmp_path / str(number))["backbone"]) == (
            None,
            "tiny",
        )
    assert "the default weights are for test_resnet, not for tiny" in capsys.readouterr().err
    file.unlink()
    assert "the default weights are gone" in complaint(capsys, "train", *data, "--out", tmp_path / "gone")


def test_drawn_scenes_do_without_the_default(file: Path, data: tuple[object, ...]) -> None:
    assert call("weights", file, "--default") == 0
    assert parse("train", ["scenes"]).chosen_config().weights is None
    assert parse("train", [str(data[0])]).chosen_config().weights == str(file)


def test_compare_recognizes_the_backbone(
    file: Path, project: Path, data: tuple[object, ...], tmp_path: Path, capsys: Capture
) -> None:
    """Once for all rows, and before cells are named; commands that reproduce a cell say which."""
    arguments = ("--recipes", "cole2021-an", "kim2022-ll-r", "--out", tmp_path / "compared", "--json")
    assert call("compare", *data, "--weights", file, *arguments) == 0
    printed = capsys.readouterr()
    assert printed.err.count("backbone: test_resnet, recognized by its tensors") == 1
    cells = json.loads(printed.out)
    assert len(cells) == 2 and all("--backbone test_resnet" in cell["command"] for cell in cells)
    missing = ("--weights", tmp_path / "missing.safetensors")
    assert "missing.safetensors: no such weights file" in complaint(capsys, "compare", *data, *missing, *arguments)
