"""Run folders that are damaged, strange or may not be read: each is answered in one line that says what to do."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from tests.support.command_line import QUICK, Capture, complaint
from tests.support.disks import as_nobody
from tests.support.stopped import COMMAND_LINE, forked_script
from trilabel.training import checkpoint

Damage = Callable[[Path], None]


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    """A run folder to damage."""
    return Path(shutil.copytree(run, tmp_path / "run"))


def with_description(**changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        values = json.loads((folder / "config.json").read_text())
        config = changes.get("config", {})
        values |= {**changes, "config": config if isinstance(config, str) else {**values["config"], **config}}
        (folder / "config.json").write_text(
            json.dumps({name: value for name, value in values.items() if value != "left out"})
        )

    return damage


def text(name: str, content: str | bytes) -> Damage:
    return lambda folder: (
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode()) and None
    )


def folder_instead(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return damage


def pipe_instead(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return damage


def cut_short(name: str) -> Damage:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size // 2)


def gone(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def with_state(name: str, change: Callable[[dict[str, Any]], Any]) -> Damage:
    def damage(folder: Path) -> None:
        tensors, state = checkpoint.load(folder / name)
        checkpoint.save(folder / name, tensors, change(state))

    return damage


def without(name: str, prefix: str, honestly: bool = True) -> Damage:
    """Without some tensors; honestly: as another version might have written it, not as somebody cut it."""

    def damage(folder: Path) -> None:
        with safe_open(folder / name, "pt") as file:
            about = file.metadata()
        tensors, state = checkpoint.load(folder / name)
        left = {key: value for key, value in tensors.items() if not key.startswith(prefix)}
        assert len(left) < len(tensors)
        if honestly:
            checkpoint.save(folder / name, left, state)
        else:
            save_file(left, folder / name, metadata=about)

    return damage


def of_another_model(folder: Path) -> None:
    tensors, state = checkpoint.load(folder / "best.safetensors")
    checkpoint.save(folder / "best.safetensors", {f"model.{n}": t for n, t in enumerate(tensors.values())}, state)


def of_other_shapes(folder: Path) -> None:
    tensors, state = checkpoint.load(folder / "last.safetensors")
    changed = {key: torch.zeros(7) if key.startswith("optimizer") else value for key, value in tensors.items()}
    checkpoint.save(folder / "last.safetensors", changed, state)


DESCRIPTION = [
    (gone("config.json"), "run: not a run folder (no config.json in it); name the folder that"),
    (folder_instead("config.json"), "config.json: not a regular file (a folder); put the file in its place"),
    (pipe_instead("config.json"), "config.json: not a regular file (a named pipe)"),
    (text("config.json", ""), "config.json: damaged"),
    (text("config.json", "{"), "config.json: damaged"),
    (text("config.json", b"\xff\xfe\0"), "config.json: damaged (not text)"),
    (text("config.json", "[1, 2]"), "(not a dictionary); restore it or train again"),
    (text("config.json", "[" * 100_000), "config.json: damaged"),
    (with_description(config="left out"), "(no config)"),
    (with_description(config={"from_the_future": 1}), "unknown settings from_the_future"),
    (with_description(config={"epochs": "many"}), "epochs of config cannot be 'many'"),
    (with_description(config={"batch_size": True}), "batch_size of config cannot be True"),
    (with_description(config={"settings": [1]}), "settings of config cannot be [1]"),
    (with_description(config={"head": "nose"}), "no head named 'nose'"),
    (with_description(config={"backbone": "no such backbone"}), "config.json: the model cannot be made"),
    (with_description(image_size=-32), "image_size must be from 1 to 10,000 pixels, not -32"),
    (with_description(image_size=10**30), "image_size must be from 1 to 10,000 pixels, not 1000"),
    (with_description(image_size="large"), "image_size cannot be 'large'"),
    (with_description(classes=[]), "classes must be different names, at least one"),
    (with_description(classes=["a", "a"]), "classes must be different names"),
    (with_description(classes=["a", 7]), "classes must be different names"),
    (with_description(classes="left out"), "(no classes)"),
    (with_description(classes=[str(number) for number in range(2_000_000)]), "too small for the 2,000,000 classes"),
    (with_description(classes=["one"]), "best.safetensors: does not fit the model in config.json"),
]
MODEL = [
    (gone("best.safetensors"), "best.safetensors: no such checkpoint; restore it, or resume the run"),
    (cut_short("best.safetensors"), "best.safetensors: not a trilabel checkpoint, or cut short"),
    (text("best.safetensors", b"\0" * 1000), "best.safetensors: not a trilabel checkpoint"),
    (folder_instead("best.safetensors"), "best.safetensors: not a regular file (a folder)"),
    (pipe_instead("best.safetensors"), "best.safetensors: not a regular file (a named pipe)"),
    (of_another_model, "best.safetensors: does not fit the model in config.json"),
    (without("best.safetensors", "model.head"), "best.safetensors: does not fit the model in config.json"),
    (without("best.safetensors", "model.head", honestly=False), "of its tensors are missing"),
]
RESUMED = [
    (gone("labels.npz"), "labels.npz: no such labels file"),
    (cut_short("labels.npz"), "labels.npz: not a labels file, or cut short"),
    (cut_short("last.safetensors"), "last.safetensors: not a trilabel checkpoint, or cut short"),
    (folder_instead("last.safetensors"), "last.safetensors: not a regular file (a folder)"),
    (gone("best.safetensors"), "best.safetensors: missing, and the run needs it to resume"),
    (without("last.safetensors", "optimizer", honestly=False), "of its tensors are missing"),
    (without("last.safetensors", "diagnosis"), "last.safetensors: not of this run, or of another version"),
    (without("last.safetensors", "totals"), "last.safetensors: not of this run, or of another version"),
    (without("last.safetensors", "model."), "last.safetensors: not of this run, or of another version"),
    (of_other_shapes, "last.safetensors: not of this run, or of another version"),
    (with_state("last.safetensors", lambda state: {}), "last.safetensors: the position of the run has no stage"),
    (with_state("last.safetensors", lambda s: {**s, "epoch": "2"}), "epoch of the position of the run cannot be '2'"),
    (with_state("last.safetensors", lambda s: {**s, "stage": 7}), "last.safetensors: the position of the run is not"),
    (with_state("last.safetensors", lambda s: {**s, "earlier": [[0, 1]], "step": 1}), "the position of the run is not"),
    (with_state("last.safetensors", lambda s: {**s, "earlier": [["a", 1]]}), "earlier of the position of the run"),
    (with_state("last.safetensors", lambda s: {**s, "earlier": [[2]]}), "last.safetensors: "),
    (with_state("last.safetensors", lambda s: {**s, "processes": 0}), "the position of the run is not"),
    (with_state("last.safetensors", lambda s: {**s, "best": [1]}), "last.safetensors: the record of an epoch is not a"),
    (
        with_state("last.safetensors", lambda s: {**s, "history": []}),
        "unknown entries: history; it is damaged or of another version of",
    ),
    (gone("metrics.jsonl"), "metrics.jsonl: 0 epochs, but the checkpoint is from after epoch 2"),
    (folder_instead("metrics.jsonl"), "metrics.jsonl: not a regular file (a folder)"),
    (with_description(source=7), "source cannot be 7"),
]
REPORTED = [
    (text("metrics.jsonl", b"\xff\xfe\0\n"), "metrics.jsonl: line 1 is damaged"),
    (text("metrics.jsonl", "{}\n"), "metrics.jsonl: line 1 is damaged"),
    (pipe_instead("metrics.jsonl"), "metrics.jsonl: not a regular file (a named pipe)"),
    (with_state("best.safetensors", lambda s: {"epoch": 1}), "best.safetensors: not the best model of a run"),
    (with_state("best.safetensors", lambda s: {**s, "val": 3}), "best.safetensors: not the best model of a run"),
    (cut_short("best.safetensors"), "best.safetensors: not a trilabel checkpoint, or cut short"),
]


@pytest.mark.parametrize(("damage", "words"), [*DESCRIPTION, *MODEL])
def test_a_model_that_cannot_be_used(copy: Path, project: Path, capsys: Capture, damage: Damage, words: str) -> None:
    damage(copy)
    line = complaint(capsys, "predict", copy, project / "photos", "--out", copy.parent / "predictions.csv")
    assert words in line and "--debug" not in line and line.startswith(f"trilabel: {copy}")
    assert not (copy.parent / "predictions.csv").exists()


@pytest.mark.parametrize(("damage", "words"), [*DESCRIPTION[:8], *RESUMED])
def test_a_run_that_cannot_be_resumed(copy: Path, capsys: Capture, damage: Damage, words: str) -> None:
    damage(copy)
    line = complaint(capsys, "train", "--resume", copy, "--epochs", "3")
    assert words in line and "--debug" not in line and line.startswith(f"trilabel: {copy}")


@pytest.mark.parametrize(("damage", "words"), [*DESCRIPTION[:8], *REPORTED])
def test_a_run_that_cannot_be_reported(copy: Path, capsys: Capture, damage: Damage, words: str) -> None:
    damage(copy)
    line = complaint(capsys, "report", copy)
    assert words in line and "--debug" not in line and line.startswith(f"trilabel: {copy}")


# ---- what the system refuses


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs permissions as Unix has them")
@pytest.mark.parametrize("name", ["best.safetensors", "config.json"])
def test_what_may_not_be_read_is_not_called_damaged(copy: Path, capsys: Capture, name: str) -> None:
    (copy / name).chmod(0)
    with as_nobody(copy):
        line = complaint(capsys, "predict", copy, copy, "--out", copy / "predictions.csv")
    assert line == (
        f"trilabel: {copy / name}: permission denied; change its permissions or those of its folder, or choose another"
    )


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs permissions as Unix has them")
def test_a_folder_that_may_not_be_written(copy: Path, project: Path, capsys: Capture) -> None:
    data = (project / "labels.csv", "--images", project / "photos", *QUICK)
    with as_nobody(copy), as_nobody(project):
        refusals = [
            complaint(capsys, "train", *data, "--out", copy.parent / "new"),
            complaint(capsys, "train", "--resume", copy, "--epochs", "3"),
            complaint(capsys, "predict", copy, project / "photos", "--out", copy / "p.csv"),
        ]
    assert all("permission denied; change its permissions" in line for line in refusals), refusals


LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)); " + COMMAND_LINE


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs limits as Unix has them")
def test_a_file_that_grows_too_large(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    data = ("train", project / "labels.csv", "--images", project / "photos", "--out", out, *QUICK)
    done = forked_script(LIMITED, data)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"trilabel: {out / 'best.safetensors'}: too large for its disk or for the limit of a file's size; choose "
        f"another disk or raise `ulimit -f`, then resume the run: trilabel train --resume {out}"
    )
    assert not [file.name for file in out.iterdir() if file.name.startswith(".")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_to_a_full_disk() -> None:
    script = f"import os, sys; os.dup2(os.open('/dev/full', os.O_WRONLY), 1); {COMMAND_LINE}"
    done = forked_script(script, ["recipes"])
    assert (done.returncode, done.stderr) == (1, "trilabel: no space left on its disk; free some\n")
